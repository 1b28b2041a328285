"""How a step's batch is spread over devices and forward passes."""

import math
from collections import Counter

import pytest
import torch

from pairsift.studies.icc.building import training
from pairsift.studies.icc.building.training import IGNORED, Recipe, ShuffledEpochs, train


@pytest.mark.parametrize(
    ("micro_batch", "processes", "expected"),
    [
        (None, 1, (128, 1)), (32, 1, (32, 4)), (32, 2, (32, 2)), (32, 8, (16, 1)), (50, 1, (32, 4)), (1, 64, (1, 2)),
    ],
)  # fmt: skip
def test_passes_make_the_batch_whatever_the_devices(micro_batch, processes, expected):
    size, accumulated = Recipe(1, 128, 1e-3, micro_batch=micro_batch).passes(processes)
    assert (size, accumulated) == expected
    assert size * accumulated * processes == 128


def test_memory_settings_do_not_make_another_recipe():
    plain, saving = Recipe(1, 8, 1e-3), Recipe(1, 8, 1e-3, micro_batch=2, checkpointing=True)
    assert plain.identity() == saving.identity()
    assert plain.identity() != Recipe(1, 8, 1e-3, seed=1).identity()


def test_epochs_hold_every_item_once_in_another_order():
    epochs = ShuffledEpochs(list("abcdefghij"), batch=4, seed=0)
    first = [epochs[i] for i in range(len(epochs))]
    assert first[10:] == [None, None]
    assert sorted(first[:10]) == list("abcdefghij")
    epochs.set_epoch(1)
    second = [epochs[i] for i in range(len(epochs))]
    assert sorted(second[:10]) == sorted(first[:10])
    assert second != first


class Line(torch.nn.Module):
    """A line, and the sum of its squared errors divided by the number of labels."""

    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.tensor([0.5, -0.5]))

    def forward(self, points, labels, num_items_in_batch, **_):
        errors = ((points @ self.weights - labels) ** 2)[labels != IGNORED]
        return {"loss": errors.sum() / num_items_in_batch}


def collated(items):
    points = [[1.0, item["point"]] if item else [0.0, 0.0] for item in items]
    return {
        "points": torch.tensor(points),
        "labels": torch.tensor([float(item["value"]) if item else IGNORED for item in items]),
    }


def test_training_is_adamw_with_warm_up_and_cosine(tmp_path):
    items = [{"point": n / 7, "value": 1.7 - n / 3} for n in range(11)]
    recipe, steps, warmup, start = Recipe(5, 4, 0.05, 0.2, micro_batch=2), 15, 3, Line()
    model, losses = Line(), []
    loss = train(model, items, collated, recipe, tmp_path, torch.device("cpu"), "line")
    optimizer = torch.optim.AdamW(start.parameters(), weight_decay=0.0)
    epochs = ShuffledEpochs(items, recipe.batch, recipe.seed)
    for step in range(steps):
        epochs.set_epoch(step // 3)
        batch = collated([epochs[row] for row in range(step % 3 * 4, step % 3 * 4 + 4)])
        cosine = (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
        optimizer.param_groups[0]["lr"] = recipe.lr * (step / warmup if step < warmup else cosine)
        losses.append(start(**batch, num_items_in_batch=(batch["labels"] != IGNORED).sum())["loss"])
        optimizer.zero_grad()
        losses[-1].backward()
        torch.nn.utils.clip_grad_norm_(start.parameters(), 1.0)
        optimizer.step()
    torch.testing.assert_close(model.weights, start.weights)
    assert loss == pytest.approx(sum(losses[:10]).item() / 10, rel=1e-3)  # one entry of ten steps


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "SAVE_EVERY", 4)
    items = [{"point": n / 7, "value": 1.7 - n / 3} for n in range(11)]
    weights, left = {}, [10]

    def interrupted(rows):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return collated(rows)

    def run(name, collate=collated):
        weights[name], recipe = Line(), Recipe(5, 4, 0.05, 0.2)
        train(weights[name], items, collate, recipe, tmp_path / name, torch.device("cpu"), "line")

    with pytest.raises(KeyboardInterrupt):
        run("cut", interrupted)
    assert list((tmp_path / "cut").glob("checkpoint-*"))
    broken = tmp_path / "cut" / "checkpoint-999"  # as if it was killed while it wrote
    broken.mkdir()
    (broken / "trainer_state.json").touch()
    seen = Counter()
    run("cut", lambda rows: seen.update(["batches"]) or collated(rows))
    assert seen["batches"] < 15
    run("whole")
    torch.testing.assert_close(weights["cut"].weights, weights["whole"].weights)
