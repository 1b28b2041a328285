import json
import math
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from downstream.metrics import java
from downstream.metrics import spice as module
from downstream.metrics.metric import Corpus, UnavailableError
from downstream.metrics.spice import CORENLP_JARS, Spice, spice
from downstream.metrics.suite import score_captions
from downstream.metrics.tokenizer import tokenize_corpus
from tests.downstream.metrics.test_java import fake_java

INSTALLED, REASON = None, ""
try:  # before tests get their own caches
    INSTALLED = module.corenlp_folder()
except UnavailableError as error:
    REASON = str(error)
CORPUS = Corpus({"b": "a dog", "a": "a cat"}, {"b": ["the dog", "a pet"], "a": ["the cat"]})


@pytest.fixture
def corenlp(cache: Path) -> Path:
    """Empty files where the jars would be."""
    folder = cache / "pairsift" / "corenlp"
    folder.mkdir(parents=True)
    for jar in CORENLP_JARS:
        (folder / jar).touch()
    return folder


def test_without_corenlp_the_reason_names_the_task(cache, monkeypatch):
    monkeypatch.setattr(module, "SPICE", cache)
    with pytest.raises(UnavailableError, match="CoreNLP; run task=fetch with the same settings"):
        spice(CORPUS)


@pytest.mark.parametrize("each_reference", [False, True])
def test_one_run_of_the_jar_scores_all_and_each_reference(corenlp, tmp_path, monkeypatch, each_reference):
    # Both with all references; then b with each of its two, a with its one.
    f_scores = [0.5, 0.25, 0.1, 0.4, None][: 5 if each_reference else 2]
    rows = [{"image_id": i, "scores": {"All": {"f": f, "pr": i, "re": -i}}} for i, f in enumerate(f_scores)]
    script = f"""echo "$@" >> {tmp_path}/runs
while [ "$1" != edu.anu.spice.SpiceScorer ]; do shift; done
cp "$2" {tmp_path}/input.json; [ "$3" = -out ] && echo '{json.dumps(rows[::-1])}' > "$4"; echo noise"""
    monkeypatch.setattr(java, "find_java", lambda: fake_java(tmp_path, script))
    of_all, of_best = spice(CORPUS, each_reference)
    assert of_all == {"b": 0.5, "a": 0.25}
    assert (
        json.loads((tmp_path / "input.json").read_text())
        == [
            {"image_id": 0, "test": "a dog", "refs": ["the dog", "a pet"]},
            {"image_id": 1, "test": "a cat", "refs": ["the cat"]},
            {"image_id": 2, "test": "a dog", "refs": ["the dog"]},
            {"image_id": 3, "test": "a dog", "refs": ["a pet"]},
            {"image_id": 4, "test": "a cat", "refs": ["the cat"]},
        ][: len(rows)]
    )
    (command,) = (tmp_path / "runs").read_text().splitlines()
    assert "--add-opens=java.base/java.lang=ALL-UNNAMED" in command
    assert f"{corenlp}/*" in command
    assert set(of_best) == ({"a", "b"} if each_reference else set())
    if each_reference:  # precision and recall of the reference with the best F
        assert of_best["b"] == (0.4, 3, -3)
        assert math.isnan(of_best["a"][0])


def test_all_kinds_are_metrics_of_one_start(monkeypatch) -> None:
    best, runs = {"a": (0.5, 0.2, 0.8), "b": (0.1, 0.4, 0.0)}, []

    def start(corpus, each_reference):
        runs.append(each_reference)
        return {"a": 1.0, "b": 0.0}, best if each_reference else {}

    monkeypatch.setattr(module, "spice", start)
    row = {"SPICE": 0.5, "SPICE-1": 0.3, "SPICE-1 precision": 0.3, "SPICE-1 recall": 0.4}
    for metric, names in ((Spice(False), 1), (Spice(True), 2), (Spice(True, precision_recall=True), 4)):
        assert metric.names == tuple(row)[:names]
        scored = score_captions(CORPUS.candidates, CORPUS.references, [metric])
        assert {m.name: m.value for m in scored} == pytest.approx(dict(list(row.items())[:names]))
    assert runs == [False, True, True]
    with pytest.raises(UserError, match="needs metrics"):
        Spice(best_reference=False, precision_recall=True)


@pytest.mark.skipif(INSTALLED is None, reason=REASON)
def test_published_values(shared_data, cache):
    (cache / "pairsift").mkdir()
    (cache / "pairsift" / "corenlp").symlink_to(INSTALLED)
    folder = shared_data / "clipscore_example"
    expected = json.loads((folder / "expected.json").read_text())
    texts = json.loads((folder / "refs.json").read_text())
    captions = {kind: json.loads((folder / f"{kind}_captions.json").read_text()) for kind in ("good", "bad")}
    candidates = {(kind, image): captions[kind][image] for kind in captions for image in texts}
    corpus = Corpus(candidates, {(kind, image): texts[image] for kind, image in candidates})
    scores, of_best = spice(tokenize_corpus(corpus), each_reference=True)
    assert all(0 <= part <= 1 for key in candidates for part in of_best[key])
    for kind in captions:
        mean = sum(scores[kind, image] for image in texts) / len(texts)
        assert f"{mean:.4f}" == f"{expected[kind]['SPICE']:.4f}"
