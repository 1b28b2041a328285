"""The fsspec file system behind a URL: which extra it needs, and its time-outs."""

import logging
from typing import Any

from benchmark.core.errors import UserError
from benchmark.core.extras import require

CONNECT_SECONDS = 10.0
STALL_SECONDS = 30.0  # without a byte
_HTTP, _S3, _GCS = ("http", "https"), ("s3", "s3a"), ("gs", "gcs")


def is_remote(location: str) -> bool:
    """Tell whether `location` is a URL of something else than this machine's files."""
    return "://" in location and not location.startswith("file://")


def is_http(url: str) -> bool:
    """Tell whether a web server is behind `url`: it may send whole files only, and cannot be written to."""
    return _protocol(url) in _HTTP


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL or local path, and the path in it. Raises `UserError` for a missing extra."""
    protocol = _protocol(url)
    if protocol in _HTTP:
        require("http")
    elif protocol in _S3 + _GCS:
        require("cloud", "s3fs" if protocol in _S3 else "gcsfs")
        logging.getLogger("gcsfs").setLevel(logging.CRITICAL)  # else it prints what it also raises
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url, **_options(protocol))
    except (ValueError, ImportError) as error:
        raise UserError(f"{url} cannot be opened: {error}") from None
    return system, path


def _protocol(url: str) -> str:
    return url.partition("://")[0].lower() if is_remote(url) else "file"


def _options(protocol: str) -> dict[str, Any]:
    """Return the time-outs as the file system of this protocol takes them; attempts are counted by `attempt`."""
    if protocol in _HTTP:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=STALL_SECONDS)
        return {"client_kwargs": {"timeout": timeout, "trust_env": True}}  # proxies and ~/.netrc
    if protocol in _S3:
        timeouts = {"connect_timeout": CONNECT_SECONDS, "read_timeout": STALL_SECONDS}
        return {"config_kwargs": timeouts | {"retries": {"total_max_attempts": 1}}}
    return {}
