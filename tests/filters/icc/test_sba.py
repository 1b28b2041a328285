import pytest
import torch
from safetensors.torch import save_file

from benchmark.core.errors import UserError
from filters.icc.sba import BRIDGE, FrozenParts, SemanticBottleneck
from tests.demos import demo_model

CPU = torch.device("cpu")
CLIP = {"model": f"local-dir:{demo_model('clip')}", "pretrained": None}
CAPTIONS = ["a red boat on a lake", "two green trees", "hope"]
CAPTIONS += [
    "the meaning of success is what you make of it every day",
    "A  spotted\nbox",
    "👍👍",
    "a dog " * 1700,
]


@pytest.fixture(scope="module")
def frozen():
    return FrozenParts(CLIP, demo_model("llama"))


@pytest.fixture(scope="module")
def bridge(frozen, tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("bridge"), torch.Generator().manual_seed(0)
    width = frozen.load(CPU).llm.config.hidden_size
    weights = {"weight": torch.randn(width, 128, generator=random), "bias": torch.zeros(width)}
    save_file(weights, folder / BRIDGE)
    return folder


@pytest.fixture(scope="module")
def sba(frozen, bridge):
    made = SemanticBottleneck(frozen, str(bridge), max_new_tokens=16, batch=4)
    made.setup(CPU)
    return made


def test_batched_beams_are_those_of_one_by_one_decoding(sba):
    together = sba.reconstruct(CAPTIONS)
    alone = [sba.reconstruct([caption])[0] for caption in CAPTIONS]
    assert together == alone
    assert [len(beams) for beams in together] == [5] * len(CAPTIONS)
    rows = [5, 0, 6, 2]
    assert sba.reconstruct([CAPTIONS[r] for r in rows]) == [together[r] for r in rows]


def test_as_released_the_first_caption_ends_its_batch(sba, frozen, bridge, monkeypatch):
    released = SemanticBottleneck(frozen, str(bridge), max_new_tokens=16, together=2)
    released.setup(CPU)
    generate, decoded = released._parts.llm.generate, []

    def recorded(**settings):
        decoded.append(generate(**settings))
        return decoded[-1]

    monkeypatch.setattr(released._parts.llm, "generate", recorded)
    together = released.reconstruct(CAPTIONS[:4])
    assert [len(ids) for ids in decoded] == [10, 10]  # two captions of five beams, in their order
    tokenizer = released._parts.tokenizer
    for ids, part in zip(decoded, (together[:2], together[2:]), strict=True):
        lines = [text.split("\n") for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
        assert [" ".join(line[0].split()) for line in lines] == [text for beams in part for text in beams]
    (by_itself,) = sba.reconstruct([CAPTIONS[3]])
    assert max(map(len, together[3])) < max(map(len, by_itself)), "it ends with the caption before it, 'hope'"
    assert released.identity() == sba.identity() | {"together": 2}


def test_the_first_token_can_be_the_end_token(frozen):
    released = FrozenParts(CLIP, frozen.llm, "eos")
    vector = torch.zeros(1, released.load(CPU).llm.config.hidden_size)
    for parts, token in ((released.load(CPU), "</s>"), (frozen.load(CPU), "<s>")):
        first = parts.embed_tokens(torch.tensor([parts.tokenizer.convert_tokens_to_ids([token])]))
        assert torch.equal(parts.prefix(vector)[:, :1], first)
    assert released.identity() == frozen.identity() | {"first_token": "eos"}


def test_a_folder_without_a_bridge_of_this_model_is_refused(frozen, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    save_file({"weight": torch.zeros(7, 128), "bias": torch.zeros(7)}, tmp_path / "other" / BRIDGE)
    for name, message in {
        "other": "gives 7; set the language model",
        "empty": "make one with task=icc_build",
        "none": "is not there",
    }.items():
        with pytest.raises(UserError, match=message):
            SemanticBottleneck(frozen, str(tmp_path / name)).setup(CPU)
