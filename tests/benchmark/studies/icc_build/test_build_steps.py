import json

import pytest

from benchmark.studies.icc_build.steps import MANIFEST, run_step


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


def test_changed_inputs_clear_the_folder(tmp_path):
    run_step(tmp_path, "a", {"n": 1}, Work())
    assert run_step(tmp_path, "a", {"n": 2}, Work()).facts == {"resumed": False}


def test_a_change_reruns_the_steps_that_depend_on_it(tmp_path):
    work = Work()
    for n in (1, 1, 2):
        first = run_step(tmp_path, "a", {"n": n}, Work())
        run_step(tmp_path, "b", {"first": first}, work)
    assert work.calls == 2


def test_a_step_with_a_broken_manifest_runs_again(tmp_path):
    work = Work()
    run_step(tmp_path, "a", {"n": 1}, work)
    (tmp_path / "a" / MANIFEST).write_text("{")
    run_step(tmp_path, "a", {"n": 1}, work)
    assert work.calls == 2
