"""The command line of weak labels and the weak backbone: mistakes in one line; the chain on a small demo."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import timm

from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.selection.selection import Selection
from pairsift.studies.ava.topic_backbone import TopicLabels
from pairsift.studies.ava.weak_backbone import labelled
from pairsift.studies.ava.weak_labels import topic_table
from tests.benchmark.run.test_demo_chain import DEMO
from tests.command_line import Done, Run
from tests.conftest import BuildOnce
from tests.demos import draw, link


def printed(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_only_labelled_samples_are_trained_on() -> None:
    uids = encode_uids([f"{n:032x}" for n in range(4)])
    chosen = Selection((uids[:2], uids[1:]), 0.5, 4, 1, 1, {})
    labels = TopicLabels(uids[[1, 3]], np.full((2, 2), 0.5, np.float32))
    kept = labelled(chosen, labels)
    assert kept.uids.tolist() == uids[[1, 3]].tolist()
    assert [epoch.tolist() for epoch in kept.epochs] == [uids[[1]].tolist(), uids[[1, 3]].tolist()]
    with pytest.raises(UserError, match="none of the 4 selected captions has a label"):
        labelled(chosen, TopicLabels(uids[:0], np.empty((0, 2), np.float32)))


@pytest.mark.slow
def test_the_chain_on_a_small_demo(run: Run, build_once: BuildOnce, cache: Path) -> None:
    link(build_once("chain", partial(draw, settings=DEMO)), cache)
    small = [*DEMO, "engine.workers=1", "weak_labels.topics=5"]
    lines = printed(run("task=weak_labels", *small))
    table = topic_table(Path(lines[-1]))
    assert len(table.rows) == 5
    assert table.rows[0][0].text in " ".join(" ".join(lines).split())
    chosen = ["filter=oracle", "size.samples=10000"]
    steps = ["weak_backbone.training.samples_seen=128", "weak_backbone.training.workers=0"]
    folder = printed(run("task=weak_backbone", *small, *chosen, *steps))[-1]
    assert timm.create_model(f"local-dir:{folder}", pretrained=True).num_classes == 5
    captioner = ["task=train", "downstream=captioner", f"models.captioner.encoder={folder}", *DEMO, *chosen]
    captioner.append("downstream.captioner.training.samples_seen=100")
    assert (Path(printed(run(*captioner))[-1]) / "model" / "model.safetensors").is_file()
