"""The pipeline trains once: with validation or without, the training is found again, and so are its losses."""

from pathlib import Path

import pytest
import torch

from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset
from benchmark.results.result import DownstreamResult
from benchmark.run.train import train_model
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.models.dual_encoder import DualEncoder
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import UNLOCKED, Recorder, save_bert, save_vit
from tests.pools import numbered_uids, rows, write_pool

CPU = torch.device("cpu")


@pytest.fixture
def subset(tmp_path: Path) -> Subset:
    samples = rows(8)
    for row, sample in enumerate(samples):
        sample.extra["uid"] = f"{row:032x}"
    write_pool(tmp_path / "pool", [samples])
    (tmp_path / "pool" / "metadata" / "00000000.parquet").unlink()
    return Subset(Pool("p", str(tmp_path / "pool")), numbered_uids(8))


@pytest.fixture
def pair(tmp_path: Path) -> list[EvaluationSet]:
    image = ImageFile(tmp_path / "0.jpg")
    image.path.write_bytes(rows(1)[0].image)
    return [EvaluationSet("coco", [Item(0, image, ["a photo"])], captioning=True, retrieval=True)]


def test_validation_finds_the_same_training(
    subset: Subset, pair: list[EvaluationSet], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    towers = str(save_vit(tmp_path / "vit")), str(save_bert(tmp_path / "bert", ["a photo of thing number"]))
    trackers = Recorder(), Recorder(), Recorder()

    def trained(tracker: Recorder, every: int | None, seed: int = 0) -> DownstreamResult:
        config = TrainConfig(16, 4, 1e-3, log_every=1, validate_every=every, seed=seed)
        model = DualEncoder(*towers, config, False, False, 16, 5, UNLOCKED)
        return train_model(model, subset, "ab", CPU, tracker, pair)

    first, second = trained(trackers[0], None), trained(trackers[1], 8)
    said = [line for line in caplog.messages if "epochs" in line]
    assert said == ["dual_encoder: training on 8 pairs for 2 epochs (16 samples)"], (
        "once: the second is found"
    )
    assert first.checkpoint == second.checkpoint
    assert first.training == second.training
    assert trackers[0].losses() == trackers[1].losses()  # read from the report
    assert len(trackers[1].losses()) == 4
    assert trained(trackers[2], 8, seed=1).checkpoint != first.checkpoint
    validated = [step for step, row in trackers[2].rows if "dual_encoder/validation/text_to_image_R@1" in row]
    assert validated == [8, 16]
