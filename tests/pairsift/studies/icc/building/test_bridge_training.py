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
    folder, recipe = tmp_path, Recipe(epochs=3, batch=8, lr=2e-2)
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
        captions = [*CAPTIONS[:4] * 4, *CAPTIONS[:3]]
        losses[name] = train_bridge(captions, frozen, recipe, 128, tmp_path / name, CPU)
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
