"""Trainings against the trainer of transformers and the bare model, and the memory of a batch computed in parts.

python -m pytest -m perf -s bench/test_training_speed.py
"""

from functools import partial

import pytest

from bench.measurement import compare, measure

pytestmark = pytest.mark.perf
SAMPLES, PAIRS, MICRO_BATCH = 400, 128, 16


def test_a_captioner_beside_its_model_alone() -> None:
    from bench.trainings import model_alone, train

    work = f"train the demo's captioner on {SAMPLES} samples"
    row = compare(
        work, partial(measure, train, SAMPLES), "the model alone", partial(measure, model_alone, SAMPLES), 1.1
    )
    assert row.ratio < 1.2


def test_a_captioner_beside_the_trainer_of_transformers() -> None:
    from bench.trainings import train, train_with_transformers

    work = f"train the demo's captioner on {SAMPLES} samples, in groups of similar length"
    reference = partial(measure, train_with_transformers, SAMPLES)
    row = compare(work, partial(measure, train, SAMPLES), "Seq2SeqTrainer, padded", reference, 1)
    assert row.ratio < 0.8


def test_a_batch_in_parts_takes_less_memory() -> None:
    from bench.trainings import contrastive_step

    work = f"a step of {PAIRS} pairs, micro_batch={MICRO_BATCH}"
    in_parts = partial(measure, contrastive_step, PAIRS, MICRO_BATCH)
    row = compare(work, in_parts, "the whole batch at once", partial(measure, contrastive_step, PAIRS, None))
    assert row.ours.peak_gib < 0.8 * row.of_reference.peak_gib


def test_checkpointing_a_text_tower_takes_less_memory() -> None:
    from bench.trainings import contrastive_step

    work = f"a step of {PAIRS} pairs, checkpointing"
    again = partial(measure, contrastive_step, PAIRS, None, True)
    row = compare(work, again, "activations kept", partial(measure, contrastive_step, PAIRS, None))
    assert row.ours.peak_gib < 0.8 * row.of_reference.peak_gib


def test_checkpointing_a_captioner_takes_less_memory() -> None:
    from bench.trainings import train

    work = f"train the demo's captioner on {SAMPLES} samples, checkpointing"
    again = partial(measure, train, SAMPLES, True)
    row = compare(work, again, "activations kept", partial(measure, train, SAMPLES))
    assert row.ours.peak_gib < 0.9 * row.of_reference.peak_gib
