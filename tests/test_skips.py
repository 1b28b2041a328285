"""Where every extra is installed, a test that skips for want of one fails."""

import pytest

from tests.skips import fail_if_not_installed


def skipped(reason: str) -> pytest.TestReport:
    place = ("tests/test_x.py", 1, f"Skipped: {reason}")
    return pytest.TestReport("x", ("tests/test_x.py", 1, "x"), {}, "skipped", place, "call")


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("could not import 'ray': No module named 'ray'", "failed"),
        ("pip install 'pairsift[joblib]'", "failed"),
        ("no WordNet in /usr/share/wordnet; apt install wordnet-base", "failed"),
        ("no shared data in /shared/data; set PAIRSIFT_SHARED_DATA", "skipped"),
        ("no CUDA device", "skipped"),
    ],
)
def test_a_skip_for_an_absent_extra_fails_in_ci(
    reason: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAIRSIFT_EVERY_EXTRA", raising=False)
    assert fail_if_not_installed(skipped(reason)).outcome == "skipped"
    monkeypatch.setenv("PAIRSIFT_EVERY_EXTRA", "1")
    assert fail_if_not_installed(skipped(reason)).outcome == outcome
