"""Files of the cache are checked before they are read.

The list of a file's or folder's sizes, times and CRC-32s, its seal, is next to it: ``.x.seal`` for a file ``x``,
``.seal`` in a folder. Files with the listed size and time count as intact. JSON holds the CRC of its value, see
`read_cached`.
"""

import json
import logging
import mmap
import os
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmark.core.temporaries import is_temporary, remove, temporary_beside

PROJECT = "pairsift"
CACHE_VERSION = "v2"  # raised when files of an earlier one cannot be read; these are not seen then
SEAL, SEALED = ".seal", {".parquet", ".arrow", ".tar", ".npy"}
log = logging.getLogger(__name__)


def cache_home() -> str:
    """Return the folder that holds the caches of all programs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return base or os.path.expanduser("~/.cache")  # noqa: PTH111  pathlib's raises RuntimeError


def is_checked(path: Path) -> bool:
    """Return whether a file or folder is in a room of the cache with seals, and is not temporary."""
    path, cache = path.absolute(), Path(cache_home()).absolute() / PROJECT
    if not path.is_relative_to(cache) or any(map(is_temporary, path.parts)):
        return False
    return path.relative_to(cache).parts[:1] in [(CACHE_VERSION,), ("augmented",), ("demo",)]


def seal(written: Path, path: Path) -> None:
    """Write the seal of the file or folder `written`, which is about to be renamed to `path`."""
    if written.is_file() and written.suffix not in SEALED:
        return
    files = {str(file.relative_to(written)): file for file in sorted(written.rglob("*")) if file.is_file()}
    about = {name: [*_version(file), _crc(file)] for name, file in (files or {"": written}).items()}
    target = written / SEAL if written.is_dir() else _seal_path(path)
    with temporary_beside(target) as temporary:
        temporary.write_text(json.dumps(about))
        temporary.replace(target)


def intact(path: Path) -> bool:
    """Return whether a file or folder of the cache is there as written; a damaged one is logged and removed."""
    if not path.exists():
        return False
    if damage := _damage(path) if _seal_path(path).exists() else "":
        log.warning("%s is damaged: %s; it is removed, and made again", path, damage)
        remove_cached(path)
    return not damage


def read_cached(path: Path) -> Any:
    """Return the value that `paths.write_cached` put into a file; None if there is none, or after damage."""
    try:
        stored = json.loads(path.read_bytes())
        if stored["crc32"] == value_crc(stored["value"]):
            return stored["value"]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        pass
    log.warning("%s is damaged: its content has changed; it is removed, and made again", path)
    remove_cached(path)
    return None


def value_crc(value: Any) -> int:
    """Return the CRC-32 of a value as JSON."""
    return crc32(json.dumps(value).encode())


def remove_cached(path: Path) -> None:
    """Remove a file or folder of the cache, and its seal."""
    remove(path)
    _seal_path(path).unlink(missing_ok=True)


def _damage(path: Path) -> str:
    """Return how a file or folder differs from its seal; nothing if it does not."""
    try:
        for name, (size, written, crc) in json.loads(_seal_path(path).read_text()).items():
            file = path / name if name else path
            current_size, current = _version(file)
            if current_size != size:
                return f"{file.name} has {current_size:,} bytes instead of {size:,}"
            if current != written and _crc(file) != crc:
                return f"the content of {file.name} has changed"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (ValueError, TypeError, AttributeError):
        return "its seal cannot be read"
    return ""


def _seal_path(path: Path) -> Path:
    return path / SEAL if path.is_dir() else path.with_name(f".{path.name}{SEAL}")


def _version(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _crc(file: Path) -> int:
    """Return the CRC-32 of a file, which is mapped into memory."""
    if not file.stat().st_size:
        return 0
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return crc32(data)
