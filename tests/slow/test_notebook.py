"""The notebook of docs/, executed as a user would: from a folder to a picture."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from benchmark.run.config import CONF
from tests.pools import rows, write_pool

pytestmark = pytest.mark.slow
ROOT = CONF.parent


def test_a_folder_becomes_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    write_pool(tmp_path / "my_pool", [rows(40), rows(40, start=40)])
    notebook = nbformat.read(shutil.copy(ROOT / "docs" / "first_pool.ipynb", tmp_path), 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    *_, picture, _ = notebook.cells
    assert "image/png" in picture.outputs[-1].data
    assert (tmp_path / "chosen.npy").is_file()
