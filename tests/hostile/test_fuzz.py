"""Some damaged files of each kind, the same ones every time; `make fuzz` tries as many as one has minutes for."""

from pathlib import Path

from tests.hostile.fuzz import TARGETS, Fuzz


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    fuzz = Fuzz(tmp_path)
    for target in TARGETS:
        for number in range(50):
            fuzz.try_one(target, number)
    assert fuzz.faults == []
    assert fuzz.outcomes.total() == 50 * len(TARGETS)
