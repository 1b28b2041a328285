"""A folder is removed as a whole, in an overlay's lower layer too, where folders cannot be renamed."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.temporaries import remove


@pytest.mark.parametrize("renamed", [True, False])
def test_a_folder_is_never_seen_half_removed(
    renamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts" / "inner").mkdir(parents=True)
    (tmp_path / "parts" / "inner" / "0.parquet").write_text("scores")
    seen: list[bool] = []

    def refused(path: Path, target: Path) -> Path:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    def rmtree(path: Path, **settings: Any) -> None:
        seen.append((tmp_path / "parts").exists())
        original(path, **settings)

    original = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    if not renamed:
        monkeypatch.setattr(Path, "rename", refused)
    remove(tmp_path / "parts")
    assert not list(tmp_path.iterdir())
    remove(tmp_path / "parts")  # another process was first
    assert seen == [not renamed]
