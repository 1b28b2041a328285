"""Folders that a command will write to: whether it may, and whether there is room."""

import logging
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from benchmark.core.requirements import Requirement, State

log = logging.getLogger(__name__)
PROBE = 1 << 20  # bytes, more than a result has


def require_writable(setting: str, folder: Path) -> Path:
    """Return `folder`, which need not exist yet; raise `UserError` unless files can be written there.

    Nothing is left behind. `setting` is what users type to name another folder.
    """
    nearest = nearest_folder(folder)
    try:
        if not nearest.is_dir():
            raise NotADirectoryError(f"{nearest} is a file")
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(PROBE))  # a full disk takes files, but nothing in them
            file.flush()
            return folder
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{setting}={folder} cannot be written ({reason}); give a folder of yours") from None


def writable_results(results: Path) -> Path:
    """Return the results folder; where it no longer takes files, a folder in the cache, which a warning names."""
    try:
        return require_writable("results_dir", results)
    except UserError as error:
        kept = cache_folder("kept_results")
        log.warning("%s; the result of this run goes to %s", error, kept)
        return kept


def nearest_folder(path: Path) -> Path:
    """Return `path`, or the nearest path above it that exists."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.exists())


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that `folder` lies on or will lie on."""
    return shutil.disk_usage(nearest_folder(folder)).free


def disk_space(requirements: Iterable[Requirement]) -> Iterator[Requirement]:
    """Yield whether each disk has room for what will be fetched and made, as far as its size is known."""
    writes = {r.detail: r for r in requirements if r.folder}  # several parts of a command may share one
    sizes: dict[int, int] = defaultdict(int)
    folders: dict[int, Path] = {}
    for write in writes.values():
        folder = nearest_folder(write.folder or Path())
        disk = folder.stat().st_dev
        sizes[disk] += write.size
        folders.setdefault(disk, folder)
    for disk, size in sizes.items():
        free = free_bytes(folders[disk])
        line = f"{size / 1e6:,.0f} MB will be written to {folders[disk]}, where {free / 1e6:,.0f} MB are free"
        if size > free:
            line += "; make room, or set XDG_CACHE_HOME and HF_HOME to folders on a larger disk"
        yield Requirement(str(folders[disk]), State.MISSING if size > free else State.PRESENT, line)
