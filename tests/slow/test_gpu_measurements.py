"""`make gpu` without a GPU: one line; its parts with tiny models on the CPU; its table."""

import json
from pathlib import Path

import pytest
import torch

from bench import gpu

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command sets variables for its processes; here they end with the test."""
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "1")


PAGE = f"before\n{gpu.BEGIN}\nold\n{gpu.END}\nafter\n"


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_without_a_gpu_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 2
    assert capsys.readouterr().err == (
        "error: make gpu needs a CUDA device, and torch sees none here; nothing was measured\n"
    )


@pytest.mark.full
def test_all_parts_run_with_tiny_models(capfd: pytest.CaptureFixture[str]) -> None:
    written = gpu.PAGE.read_text(), gpu.FILE.is_file()
    assert gpu.main(["--device", "cpu", "--tiny", "--minutes", "30"]) == 0, capfd.readouterr().err
    rows = capfd.readouterr().out.splitlines()
    parts = ["tests/gpu", "CLIP", "ICC", "Swin-B + GPT-2", "ViT-B/16", "task=score filter=icc"]
    parts += [
        "task=score filter=clip",
        "task=train",
        "filter=icc size=200k",
        "captions of",
        "embed",
        "NormSim",
        "k-means",
    ]
    for part in parts:
        assert [row for row in rows if row.startswith(f"| {part}")], rows
    assert (gpu.PAGE.read_text(), gpu.FILE.is_file()) == written


def test_an_error_of_a_part_is_shown_and_counts(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "make_checkpoints", lambda setting, folder, parts: None)
    monkeypatch.setenv("HF_HUB_CACHE", "/nowhere")  # the part's process finds no checkpoint
    assert gpu.main(["--device", "cpu", "--tiny", "icc"]) == 1
    assert "checkpoint moranyanuka/icc" in capfd.readouterr().err


def test_the_table_is_of_the_file_or_says_that_there_is_none(tmp_path: Path) -> None:
    page, file = tmp_path / "page.md", tmp_path / "gpu.json"
    page.write_text(PAGE)
    gpu.write_page(file, page)
    assert "| `make gpu` was not run yet | | | | | |" in page.read_text()
    rows = [
        gpu.Row("a product", 800.0, "TFLOP/s", tflops=800.0),
        gpu.Row("a step", 12.5, "samples/s", 0.934, 200.0, 1.5, "0.1 s a step"),
        gpu.Row("k-means", note="absent"),
    ]
    gpu.write_document(file, rows, ["Traceback\n...\nValueError: wrong\n"])
    gpu.write_page(file, page)
    (_, *lines, _) = page.read_text().splitlines()
    assert lines[3:7] == [
        "| a product | 800 TFLOP/s |  | 100% |  |  |",
        "| a step | 12.5 samples/s | 93% | 25% | 1.50 | 0.1 s a step |",
        "| k-means |  |  |  |  | absent |",
        "| ValueError: wrong |  |  |  |  | failed |",
    ]
    assert f"torch {json.loads(file.read_text())['versions']['torch']}" in lines[7]
