"""A folder is removed as a whole, in an overlay's lower layer too, whose folders cannot be renamed."""

import errno
import os
from pathlib import Path

import pytest

from benchmark.core.temporaries import remove_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts" / "inner").mkdir(parents=True)
    (tmp_path / "parts" / "inner" / "0.parquet").write_text("scores")
    return tmp_path / "parts"


@pytest.fixture
def of_lower_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, target: Path) -> Path:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(Path, "rename", refused)


def test_nothing_is_left(folder: Path) -> None:
    remove_folder(folder)
    assert not list(folder.parent.iterdir())
    remove_folder(folder)  # another process was first


@pytest.mark.usefixtures("of_lower_layer")
def test_nothing_is_left_where_folders_cannot_be_renamed(folder: Path) -> None:
    remove_folder(folder)
    assert not list(folder.parent.iterdir())
