"""Caption metrics of three sets with 5 references per image against COCO's evaluation: equal values, in less time.

COCOEvalCap is called scorer by scorer, without SPICE: as a whole it would download Stanford CoreNLP first.
"""

import json
import os
import tempfile
from functools import partial
from pathlib import Path

import pytest
import torch

from bench.measurement import compare, measure
from downstream.evaluation.captioning import score_captions_of_sets
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.metrics.coco_metrics import Bleu, Cider, RougeL
from downstream.metrics.java import find_java
from downstream.metrics.meteor import Meteor

pytestmark = pytest.mark.perf
SETS, IMAGES = ("coco", "nocaps", "flickr30k"), 700
Captions = dict[int, list[str]]  # of an image


def read_captions(folder: str) -> dict[str, Captions]:
    """Six captions of each image of each set: an image's own, some of them twice. The last is the candidate."""
    captions: Captions = {}
    for row in json.loads((Path(folder) / "small_captions_val2014.json").read_text())["annotations"]:
        captions.setdefault(row["image_id"], []).append(row["caption"])
    six = [(texts * 2)[:6] for texts in captions.values()]
    return {
        name: dict(enumerate(six[number * IMAGES : (number + 1) * IMAGES]))
        for number, name in enumerate(SETS)
    }


def pairsift(folder: str, values: str) -> None:
    """Score all sets as a run does, which starts METEOR's Java once and gives confidence intervals, too."""
    sets, candidates = [], {}
    for name, captions in read_captions(folder).items():
        items = [Item(image, None, texts[:5]) for image, texts in captions.items()]
        sets.append(EvaluationSet(name, items, captioning=True, retrieval=False))
        candidates[name] = [texts[5] for texts in captions.values()]
    metrics = (Bleu(), Meteor(), RougeL(), Cider())
    with tempfile.TemporaryDirectory() as scores:
        found = score_captions_of_sets(sets, candidates, metrics, Path(scores), torch.device("cpu"))
    Path(values).write_text(json.dumps({name: {m.name: m.value for m in of} for name, of in found.items()}))


def coco_eval_cap(folder: str, values: str) -> None:
    os.environ["PATH"] = f"{find_java().parent}{os.pathsep}{os.environ['PATH']}"
    found = {name: coco_metrics(captions) for name, captions in read_captions(folder).items()}
    Path(values).write_text(json.dumps(found))


def coco_metrics(captions: Captions) -> dict[str, float]:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({i: [{"caption": text} for text in texts[:5]] for i, texts in captions.items()})
    res = tokenizer.tokenize({i: [{"caption": texts[5]}] for i, texts in captions.items()})
    found = {f"BLEU-{n}": v for n, v in enumerate(Bleu(4).compute_score(gts, res, verbose=0)[0], start=1)}
    scorer = Meteor()
    found["METEOR"] = scorer.compute_score(gts, res)[0]
    scorer.meteor_p.kill()
    scorer.meteor_p.wait()
    return found | {
        "ROUGE_L": Rouge().compute_score(gts, res)[0],
        "CIDEr": Cider().compute_score(gts, res)[0],
    }


def test_the_metrics_of_coco_eval_cap(shared_data: Path, tmp_path: Path) -> None:
    folder, ours, theirs = (
        str(f) for f in (shared_data / "coco_golden_eval", tmp_path / "o", tmp_path / "t")
    )
    row = compare(
        f"BLEU, METEOR, ROUGE-L, CIDEr of {len(SETS)} sets of {IMAGES} images",
        partial(measure, pairsift, folder, ours),
        "COCOEvalCap",
        partial(measure, coco_eval_cap, folder, theirs),
        0.5,
    )
    found = json.loads(Path(ours).read_text())
    for name, expected in json.loads(Path(theirs).read_text()).items():
        assert found[name] == pytest.approx(expected, abs=1e-12)
    assert row.ratio < 0.9
