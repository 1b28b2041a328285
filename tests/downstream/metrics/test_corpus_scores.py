import numpy as np
import pytest
import torch

from downstream.metrics.base import Request
from downstream.metrics.corpus_scores import METEOR_COUNTS, meteor_of_sums
from downstream.metrics.meteor import Meteor
from downstream.metrics.metric import Corpus

# What METEOR 1.5's jar answers to EVAL for each of the fixture's five lines, and for all of them.
OF_IMAGES = (0.20553858811352985, 0.2646919470351634, 0.4, 1.0, 0.0)
OF_ALL = 0.26380657798316043


@pytest.mark.usefixtures("recorded_meteor")
def test_meteor_of_the_jars_counts_is_the_jars() -> None:
    ids = range(len(OF_IMAGES))
    corpus = Corpus(dict.fromkeys(ids, "a"), {image: ["a"] for image in ids})
    domains = {"set": ids, **{f"set/{image}": [image] for image in ids}}
    request = Request(corpus, domains, None, torch.device("cpu"))
    table = Meteor().compute(request)
    assert [table[domain]["METEOR"] for domain in domains] == pytest.approx([OF_ALL, *OF_IMAGES], abs=1e-12)
    # The corpora of a bootstrap in one call: each image by itself.
    counts = {name: np.array(list(request.of_images[name].values())) for name in METEOR_COUNTS}
    assert meteor_of_sums(counts) == pytest.approx(OF_IMAGES, abs=1e-12)
