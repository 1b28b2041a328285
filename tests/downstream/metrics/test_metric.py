import json
from dataclasses import asdict

import pytest

from downstream.metrics.metric import Corpus, Metric, library


def test_a_metric_survives_json():
    metric = Metric("CIDEr", 1.5, None, 2, library("pycocoevalcap"))
    again = json.loads(json.dumps(asdict(metric)))
    assert Metric(**again | {"curve": tuple(again["curve"])}) == metric


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
