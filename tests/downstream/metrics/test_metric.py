import pytest

from benchmark.core.errors import UserError
from downstream.metrics.metric import Corpus, Metric, failure


@pytest.mark.parametrize(
    ("value", "reason"), [(None, None), (0.0, "why"), (float("nan"), None), (float("inf"), None)]
)
def test_a_metric_has_a_finite_value_or_a_reason(value, reason):
    with pytest.raises(ValueError, match="CIDEr"):
        Metric("CIDEr", value, reason, 1, "x")


@pytest.mark.parametrize("references", [{}, {"i": []}])
def test_a_candidate_without_references_is_an_error(references):
    with pytest.raises(ValueError, match="no references"):
        Corpus({"i": "a cat"}, references)


@pytest.mark.parametrize(
    ("error", "traceback"), [(UserError("the disk is full"), False), (ValueError("a bug"), True)]
)
def test_a_failure_has_a_traceback_if_it_is_unexpected(error, traceback, caplog):
    assert failure("CIDEr", error) == f"failed: {type(error).__name__}: {error}"
    assert ("ValueError: a bug" in caplog.text) == traceback
    assert ("CIDEr failed: the disk is full" in caplog.text) != traceback
