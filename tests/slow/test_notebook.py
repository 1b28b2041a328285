"""The notebook of docs/, executed as a user would: from a pool to a picture and the verdict on two filters."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from benchmark.run.config import CONF

pytestmark = pytest.mark.full
ROOT = CONF.parent


def test_two_filters_and_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(shutil.copy(ROOT / "docs" / "first_pool.ipynb", tmp_path), 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    assert any("image/png" in output.get("data", {}) for of_cell in outputs.values() for output in of_cell)
    assert (tmp_path / "chosen.npy").is_file()
    printed = "".join(str(output) for output in outputs["page = pairsift.report()"])
    assert "random" in printed
    assert "clip" in printed
    *_, (rows,) = outputs.values()
    assert rows.data["text/plain"].count("'clip'") == rows.data["text/plain"].count("'random'") == 2
    assert (tmp_path / "results" / "report.html").is_file()
