"""Seals: the size, time of writing and hash of each file in the cache, so that damage is found before it is read.

The seal of a file ``x`` lies beside it, ``.x.seal``; that of a folder that was written whole lies in it, ``.seal``.
A file whose size and time are those of its seal counts as intact; any other is hashed. Files without a seal, which
older versions wrote, count as intact.
"""

import json
import logging
import time
from contextlib import suppress
from pathlib import Path

from benchmark.core.hashes import hash_file
from benchmark.core.temporaries import remove_folder, temporary_beside

SEAL = ".seal"
SETTLING_SECONDS = 0.1
# By the file's path in the folder, "" for a single file: bytes, nanoseconds, SHA-256.
Seal = dict[str, tuple[int, int, str]]
log = logging.getLogger(__name__)


def write_seal(written: Path, path: Path) -> None:
    """Seal the file or folder `written`, which is about to be renamed to `path`."""
    if written.is_dir():
        files = [file for file in written.rglob("*") if file.is_file()]
        _replace(written / SEAL, {str(file.relative_to(written)): _sealed(file) for file in sorted(files)})
    else:
        _replace(_seal_path(path), {"": _sealed(written)})


def intact(path: Path) -> bool:
    """Return whether a file or folder of the cache is there, as it was written.

    A damaged one is named in the log and removed: its caller makes it again, as one that was never there.
    """
    if not path.exists():
        return False
    if not _damage(path):
        return path.exists()  # without a seal it may be one that another process is removing
    time.sleep(SETTLING_SECONDS)  # another process may be replacing the file and its seal
    judged = _version(path)
    if not (damage := _damage(path)):
        return path.exists()
    if judged is not None and _version(path) == judged:  # else another process removed it, or made it again
        log.warning("%s is damaged: %s; it is removed, and made again", path, damage)
        remove_sealed(path)
    return False


def remove_sealed(path: Path) -> None:
    """Remove a file or folder of the cache, and its seal."""
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        # The file first: without its seal another process would take it for intact.
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}{SEAL}").unlink(missing_ok=True)


def _damage(path: Path) -> str:
    """Return how a file or folder differs from its seal, nothing where it does not."""
    seal_path, current = _seal_path(path), Seal()
    try:
        if not (text := seal_path.read_bytes()):
            return ""  # as after a power cut: seals are not flushed to the disk, what they seal is
        seal: Seal = {
            name: (size, written, sha256) for name, (size, written, sha256) in json.loads(text).items()
        }
        for name, (size, written, sha256) in seal.items():
            file = path / name if name else path
            stat = file.stat()
            if stat.st_size != size:
                return f"{file.name} has {stat.st_size:,} bytes instead of {size:,}"
            if stat.st_mtime_ns != written and hash_file(file) != sha256:
                return f"the content of {file.name} has changed"
            current[name] = size, stat.st_mtime_ns, sha256
    except FileNotFoundError as error:
        return "" if error.filename == str(seal_path) else f"{Path(error.filename).name} is missing"
    except (ValueError, TypeError, AttributeError):
        return "its seal cannot be read"
    if current != seal:  # a copy, which has other times
        with suppress(OSError):
            _replace(seal_path, current)
    return ""


def _version(path: Path) -> tuple[int, int] | None:
    """Return what tells a file or folder from another one that takes its place; None if there is none."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_ctime_ns  # inodes are used again


def _seal_path(path: Path) -> Path:
    return path / SEAL if path.is_dir() else path.with_name(f".{path.name}{SEAL}")


def _replace(path: Path, seal: Seal) -> None:
    with temporary_beside(path) as temporary:
        temporary.write_text(json.dumps(seal))
        temporary.replace(path)


def _sealed(file: Path) -> tuple[int, int, str]:
    stat = file.stat()
    return stat.st_size, stat.st_mtime_ns, hash_file(file)
