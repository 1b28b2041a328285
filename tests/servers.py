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
    """Faults of the HTTP server, and the requests that it answered.

    Args:
        ranges: whether parts of a file are sent.
        busy: number of times that each file is first answered with 503.
        drops: number of responses of each file that end in their middle.
        stalls: number of responses of each file that send half and then nothing for a second.
        status: of all answers, instead of files.
        latency: seconds before an answer.
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
    disable_nagle_algorithm = True  # else each answer waits 40 ms for a client's delayed acknowledgement

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
            number = behaviour.answered[self.path] - behaviour.busy
            behaviour.answered[self.path] += 1
            if number < 0:
                self.send_error(503)
            else:
                self._send(path.read_bytes(), number)

    def start(self, status: int, length: int, **headers: str) -> None:
        """Send the status and the headers of an answer."""
        self.send_response(status)
        for name, value in {"Content_Length": str(length), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def headers_of(self, data: bytes) -> dict[str, str]:
        """Return the headers that tell more of a file."""
        return {}

    def _send(self, data: bytes, number: int) -> None:
        headers, start, end = self.headers_of(data), 0, len(data)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked and self.behaviour.ranges:
            start, end = int(asked[1]), min(int(asked[2] or len(data)) + 1, len(data))
            self.start(206, end - start, Content_Range=f"bytes {start}-{end - 1}/{len(data)}", **headers)
        else:
            self.start(200, end, **headers)
        if number < max(self.behaviour.drops, self.behaviour.stalls):
            self.close_connection, end = True, (start + end) // 2
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
        kind, owner, name, asked, *rest = [*path.split("/"), "", ""]
        folder = Path(self.directory, kind, owner, name)
        file = folder.joinpath(*rest[1:])
        listed = file if asked == "tree" else folder
        if name.startswith("private") or not folder.is_dir():
            self.start(401, 0, X_Error_Code="RepoNotFound")
        elif asked == "auth-check":
            self.start(403, 0, X_Error_Code="GatedRepo")
        elif not listed.is_dir():
            self.start(404, 0, X_Error_Code="EntryNotFound")
        elif asked != "resolve":
            self._describe(f"{owner}/{name}", folder, listed, tree=asked == "tree")
        elif self.command == "GET":
            self.path = f"/{file.relative_to(self.directory)}"
            super().do_GET()
        else:
            self.start(200, file.stat().st_size, **self.headers_of(file.read_bytes()))

    def _describe(self, name: str, folder: Path, listed: Path, *, tree: bool) -> None:
        """Answer with the entries of a folder, or with a repository's facts."""
        depth = "**/*" if "recursive=true" in self.path.lower() or not tree else "*"
        entries = {str(path.relative_to(folder)): path for path in sorted(listed.glob(depth))}
        files = {entry: path.read_bytes() for entry, path in entries.items() if path.is_file()}
        answer: Any = [
            {"type": "directory", "path": n, "oid": "0"} for n in entries.keys() - files.keys()
        ] + [
            {"type": "file", "path": n, "size": len(data), "oid": sha256(data).hexdigest()[:40]}
            for n, data in files.items()
        ]
        if not tree:
            siblings = [{"rfilename": n, "size": len(data)} for n, data in files.items()]
            answer = {
                "id": name,
                "sha": REVISION,
                "gated": folder.name.startswith("gated"),
                "siblings": siblings,
            }
        body = json.dumps(answer).encode()
        self.behaviour.gets.append((self.path, 0, len(body)))
        self.start(200, len(body))
        self.wfile.write(body)

    def headers_of(self, data: bytes) -> dict[str, str]:
        return {"ETag": f'"{sha256(data).hexdigest()}"', "X_Repo_Commit": REVISION}


@contextmanager
def hub_server(root: Path, behaviour: Behaviour, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be the hub of this process, see `_Hub`; downloads go to ``root/hub``."""
    with http_server(root, behaviour, _Hub) as url:
        for name, value in {
            "HF_HUB_OFFLINE": False, "ENDPOINT": url, "HF_HUB_CACHE": str(root / "hub"),
            "HUGGINGFACE_CO_URL_TEMPLATE": url + "/{repo_id}/resolve/{revision}/{filename}",
        }.items():  # fmt: skip
            patch.setattr(f"huggingface_hub.constants.{name}", value)
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
    url = "http://{}:{}".format(*server.get_host_and_port())
    variables = {"ENDPOINT_URL": url, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}
    for name, value in {**variables, "DEFAULT_REGION": "us-east-1"}.items():
        patch.setenv(f"AWS_{name}", value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # others were made for another server
    urlopen(
        Request(f"{url}/moto-api/reset", method="POST")
    ).close()  # the process has one state of all servers
    filesystem = s3fs.S3FileSystem()
    filesystem.mkdir("bucket")
    try:
        yield filesystem
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()
