"""A run that is disturbed ten times leaves, bit for bit, what one leaves that is left alone. More: `make chaos`."""

from pathlib import Path

import pytest

from tests.hostile.chaos import disturbed, undisturbed

pytestmark = pytest.mark.full


def test_ten_faults_change_nothing(tmp_path: Path) -> None:
    whole = undisturbed(tmp_path / "undisturbed")
    chaos = disturbed(tmp_path / "disturbed", seed=0, number=10, pause=2, whole=whole)
    assert chaos.wrong == []
    assert sum(chaos.struck.values()) >= 5
