"""How a step's batch is spread over devices and forward passes."""

import pytest

from filters.icc.training import Recipe, ShuffledEpochs


@pytest.mark.parametrize(
    ("micro_batch", "processes", "expected"),
    [
        (None, 1, (128, 1)),
        (32, 1, (32, 4)),
        (32, 2, (32, 2)),
        (32, 8, (16, 1)),
        (50, 1, (32, 4)),
        (1, 64, (1, 2)),
    ],
)
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
