"""Caption metrics of 2,000 images with 5 references, beside COCO's own evaluation: equal values, in less time.

COCOEvalCap is called scorer by scorer, without SPICE: as a whole it would download Stanford CoreNLP first.
"""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from downstream.metrics.coco_metrics import Bleu, Cider, RougeL
from downstream.metrics.java import find_java
from downstream.metrics.meteor import Meteor, _kept
from downstream.metrics.suite import score_captions
from tests.perf.measurement import compare, measure

pytestmark = pytest.mark.perf
IMAGES = 2000
Captions = dict[int, list[str]]


def read_captions(folder: str) -> tuple[dict[int, str], Captions]:
    """A candidate and five references of each image: an image's captions, some of them twice."""
    captions: Captions = {}
    for row in json.loads((Path(folder) / "small_captions_val2014.json").read_text())["annotations"]:
        captions.setdefault(row["image_id"], []).append(row["caption"])
    six = dict(enumerate(([(texts * 2)[:6] for texts in captions.values()] * 2)[:IMAGES]))
    return {image: texts[5] for image, texts in six.items()}, {i: texts[:5] for i, texts in six.items()}


def pairsift(folder: str, values: str) -> None:
    metrics = score_captions(*read_captions(folder), [Bleu(), Meteor(), RougeL(), Cider()])
    _kept.stop()  # its Java would not be measured otherwise
    Path(values).write_text(json.dumps({metric.name: metric.value for metric in metrics}))


def coco_eval_cap(folder: str, values: str) -> None:
    os.environ["PATH"] = f"{find_java().executable.parent}{os.pathsep}{os.environ['PATH']}"
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    candidates, references = read_captions(folder)
    tokenizer = PTBTokenizer()
    gts = tokenizer.tokenize({i: [{"caption": text} for text in texts] for i, texts in references.items()})
    res = tokenizer.tokenize({i: [{"caption": text}] for i, text in candidates.items()})
    found = {f"BLEU-{n}": v for n, v in enumerate(Bleu(4).compute_score(gts, res, verbose=0)[0], start=1)}
    scorer = Meteor()
    found["METEOR"] = scorer.compute_score(gts, res)[0]
    scorer.meteor_p.kill()
    scorer.meteor_p.wait()
    found |= {"ROUGE_L": Rouge().compute_score(gts, res)[0], "CIDEr": Cider().compute_score(gts, res)[0]}
    Path(values).write_text(json.dumps(found))


def test_the_metrics_of_coco_eval_cap(shared_data: Path, tmp_path: Path) -> None:
    folder, ours, theirs = (
        str(f) for f in (shared_data / "coco_golden_eval", tmp_path / "o", tmp_path / "t")
    )
    row = compare(
        f"BLEU, METEOR, ROUGE-L, CIDEr of {IMAGES:,} images",
        partial(measure, pairsift, folder, ours),
        "COCOEvalCap",
        partial(measure, coco_eval_cap, folder, theirs),
        0.5,
    )
    expected = json.loads(Path(theirs).read_text())
    assert json.loads(Path(ours).read_text()) == pytest.approx(expected, abs=1e-12)
    assert row.ratio < 0.9
