"""Real servers on loopback: HTTP with whatever a web server may do wrong, and S3."""

import json
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import Request, urlopen

import pytest

from benchmark.core import storage

REVISION = "c0ffee" * 6 + "cafe"  # of every repository of the stand-in hub


@dataclass
class Behaviour:
    """How the HTTP server answers, and what it was asked for.

    Args:
        ranges: whether parts of a file are sent.
        busy: answers of 503 that each file gives first.
        drops: responses of each file that end in their middle.
        stalls: responses of each file that send half and then nothing for a second.
        status: of all answers, instead of files.
    """

    ranges: bool = True
    busy: int = 0
    drops: int = 0
    stalls: int = 0
    status: int | None = None
    latency: float = 0.0
    gets: list[tuple[str, int, int]] = field(default_factory=list)  # path, first byte, bytes that were sent
    answered: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0

    def sent(self, suffix: str) -> int:
        """The bytes that were sent of files with this suffix."""
        return sum(size for path, _, size in self.gets if path.endswith(suffix))


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: Any, behaviour: Behaviour, **named: Any) -> None:
        self.behaviour = behaviour
        super().__init__(*arguments, **named)

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        if self.behaviour.status:
            self.send_error(self.behaviour.status)
        else:
            super().do_HEAD()

    def do_GET(self) -> None:
        behaviour, path = self.behaviour, Path(self.translate_path(self.path))
        behaviour.at_once += 1
        behaviour.most_at_once = max(behaviour.most_at_once, behaviour.at_once)
        time.sleep(behaviour.latency)
        behaviour.at_once -= 1
        if behaviour.status:
            self.send_error(behaviour.status)
        elif not path.is_file():
            super().do_GET()
        else:
            number = behaviour.answered[self.path]
            behaviour.answered[self.path] += 1
            if number < behaviour.busy:
                self.send_error(503)
            else:
                self._send(path.read_bytes(), number - behaviour.busy)

    def send_more_headers(self, data: bytes) -> None:
        """For kinds of servers that say more of a file."""

    def _send(self, data: bytes, number: int) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start, end = 0, len(data)
        if asked and self.behaviour.ranges:
            start, end = int(asked[1]), min(int(asked[2] or len(data)) + 1, len(data))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.send_more_headers(data)
        self.end_headers()
        half = (start + end) // 2
        stops = number < max(self.behaviour.drops, self.behaviour.stalls)
        self.close_connection |= stops
        end = half if stops else end
        self.behaviour.gets.append((self.path, start, end - start))  # before the client can have it all
        self.wfile.write(data[start:end])
        if self.behaviour.drops <= number < self.behaviour.stalls:
            self.wfile.flush()
            time.sleep(1)


class _Hub(_Handler):
    """A Hugging Face hub with the repositories ``models/some/name`` and ``datasets/some/name`` of a folder.

    All have one revision. Nobody has access to names that begin with ``private``, nor to files of ``gated`` names.
    """

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0]).removeprefix("/api").strip("/")
        if not path.startswith("datasets/"):
            path = f"models/{path.removeprefix('models/')}"
        kind, owner, name, what, *rest = [*path.split("/"), "", ""]
        folder = Path(self.directory, kind, owner, name)
        listed = folder.joinpath(*rest[1:]) if what == "tree" else folder
        if name.startswith("private") or not folder.is_dir():
            self.refuse(401, "RepoNotFound")
        elif what == "auth-check":
            self.refuse(403, "GatedRepo")
        elif not listed.is_dir():
            self.refuse(404, "EntryNotFound")
        elif what == "resolve":
            file = folder.joinpath(*rest[1:])
            if self.command == "GET":
                self.path = f"/{file.relative_to(self.directory)}"
                super().do_GET()
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(file.stat().st_size))
                self.send_more_headers(file.read_bytes())
                self.end_headers()
        else:
            depth = "**/*" if "recursive=true" in self.path.lower() or what != "tree" else "*"
            entries = {str(e.relative_to(folder)): e for e in sorted(listed.glob(depth))}
            files = {name: e.read_bytes() for name, e in entries.items() if e.is_file()}
            tree = [{"type": "directory", "path": n, "oid": "0"} for n in entries if n not in files] + [
                {"type": "file", "path": n, "size": len(data), "oid": sha256(data).hexdigest()[:40]}
                for n, data in files.items()
            ]
            siblings = [{"rfilename": n, "size": len(data)} for n, data in files.items()]
            about = {
                "id": f"{owner}/{name}",
                "sha": REVISION,
                "gated": name.startswith("gated"),
                "siblings": siblings,
            }
            body = json.dumps(tree if what == "tree" else about).encode()
            self.behaviour.gets.append((self.path, 0, len(body)))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_more_headers(self, data: bytes) -> None:
        self.send_header("ETag", f'"{sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)


@contextmanager
def hub_server(root: Path, behaviour: Behaviour, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be the hub of this process, see `_Hub`; what is downloaded of it goes to ``root/hub``."""
    with http_server(root, behaviour, _Hub) as url:
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        patch.setattr("huggingface_hub.constants.ENDPOINT", url)
        template = "/{repo_id}/resolve/{revision}/{filename}"
        patch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", url + template)
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(root / "hub"))
        yield


@contextmanager
def http_server(root: Path, behaviour: Behaviour, handles: type[_Handler] = _Handler) -> Iterator[str]:
    """Serve a folder, with listings; yield its URL."""
    handler = partial(handles, behaviour=behaviour, directory=str(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    storage._gives_ranges.clear()  # an earlier server may have had this port
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def s3_server(patch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Run an S3 server with the bucket ``bucket``; yield s3fs's file system of it."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    patch.setenv("AWS_ACCESS_KEY_ID", "key")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # others were made for another server
    urlopen(
        Request(f"http://{host}:{port}/moto-api/reset", method="POST")
    ).close()  # its state is the process's
    filesystem = s3fs.S3FileSystem()
    filesystem.mkdir("bucket")
    try:
        yield filesystem
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()
