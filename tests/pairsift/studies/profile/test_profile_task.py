"""``task=profile`` as a user meets it, and on a demo whose text is known."""

import json
from pathlib import Path

import numpy as np
import pytest

from pairsift.demo.shards import encode_jpeg
from pairsift.demo.text_rendering import render_text
from tests.command_line import Run
from tests.filters.checkpoints import open_clip_model
from tests.pools import Row, rows, write_pool


def written(words: list[str], caption: str, number: int) -> Row:
    image = render_text(words, np.random.default_rng(number))
    return Row(f"{number:05d}", f"http://example.org/{number}.jpg", caption, encode_jpeg(image, 90))


@pytest.mark.slow
def test_repeated_text_is_counted_by_the_task(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain = rows(7, start=10)  # coarse noise
    samples = [written(["KEEP", "CALM"], "KEEP CALM & <b>carry on</b>", 0), written(["SALE"], "two dogs", 1)]
    pool = write_pool(tmp_path / "pool", [[*samples, *plain]])
    clip = f"models.clip={{model: '{open_clip_model(tmp_path / 'clip')}', pretrained: null}}"
    where = ["pool=img2dataset", f"pool.url={pool}", f"results_dir={tmp_path}", "engine.workers=1"]
    done = run("task=profile", *where, clip, "profile.samples=100", "profile.clusters=5")
    assert done.returncode == 0, done.stderr
    page, path = (Path(line) for line in done.stdout.splitlines()[-2:])
    found = json.loads(path.read_text())
    overall = found["overall"]
    assert (overall["images"], overall["with_text"], overall["parrots"]) == (9, 2, 1)
    assert overall["means"]["cotr"]["value"] == pytest.approx(2 / 5 / 9, abs=1e-6)  # KEEP, CALM of five words
    assert (found["sample"], found["drawn_from"], found["drops"]) == (100, 9, {})
    assert "rapid" in found["ocr"]["_target_"]
    assert "Share of images with text" in done.stdout
    assert "has only 9 usable samples" in done.stdout
    assert "How web-like" not in done.stdout
    assert "their statistics need 1,000, so they are left out" in caplog.text
    assert page == path.with_suffix(".html")
    assert "<b>carry" not in page.read_text()
