"""Folders that a command will write to: whether it may, and whether there is room."""

import shutil
import tempfile
from pathlib import Path

from benchmark.core.errors import UserError


def require_writable(setting: str, folder: Path) -> Path:
    """Return `folder`, which need not exist yet; raise `UserError` unless files can be written there.

    Nothing is left behind. `setting` is what users type to name another folder.
    """
    nearest = nearest_folder(folder)
    try:
        if not nearest.is_dir():
            raise NotADirectoryError(f"{nearest} is a file")
        with tempfile.TemporaryFile(dir=nearest):
            return folder
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{setting}={folder} cannot be written ({reason}); give a folder of yours") from None


def nearest_folder(path: Path) -> Path:
    """Return `path`, or the nearest path above it that exists."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.exists())


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that `folder` lies on or will lie on."""
    return shutil.disk_usage(nearest_folder(folder)).free
