import numpy as np
import pytest
import torch

from downstream.metrics import java
from downstream.metrics import meteor as module
from downstream.metrics.base import Request
from downstream.metrics.corpus_scores import METEOR_COUNTS, meteor_of_sums
from downstream.metrics.meteor import Meteor, meteor_counts
from downstream.metrics.metric import Corpus, UnavailableError
from tests.downstream.metrics.test_java import fake_java

CORPUS = Corpus({i: f"a cat {i}" for i in range(60)}, {i: ["a cat", "a dog"] for i in range(60)})

# Answers of METEOR 1.5's jar to EVAL for each line of `recorded_meteor`, and for all of them.
OF_IMAGES = (0.20553858811352985, 0.2646919470351634, 0.4, 1.0, 0.0)
OF_ALL = 0.26380657798316043
# A jar in one line; its counts are 1, and one is 0.
SCRIPT = "while read -r line; do echo 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1; done"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo Error: bad line", "METEOR answered 'Error: bad line'"),
        ("echo 1.0 2.0", "METEOR answered '1.0 2.0'"),
        ("read line; echo 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 1", "METEOR gave 1 lines for 60"),
        ("read line; echo no heap >&2; exit 1", "METEOR failed: no heap"),
    ],
)
def test_other_answers_are_reasons(tmp_path, monkeypatch, script, reason):
    monkeypatch.setattr(java, "find_java", lambda: fake_java(tmp_path, script))
    with pytest.raises(UnavailableError, match=reason):
        meteor_counts(CORPUS)


def test_every_answer_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "find_java", lambda: fake_java(tmp_path, SCRIPT))
    counts = meteor_counts(CORPUS)
    assert counts == dict.fromkeys(CORPUS.candidates, [1.0] * 21 + [0.0, 1.0])


@pytest.mark.usefixtures("recorded_meteor")
def test_meteor_of_the_jars_counts_is_the_jars() -> None:
    ids = range(len(OF_IMAGES))
    corpus = Corpus(dict.fromkeys(ids, "a"), {image: ["a"] for image in ids})
    domains = {"set": ids, **{f"set/{image}": [image] for image in ids}}
    request = Request(corpus, domains, None, torch.device("cpu"))
    table = Meteor().compute(request)
    assert [row["METEOR"] for row in table.values()] == pytest.approx([OF_ALL, *OF_IMAGES], abs=1e-12)
    # The corpora of a bootstrap in one call: each image by itself.
    counts = {name: np.array(list(request.of_images[name].values())) for name in METEOR_COUNTS}
    assert meteor_of_sums(counts) == pytest.approx(OF_IMAGES, abs=1e-12)


def test_nothing_in_a_caption_can_end_the_request_or_add_a_field():
    request = module.request_line("a ||| b\nEVAL", ["c\r|||", ""])
    assert request == "SCORE ||| c |||  ||| a b EVAL"
