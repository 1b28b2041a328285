"""``task=text_spotting`` as a user meets it, with the demo's CLIP and with a trained dual encoder."""

import json
from pathlib import Path

import pytest

from tests.command_line import Run, assert_one_line
from tests.demos import demo_model
from tests.pools import rows, write_pool

TASK = "task=text_spotting"


def read(done) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(Path(done.stdout.splitlines()[-1]).read_text())


def test_the_demos_clip_reads_captions_of_a_pool(run: Run, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(3), rows(3, start=3)])
    demo = [f"task.model=local-dir:{demo_model('clip')}", "pool=img2dataset", f"pool.url={pool}"]
    done = run(TASK, *demo, "task.ngram=2", f"results_dir={tmp_path}")
    found = read(done)
    # "a photo", "photo of", "of thing", "thing number", and "number 0" to "number 5"
    assert (found["distinct"], found["kept"], found["occurrences"]) == (10, 10, 30)
    assert found["overall"]["texts"] == 10
    assert [b["summary"]["texts"] for b in found["frequency"]] == [10]
    assert -1 <= found["overall"]["mean"] <= 1
    assert found["overall"]["std"] > 0
    assert found["overall"]["other_mean"] is not None
    assert len(found["styles"]) == 4
    assert "models/clip" in done.stdout
    assert "open-clip-torch" in found["versions"]
    assert read(run(TASK, *demo, "task.ngram=2", f"results_dir={tmp_path}"))["overall"] == found["overall"]


@pytest.mark.slow
def test_a_trained_dual_encoder_is_evaluated(run: Run, tmp_path: Path) -> None:
    import torch

    from downstream.models.dual_encoder import DualEncoder, Unlocked
    from downstream.training.trainer import TrainConfig

    training = TrainConfig(samples_seen=8, batch_size=8, lr=1e-3)
    parts = demo_model("vit"), demo_model("bert"), training
    encoder = DualEncoder(*parts, True, True, 16, 8, Unlocked(16, True, False))
    encoder.build(torch.device("cpu"))
    folder = tmp_path / "trained" / "dual"
    (folder / "model").mkdir(parents=True)
    encoder.save(folder / "model")
    lines = ["keep calm and dance on", "KEEP calm", "caf\u00e9 \x00\x1b \u200b" + "x" * 200, "", "M" * 90]
    (tmp_path / "ocr.txt").write_text("\n".join(lines), encoding="utf-8")
    where = [f"task.vocabulary={tmp_path / 'ocr.txt'}", f"results_dir={tmp_path}", "task.sample=6"]
    found = read(run(TASK, *where, f"task.model={folder}"))
    assert (found["drawn"], found["config"]["model"]) == (6, str(folder))
    assert abs(found["overall"]["mean"]) < 0.5  # its text head is as it was drawn
    assert_one_line(
        run(TASK, *where, f"task.model={folder}", "downstream=captioner"), "downstream=dual_encoder"
    )
