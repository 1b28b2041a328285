import json

import pytest
import torch

from benchmark.core.errors import UserError
from benchmark.studies.icc_build.steps import MANIFEST, FinishedStep, Steps


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


def test_earlier_output_is_kept_and_comes_back(tmp_path):
    run_step(tmp_path, "a", {"n": 1}, Work())
    (tmp_path / "a" / "part").write_text("of the first inputs")
    assert run_step(tmp_path, "a", {"n": 2}, Work()).facts == {"resumed": False}
    again = Work()
    run_step(tmp_path, "a", {"n": 1}, again)
    assert again.calls == 0
    assert (tmp_path / "a" / "part").read_text() == "of the first inputs"
    assert len(list(tmp_path.iterdir())) == 2


def test_interrupted_output_of_other_inputs_is_kept(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_step(tmp_path, "a", {"n": 1}, Work(fails=True))
    run_step(tmp_path, "a", {"n": 2}, Work())
    assert run_step(tmp_path, "a", {"n": 1}, Work()).facts == {"resumed": True}


def test_a_finished_step_with_other_inputs_is_refused(tmp_path):
    steps = Steps(tmp_path / "build", torch.device("cpu"))
    steps.refuse_other("a", {"n": 1}, "other captions")
    steps.run("a", {"n": 1}, Work())
    steps.refuse_other("a", {"n": 1}, "other captions")
    with pytest.raises(
        UserError, match=r"holds a build from other captions; set icc.output=.*/build-[0-9a-f]{8}$"
    ):
        steps.refuse_other("a", {"n": 2}, "other captions")


def test_a_step_with_a_broken_manifest_runs_again(tmp_path):
    work = Work()
    run_step(tmp_path, "a", {"n": 1}, work)
    (tmp_path / "a" / MANIFEST).write_text("{")
    run_step(tmp_path, "a", {"n": 1}, work)
    assert work.calls == 2
