import contextlib
import json

import pytest
import torch

from benchmark.core.errors import UserError
from pairsift.studies.icc.building.steps import MANIFEST, FinishedStep, Steps


def run_step(root, name, inputs, work) -> FinishedStep:
    return Steps(root, torch.device("cpu")).run(name, inputs, work)


class Work:
    """Counts its calls and writes a file; raises if `fails`."""

    def __init__(self, fails=False):
        self.calls = 0
        self.fails = fails

    def __call__(self, folder):
        self.calls += 1
        resumed = (folder / "part").exists()
        (folder / "part").write_text("x")
        if self.fails:
            raise KeyboardInterrupt
        return {"resumed": resumed}


def test_a_finished_step_does_not_run_again(tmp_path):
    work = Work()
    first = run_step(tmp_path, "a", {"n": 1}, work)
    again = run_step(tmp_path, "a", {"n": 1}, work)
    assert work.calls == 1
    assert (again.fingerprint, again.facts) == (first.fingerprint, {"resumed": False})
    assert json.loads((tmp_path / "a" / MANIFEST).read_text())["finished"] is True


def test_an_interrupted_step_keeps_its_files(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_step(tmp_path, "a", {"n": 1}, Work(fails=True))
    assert run_step(tmp_path, "a", {"n": 1}, Work()).facts == {"resumed": True}


@pytest.mark.parametrize("fails", [False, True])
def test_output_from_other_inputs_is_refused_and_kept(tmp_path, fails):
    with contextlib.suppress(KeyboardInterrupt):
        run_step(tmp_path / "build", "a", {"n": 1}, Work(fails))
    with pytest.raises(UserError, match=r"other inputs of a; set icc.output=.*build-[0-9a-f]{8}"):
        run_step(tmp_path / "build", "a", {"n": 2}, Work())
    assert run_step(tmp_path / "build", "a", {"n": 1}, Work()).facts == {"resumed": fails}
