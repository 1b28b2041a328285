"""The checkpoints of the smoke test: every name of models=paper, the hub's sizes and names of weights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from benchmark.models.checkpoints import find_checkpoint, load_model, load_pretrained
from benchmark.models.hub import MEGABYTES
from benchmark.run.config import resolved
from tests.jobs import compose_config
from tests.paper_checkpoints import CUT, MAKERS, Folder, Hub, dtype_of

# Of open_clip, timm and spaCy; and settings that name no model.
OTHERS = {"ViT-B-32", "ViT-L-14", "openai", "RN50", "resnet101", "en_core_web_sm", "fp32", "a photo of "}
TRANSFORMERS = [
    "microsoft/swin-base-patch4-window7-224-in22k", "gpt2", "google/vit-base-patch16-224", "bert-base-uncased",
    "moranyanuka/icc", "roberta-large", "TinyLlama/TinyLlama_v1.1", "sentence-transformers/all-mpnet-base-v2",
]  # fmt: skip

# SHA-256 of the names and shapes that the hub's files have, in their order.
NAMES = {
    "bert-base-uncased": "9fda7205", "google/vit-base-patch16-224": "5dda351d", "gpt2": "43a617f4",
    "microsoft/swin-base-patch4-window7-224-in22k": "973d4dcd", "roberta-large": "ef3600b1",
    "princeton-nlp/sup-simcse-roberta-base": "ea1d713b",
}  # fmt: skip


def texts(settings: Mapping[str, Any]) -> Iterator[str]:
    for value in settings.values():
        if isinstance(value, Mapping):
            yield from texts(value)
        elif isinstance(value, str):
            yield value


def test_each_checkpoint_of_the_papers_is_made() -> None:
    named = set(texts(resolved(compose_config("models=paper", "pool=img2dataset", "pool.url=x").models)))
    assert named - OTHERS <= MAKERS.keys()
    assert CUT.keys() <= named


@dataclass(frozen=True)
class Weighed(Folder):
    """A folder that keeps the shapes of weights in place of writing them."""

    kept: dict[str, tuple[Sequence[int], torch.dtype]] = field(default_factory=dict)

    def weights(self, shapes: Mapping[str, Sequence[int]], *_: object, **options: Any) -> None:
        dtype = options.get("dtype", torch.float32)
        self.kept.update({name: (shape, dtype_of(name, dtype)) for name, shape in shapes.items()})


@pytest.mark.parametrize("name", sorted(MAKERS.keys() & MEGABYTES.keys() - CUT.keys()))
def test_checkpoints_are_the_hubs_in_size_and_names(name: str, tmp_path: Path) -> None:
    folder = Weighed(tmp_path, tiny=False)
    MAKERS[name](folder)
    size = sum(torch.Size(shape).numel() * dtype.itemsize for shape, dtype in folder.kept.values())
    assert size / 1e6 == pytest.approx(MEGABYTES[name], rel=0.01)
    names = sha256("\n".join(f"{key} {[*folder.kept[key][0]]}" for key in sorted(folder.kept)).encode())
    assert names.hexdigest()[:8] == NAMES[name], (
        "a library renamed weights: rename them as the hub's file has them"
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    return Hub(tmp_path_factory.mktemp("hub"), tiny=True)


@pytest.fixture
def hub(tiny: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tiny.root))
    find_checkpoint.cache_clear()
    yield tiny
    find_checkpoint.cache_clear()


def content(weight: torch.Tensor) -> bytes:
    return weight.float().contiguous().numpy().tobytes()


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_weights_are_read_by_the_hubs_names(name: str, hub: Hub) -> None:
    hub.add([name])
    loader = "AutoModelForSequenceClassification" if name == "moranyanuka/icc" else "AutoModel"
    model = load_model(loader, name, ("pooler.",))
    written = {content(weight) for weight in load_file(find_checkpoint(name) / "model.safetensors").values()}
    read = {key: weight for key, weight in model.state_dict().items() if "pooler." not in key}
    assert {key for key, weight in read.items() if content(weight) not in written} == set()


# roberta-large has the vocabulary of moranyanuka/icc.
@pytest.mark.parametrize("name", [n for n in TRANSFORMERS if "patch" not in n and n != "roberta-large"])
def test_vocabularies_have_the_real_size(name: str, hub: Hub) -> None:
    hub.add([name])
    tokenizer = load_pretrained("AutoTokenizer", name)
    assert len(tokenizer) == load_pretrained("AutoConfig", name).vocab_size
    assert "a cat" in tokenizer.decode(tokenizer("a cat")["input_ids"])
