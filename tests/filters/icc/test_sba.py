import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from benchmark.core.errors import UserError
from filters.icc.sba import BRIDGE, FrozenParts, SemanticBottleneck
from filters.icc.sba_training import BridgeTraining, Collate, train_bridge
from filters.icc.training import Recipe
from tests.demos import demo_model

CPU = torch.device("cpu")
CLIP = {"model": f"local-dir:{demo_model('clip')}", "pretrained": None}
CAPTIONS = [
    "a red boat on a lake",
    "two green trees",
    "hope",
    "the meaning of success is what you make of it every day",
    "A  spotted\nbox",
    "👍👍",
    "!!!",
    "a dog " * 1700,
]


@pytest.fixture(scope="module")
def frozen():
    return FrozenParts(CLIP, demo_model("llama"))


@pytest.fixture(scope="module")
def bridge(frozen, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bridge")
    loss = train_bridge(CAPTIONS[:4] * 16, frozen, Recipe(epochs=8, batch=8, lr=2e-2), 128, folder, CPU)[
        "loss"
    ]
    return folder, loss


@pytest.fixture(scope="module")
def sba(frozen, bridge):
    made = SemanticBottleneck(frozen, str(bridge[0]), max_new_tokens=24, batch=4)
    made.setup(CPU)
    return made


def test_batched_beams_are_those_of_one_by_one_decoding(sba):
    together = sba.reconstruct(CAPTIONS)
    alone = [sba.reconstruct([caption])[0] for caption in CAPTIONS]
    assert together == alone
    assert [len(beams) for beams in together] == [5] * len(CAPTIONS)
    rows = [5, 0, 7, 2]
    assert sba.reconstruct([CAPTIONS[r] for r in rows]) == [together[r] for r in rows]


def test_as_released_the_first_caption_ends_its_batch(sba, frozen, bridge, monkeypatch):
    released = SemanticBottleneck(frozen, str(bridge[0]), max_new_tokens=24, together=2)
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


def test_the_bridge_learns_and_the_rest_stays_as_it_was(bridge, frozen):
    folder, loss = bridge
    assert set(load_file(folder / BRIDGE)) == {"weight", "bias"}
    assert not (folder / "checkpoints").exists()
    parts = frozen.load(CPU)
    untrained = torch.nn.Linear(128, parts.llm.config.hidden_size)
    before = BridgeTraining(parts, untrained)(**Collate(parts, 128)(CAPTIONS[:4]))["loss"].item()
    assert loss < 0.6 * before


def test_loss_against_plain_arithmetic(frozen):
    """No padding: the mean negative log probability of each caption's tokens and its end, one at a time."""
    parts = frozen.load(CPU)
    linear = torch.nn.Linear(128, parts.llm.config.hidden_size)
    texts = ["a red boat", "two green trees in the garden"]
    total, count = 0.0, 0
    with torch.no_grad():
        for text in texts:
            ids = parts.tokenizer(text + " \n", add_special_tokens=False)["input_ids"]
            bos = parts.embed_tokens(torch.tensor([[parts.tokenizer.bos_token_id]]))
            first = torch.cat([bos, linear(parts.clip.project_texts([text]))[:, None]], dim=1)
            for position, target in enumerate(ids):
                known = parts.embed_tokens(torch.tensor([ids[:position]], dtype=torch.long))
                logits = parts.llm(inputs_embeds=torch.cat([first, known], dim=1)).logits[0, -1]
                total -= logits.log_softmax(-1)[target].item()
                count += 1
        loss = BridgeTraining(parts, linear)(**Collate(parts, 128)(texts))["loss"].item()
    assert loss == pytest.approx(total / count, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [{"micro_batch": 3}, {"checkpointing": True}], ids=str)
def test_saving_memory_gives_the_same_bridge(frozen, tmp_path, memory):
    losses = {}
    for name, settings in {"plain": {}, "saving": memory}.items():
        recipe = Recipe(epochs=2, batch=8, lr=1e-2, **settings)  # 19 captions: the last batch is not full
        losses[name] = train_bridge(
            [*CAPTIONS[:4] * 4, *CAPTIONS[:3]], frozen, recipe, 128, tmp_path / name, CPU
        )
    assert losses["plain"]["loss"] == pytest.approx(losses["saving"]["loss"], rel=1e-5)
    plain, saving = (load_file(tmp_path / name / BRIDGE) for name in losses)
    for name, tensor in plain.items():
        torch.testing.assert_close(saving[name], tensor, rtol=1e-3, atol=1e-5)


def test_captions_are_cut_at_the_tokens_that_are_set(frozen):
    parts = frozen.load(CPU)
    batch = Collate(parts, 12)([CAPTIONS[3], None])
    assert batch["input_ids"].shape[1] == 12
    assert tuple(batch["input_ids"][0, -2:].tolist()) == parts.end
    assert (batch["labels"][1] == -100).all()


KILLED = """
import sys
import time
from pathlib import Path
import torch
import filters.icc.training as training
from filters.icc.sba import FrozenParts
from filters.icc.sba_training import train_bridge
training.SAVE_EVERY = 4
clip, llm, folder = sys.argv[1:]
frozen = FrozenParts({"model": clip, "pretrained": None}, llm)
captions = ["a red boat", "two trees", "a dog on a bed", "hope and love"] * 8
print("begins", flush=True)
train_bridge(captions, frozen, training.Recipe(epochs=4, batch=4, lr=1e-2), 128, Path(folder), torch.device("cpu"))
"""


@pytest.mark.full
def test_a_killed_training_ends_with_the_same_weights(tmp_path):
    command = [sys.executable, "-c", KILLED, CLIP["model"], demo_model("llama")]
    process = subprocess.Popen([*command, str(tmp_path / "a")], stdout=subprocess.PIPE)
    while process.poll() is None and not any(
        (tmp_path / "a").glob("checkpoints/checkpoint-*/trainer_state.json")
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "a" / BRIDGE).exists()  # killed before its end
    cut_short = tmp_path / "a" / "checkpoints" / "checkpoint-999"  # as if a second kill met it in the writing
    cut_short.mkdir()
    (cut_short / "trainer_state.json").touch()
    subprocess.run([*command, str(tmp_path / "a")], check=True)
    subprocess.run([*command, str(tmp_path / "b")], check=True)
    resumed, whole = (load_file(tmp_path / name / BRIDGE) for name in "ab")
    for name, tensor in whole.items():
        torch.testing.assert_close(resumed[name], tensor)


def test_a_bridge_for_another_language_model_is_refused(frozen, tmp_path):
    save_file({"weight": torch.zeros(7, 128), "bias": torch.zeros(7)}, tmp_path / BRIDGE)
    with pytest.raises(UserError, match="gives 7; set the language model"):
        SemanticBottleneck(frozen, str(tmp_path)).setup(CPU)


def test_no_bridge_is_the_users_mistake(frozen, tmp_path):
    with pytest.raises(UserError, match="make one with task=icc_build"):
        SemanticBottleneck(frozen, str(tmp_path)).setup(CPU)
    with pytest.raises(UserError, match="is not there"):
        SemanticBottleneck(frozen, str(Path(tmp_path, "none"))).setup(CPU)
