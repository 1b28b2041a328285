import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from filters.icc.sba import BRIDGE, FrozenParts
from pairsift.studies.icc.building.bridge_training import BridgeTraining, Collate, train_bridge
from pairsift.studies.icc.building.training import Recipe
from tests.demos import demo_model
from tests.filters.icc.test_sba import CAPTIONS, CLIP, CPU


@pytest.fixture(scope="module")
def frozen():
    return FrozenParts(CLIP, demo_model("llama"))


def test_the_bridge_learns_and_the_rest_stays_as_it_was(frozen, tmp_path):
    folder, recipe = tmp_path, Recipe(epochs=4, batch=8, lr=2e-2)
    loss = train_bridge(CAPTIONS[:4] * 16, frozen, recipe, 128, folder, CPU)["loss"]
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
import pairsift.studies.icc.building.training as training
from filters.icc.sba import FrozenParts
from pairsift.studies.icc.building.bridge_training import train_bridge
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
