"""TensorBoard's event file, read back with its own reader."""

import io
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmark.core import extras
from benchmark.core.errors import UserError
from benchmark.results.tensorboard_tracker import TensorBoardTracker
from tests.benchmark.results.report.made_run_folders import CAPTIONS, WEB, facts, finished_run


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A whole run, as TensorBoard loads it."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path_factory.mktemp("logged")
    tracker = TensorBoardTracker(str(folder / "tensorboard"))
    tracker.start(facts())
    tracker.log({"captioner/loss": 2.5}, step=100)
    tracker.log({"dual_encoder/loss": 1.5}, step=64)
    tracker.log_captions("captioner/captions", CAPTIONS * 2, step=100)
    tracker.finish(*finished_run(folder / "results"), [], ["clip (50.0) is better than random."])
    return EventAccumulator(str(folder / "tensorboard" / facts().run_id)).Reload()


def text(logged: Any, name: str, *, rendered: bool = False) -> str:
    """A text as it was logged, or the HTML that TensorBoard's page shows for it."""
    from tensorboard.plugin_util import markdown_to_safe_html

    (event,) = logged.Tensors(f"{name}/text_summary")
    (content,) = event.tensor_proto.string_val
    return str(markdown_to_safe_html(content.decode()) if rendered else content.decode())


def picture(logged: Any, name: str) -> Image.Image:
    (event,) = logged.Images(name)
    return Image.open(io.BytesIO(event.encoded_image_string))


def test_curves_metrics_and_settings_are_there(logged: Any) -> None:
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    losses = [(e.step, e.value) for n in ("captioner", "dual_encoder") for e in logged.Scalars(f"{n}/loss")]
    assert losses == [(100, 2.5), (64, 1.5)]  # against the samples that each has seen
    assert logged.Scalars("captioner/coco/CIDEr")[0].value == 0.5
    assert "captioner/coco/SPICE" not in logged.Tags()["scalars"]
    content = logged.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    settings = HParamsPluginData.FromString(content).session_start_info.hparams
    assert settings["filter_name"].string_value == "clip"
    assert settings["k"].number_value == 2000
    assert "&quot;_target_&quot;: &quot;F&quot;" in text(logged, "config")
    assert "is better than random." in text(logged, "verdict", rendered=True)


def test_scores_are_histograms_of_pool_and_kept(logged: Any) -> None:
    (pool,), (kept,) = (logged.Histograms(f"selection/scores_{name}") for name in ("pool", "kept"))
    assert (pool.histogram_value.num, kept.histogram_value.num) == (40, 4)
    assert kept.histogram_value.bucket_limit == [0.5, 1.0]
    assert kept.histogram_value.bucket == [0, 4]


def test_pairs_and_captions_have_pictures(logged: Any) -> None:
    kept, dropped = picture(logged, "selection/kept"), picture(logged, "selection/dropped")
    assert kept.size == dropped.size == (192, 192)
    assert np.asarray(kept)[10, 10].tolist() == pytest.approx([254, 0, 0], abs=3)
    assert picture(logged, "captioner/captions").size == (2 * 192, 192)
    assert picture(logged, "captioner/examples").size == (192, 192)


@pytest.mark.parametrize("name", ["captioner/captions", "captioner/examples", "selection/kept"])
def test_captions_of_the_web_stay_text(logged: Any, name: str) -> None:
    page = text(logged, name, rendered=True)
    assert [tag for tag in ("<script", "<strong>", "<a ") if tag in page] == []
    assert f"<td>{WEB}</td>" in unescape(page)


def test_without_the_extra_the_command_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extras, "_installed", lambda module: False)
    with pytest.raises(UserError, match=r"tracker=tensorboard needs tensorboard; .*\[tensorboard\]"):
        TensorBoardTracker(str(tmp_path / "logs"))
    assert not (tmp_path / "logs").exists()
