import json

import pytest

from benchmark.studies.icc_build.steps import MANIFEST, run_step


class Work:
    """Counts its calls and leaves a file; fails while told to."""

    def __init__(self, fails=False):
        self.calls = 0
        self.fails = fails

    def __call__(self, folder):
        self.calls += 1
        found = (folder / "part").exists()
        (folder / "part").write_text("x")
        if self.fails:
            raise KeyboardInterrupt
        return {"went_on": found}


def test_a_finished_step_is_not_done_again(tmp_path):
    work = Work()
    first = run_step(tmp_path, "a", {"n": 1}, work)
    again = run_step(tmp_path, "a", {"n": 1}, work)
    assert work.calls == 1
    assert (again.fingerprint, again.facts) == (first.fingerprint, {"went_on": False})
    assert json.loads((tmp_path / "a" / MANIFEST).read_text())["finished"] is True


def test_a_killed_step_goes_on_from_what_it_left(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_step(tmp_path, "a", {"n": 1}, Work(fails=True))
    assert run_step(tmp_path, "a", {"n": 1}, Work()).facts == {"went_on": True}


def test_other_inputs_begin_anew(tmp_path):
    run_step(tmp_path, "a", {"n": 1}, Work())
    assert run_step(tmp_path, "a", {"n": 2}, Work()).facts == {"went_on": False}


def test_a_change_reaches_the_steps_behind(tmp_path):
    work = Work()
    for n in (1, 1, 2):
        first = run_step(tmp_path, "a", {"n": n}, Work())
        run_step(tmp_path, "b", {"first": first}, work)
    assert work.calls == 2


def test_a_broken_manifest_is_no_finished_step(tmp_path):
    work = Work()
    run_step(tmp_path, "a", {"n": 1}, work)
    (tmp_path / "a" / MANIFEST).write_text("{")
    run_step(tmp_path, "a", {"n": 1}, work)
    assert work.calls == 2
