"""The score of a caption in the build: the chosen similarity of its best reconstruction, standardised by length."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.engine.local import LocalEngine
from filters.icc.similarity import EditSimilarity, Similarities, Similarity
from filters.icc.standardize import fit_standardizer, load_standardizer
from pairsift.studies.icc.building.build import Build
from pairsift.studies.icc.building.steps import FinishedStep

TEXTS = [
    f"a {colour} boat on the {place}" for colour in ("red", "blue") for place in ("lake", "wide sea")
] * 30
BEAMS = [[text[: 5 + n % 11], text[n % 7 :]] for n, text in enumerate(TEXTS)]


class SameWords(Similarity):
    def compare(self, captions: Sequence[str], reconstructions: Sequence[str]) -> Similarities:
        pairs = [(set(a.split()), set(b.split())) for a, b in zip(captions, reconstructions, strict=True)]
        return np.array([len(a & b) / len(a | b) for a, b in pairs], np.float32)


@pytest.mark.parametrize(("name", "chosen"), [("sba", "edit"), ("vba", "words")])
def test_the_chosen_similarity_is_the_score(name: str, chosen: str, tmp_path: Path) -> None:
    measures = {"edit": EditSimilarity(), "words": SameWords()}
    plan = SimpleNamespace(similarities=measures, chosen={"sba": "edit", "vba": "words"}, mu=0.25)
    pq.write_table(pa.table({"text": TEXTS, "reconstructions": BEAMS}), tmp_path / "00000.parquet")
    build = Build(plan, tmp_path / "build", LocalEngine("cpu"), torch.device("cpu"))  # type: ignore[arg-type]
    step = build._score(name, FinishedStep(tmp_path, "fingerprint", {}))
    written = pq.read_table(step.folder / "scores.parquet")
    for measure, similarity in measures.items():
        pairs = zip(TEXTS, BEAMS, strict=True)
        expected = [similarity.compare([text] * 2, beams).max() for text, beams in pairs]
        np.testing.assert_allclose(written[measure].to_numpy(), expected)
        assert step.facts[f"mean_{measure}"] == pytest.approx(np.mean(expected), abs=1e-4)
        standardizer = fit_standardizer(TEXTS, np.array(expected, np.float32), mu=0.25)
        assert load_standardizer(step.folder / f"standardizer-{measure}.json") == standardizer
        if measure == chosen:
            scores = standardizer(TEXTS, np.array(expected, np.float32))
            np.testing.assert_allclose(written["score"].to_numpy(), scores, rtol=1e-6)
    assert written["text"].to_pylist() == TEXTS
