"""What went wrong with a storage in one line, and another attempt where it may pass."""

import errno
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from benchmark.core.errors import UserError

ATTEMPTS = 5
FIRST_WAIT = 0.5  # seconds before the second attempt; doubled for each further one
_LIBRARIES = frozenset(
    {"aiohttp", "aiobotocore", "botocore", "s3fs", "gcsfs", "google", "huggingface_hub", "httpx"}
)
_PASSING = frozenset({408, 425, 429})  # HTTP statuses below 500 after which another attempt may succeed
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
T = TypeVar("T")


class StorageError(UserError):
    """Storage that cannot be read or written; `missing` tells whether there is no such file or folder."""

    def __init__(self, message: str, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


def attempt(url: str, action: Callable[[], T]) -> T:
    """Return ``action()``, tried up to `ATTEMPTS` times. Raises `StorageError`, which names `url`."""
    attempts = 1 if url.startswith(("gs://", "gcs://")) else ATTEMPTS  # gcsfs has six of its own
    for number in range(1, attempts + 1):
        try:
            return action()
        except Exception as error:
            if not _is_of_storage(error):
                raise
            if number == attempts or not _may_pass(error):
                times = f" ({number} attempts)" if number > 1 else ""
                raise StorageError(f"{url}: {_reason(error)}{times}", _is_missing(error)) from error
            time.sleep(FIRST_WAIT * 2 ** (number - 1))
    raise AssertionError("unreachable")


def _is_of_storage(error: Exception) -> bool:
    """Tell apart errors of the network or storage from those of the code, and of this machine's disk."""
    if isinstance(error, OSError):
        return error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    return type(error).__module__.partition(".")[0] in _LIBRARIES


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it: fsspec reports anything as a missing file."""
    while error is not None:
        yield error
        error = error.__cause__


def _status(error: Exception) -> int | None:
    """Return the HTTP status of the response that an error is about, None without one."""
    for cause in _causes(error):
        response: Any = getattr(cause, "response", None)
        status = getattr(cause, "status", None) or getattr(
            response, "status_code", None
        )  # aiohttp's, httpx's
        if isinstance(response, dict):  # botocore's
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        elif type(cause).__module__.startswith("gcsfs"):
            status = getattr(cause, "code", None)
        if isinstance(status, int):
            return status
    return None


def _root(error: Exception) -> BaseException:
    return list(_causes(error))[-1]


def _may_pass(error: Exception) -> bool:
    status, root = _status(error), _root(error)
    if status is not None and status >= 400:
        return status >= 500 or status in _PASSING
    return not isinstance(root, _FINAL) and not _lacks_credentials(root)


def _is_missing(error: Exception) -> bool:
    status = _status(error)
    return status == 404 or (status is None and isinstance(_root(error), FileNotFoundError))


def _reason(error: Exception) -> str:
    status, root = _status(error), _root(error)
    reasons = {
        "there is no such file, folder or bucket": _is_missing(error),
        f"access is denied{f' ({status})' if status else ''}; check the credentials (docs/own_pool.md)": status
        in (401, 403)
        or isinstance(root, PermissionError),
        "no credentials were found; set AWS_PROFILE, or see docs/own_pool.md": _lacks_credentials(root),
        "the host name cannot be resolved": isinstance(root, socket.gaierror),
        "the connection was refused": isinstance(root, ConnectionRefusedError),
        "no connection could be made": type(root).__name__ == "EndpointConnectionError",  # botocore's
        "no answer in time": isinstance(root, TimeoutError),
        f"the server answered {status}": status is not None,
    }
    return next((text for text, holds in reasons.items() if holds), f"{type(root).__name__}: {root}")


def _lacks_credentials(root: BaseException) -> bool:
    return "Credentials" in type(root).__name__  # botocore's and Google's have no base class in common
