"""The configs of the group, composed as the command line does: the paper's values.

tests/full has the full-size architectures.
"""

import hydra
import pytest
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf

from benchmark.run.config import evaluation_nodes
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from tests.jobs import compose_config


def composed(*overrides: str) -> DictConfig:
    return compose_config("pool=laion400m_8m", "pool.url=/nowhere", *overrides)


def test_the_papers_values() -> None:
    cfg = composed("downstream=both", "models=paper", "seed=7")
    models = {name: hydra.utils.instantiate(node, _convert_="all") for name, node in cfg.downstream.items()}
    captioner, dual_encoder = models["captioner"], models["dual_encoder"]
    assert isinstance(captioner, Captioner)
    assert isinstance(dual_encoder, DualEncoder)
    assert (captioner.training.batch_size, dual_encoder.training.batch_size) == (100, 128)
    for model in models.values():
        assert model.training.samples_seen == 2_000_000
        assert model.training.lr == 2e-5
        assert model.training.seed == 7
    assert captioner.encoder.name == "microsoft/swin-base-patch4-window7-224-in22k"
    assert captioner.decoder.name == "gpt2"
    assert dual_encoder.image_encoder.name == "google/vit-base-patch16-224"
    assert dual_encoder.text_encoder.name == "bert-base-uncased"
    assert dual_encoder.locked


def test_ava_captions_values() -> None:
    overrides = ["downstream=lstm_captioner_weak", "models=paper", "models.lstm_captioner.weak_encoder=/weak"]
    cfg = composed(*overrides)
    captioner = hydra.utils.instantiate(cfg.downstream.lstm_captioner, _convert_="all")
    assert (captioner.beams, captioner.max_words, captioner.word_threshold) == (2, 16, 40)
    assert (captioner.training.batch_size, captioner.training.lr) == (64, 1e-5)
    assert captioner.encoder.name == "/weak"
    strong = composed("downstream=lstm_captioner", *overrides[1:])
    own, same = (OmegaConf.to_container(c.downstream.lstm_captioner, resolve=True) for c in (cfg, strong))
    assert own == same | {"encoder": "/weak"}
    assert same["encoder"] == "timm/resnet101.tv_in1k"
    with pytest.raises(InstantiationException, match=r"weak_encoder must be the folder"):
        hydra.utils.instantiate(composed(*overrides[:2]).downstream.lstm_captioner, _convert_="all")


def test_the_budget_shrinks_with_the_pool() -> None:
    cfg = composed("pool.scale=100", "downstream=captioner")
    assert list(cfg.downstream) == ["captioner"]
    assert cfg.downstream.captioner.training.samples_seen == 20_000
    smaller = composed("pool.scale=100", "budget=50000", "downstream.dual_encoder.training.samples_seen=7")
    assert smaller.downstream.captioner.training.samples_seen == 500
    assert smaller.downstream.dual_encoder.training.samples_seen == 7


@pytest.mark.parametrize(
    ("evalset", "uses"),
    [
        ("demo", {"coco": (True, True), "nocaps": (True, False), "flickr30k": (False, True)}),
        ("paper", {"coco": (True, True), "nocaps": (True, False), "flickr30k": (False, True)}),
        ("ava", {"ava": (True, False)}),
        ("pccd", {"pccd": (True, False)}),
        ("hub", {"coco": (True, True), "flickr30k": (False, True)}),
        ("ds_clip", {"coco": (True, True), "flickr30k": (False, True)}),
    ],
)
def test_evaluation_sets_are_used_as_in_the_paper(evalset: str, uses: dict[str, tuple[bool, bool]]) -> None:
    cfg = composed(f"evalset={evalset}")
    described = {name: node for name, node in evaluation_nodes(cfg).items() if "captioning" in node}
    assert {name: (node.captioning, node.retrieval) for name, node in described.items()} == uses
    for name, node in evaluation_nodes(cfg).items():
        assert node.name == name
        assert callable(hydra.utils.get_method(node._target_))


def test_classification_is_scored_as_in_ds_clip() -> None:
    nodes = evaluation_nodes(composed("evalset=ds_clip"))
    sets = {name: node for name, node in nodes.items() if "score" in node}
    assert len(sets) == 9
    assert {name for name, node in sets.items() if node.score == "mean_per_class"} == {"caltech101", "pets"}
    assert {name for name, node in sets.items() if "templates" in node} == {"pets", "food101"}
    epochs = {name: node.probe_epochs for name, node in sets.items() if "probe_epochs" in node}
    assert epochs == {"imagenet": 10, "imagenetv2": 10}
