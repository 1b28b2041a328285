"""Some damaged files of each kind, the same ones every time; `make fuzz` tries as many as one has minutes for."""

from pathlib import Path

from tests.hostile.fuzz import TARGETS, fuzz


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    outcomes, faults = fuzz(tmp_path, range(20))
    assert faults == []
    assert outcomes.total() == 20 * len(TARGETS)
