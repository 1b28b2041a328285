"""All caption metrics of 5,000 images with 5 references, beside COCO's own evaluation: equal values, how much faster.

COCOEvalCap is called scorer by scorer, without SPICE: as a whole it would download Stanford CoreNLP first.
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from downstream.metrics import meteor
from downstream.metrics.coco_metrics import Bleu, Cider, RougeL
from downstream.metrics.java import find_java
from downstream.metrics.suite import score_captions

pytestmark = pytest.mark.perf
IMAGES, REPEATS = 5000, 3
Captions = dict[int, list[str]]


def read_references(folder: Path) -> Captions:
    """Six captions of each of 5,000 images, some of them twice: five references and a candidate."""
    captions: Captions = {}
    for row in json.loads((folder / "small_captions_val2014.json").read_text())["annotations"]:
        captions.setdefault(row["image_id"], []).append(row["caption"])
    six = [(texts * 2)[:6] for texts in captions.values()]
    return dict(enumerate((six * 2)[:IMAGES]))


def coco_eval_cap(references: Captions, candidates: dict[int, str]) -> dict[str, float]:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({i: [{"caption": text} for text in texts] for i, texts in references.items()})
    res = tokenizer.tokenize({i: [{"caption": text}] for i, text in candidates.items()})
    values = {f"BLEU-{n}": v for n, v in enumerate(Bleu(4).compute_score(gts, res, verbose=0)[0], start=1)}
    scorer = Meteor()
    values["METEOR"] = scorer.compute_score(gts, res)[0]
    scorer.meteor_p.kill()
    values["ROUGE_L"] = Rouge().compute_score(gts, res)[0]
    return values | {"CIDEr": Cider().compute_score(gts, res)[0]}


def timed(work: Callable[[], dict[str, float]]) -> tuple[dict[str, float], float]:
    started = time.monotonic()
    return work(), time.monotonic() - started


def test_faster_than_coco_eval_cap(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setenv("PATH", f"{find_java().executable.parent}{os.pathsep}{os.environ['PATH']}")
    six = read_references(shared_data / "coco_golden_eval")
    candidates = {image: texts[5] for image, texts in six.items()}
    references = {image: texts[:5] for image, texts in six.items()}
    metrics = [Bleu(), meteor.Meteor(), RougeL(), Cider()]

    def ours() -> dict[str, float]:
        return {
            m.name: m.value for m in score_captions(candidates, references, metrics) if m.value is not None
        }

    ratios: dict[str, list[float]] = {"first set": [], "second set": []}
    for _ in range(REPEATS):
        meteor._kept.stop()
        expected, seconds = timed(lambda: coco_eval_cap(references, candidates))
        for name in ratios:
            values, own_seconds = timed(ours)
            assert values == pytest.approx(expected, abs=1e-12)
            ratios[name].append(seconds / own_seconds)
    record_property("load", os.getloadavg()[0])
    for name, of_one in ratios.items():
        record_property(name, statistics.median(of_one))
    print(ratios, os.getloadavg())
    assert statistics.median(ratios["second set"]) > 2
