import pickle

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.clip import ClipFeatures
from filters.embeddings.cluster_labels import ClusterLabels
from filters.embeddings.timm_features import TimmFeatures
from tests.corpora import fit
from tests.extras import needs_extra
from tests.pools import numbered_uids

pytestmark = needs_extra("clusters")


def batch(vectors: np.ndarray) -> Batch:
    return Batch(numbered_uids(len(vectors)), [], features={"image": vectors, "text": -vectors})


def test_planted_clusters_are_found_after_pickling() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    vectors = (np.eye(3, 16)[truth] + 0.02 * rng.normal(size=(300, 16))).astype(np.float32)
    labels = ClusterLabels(ClipFeatures("m"), "image", 3, seed=0)
    fit(labels, [batch(vectors)])
    found = pickle.loads(pickle.dumps(labels)).score(batch(vectors))
    assert found.dtype == np.float32
    assert len({(a, b) for a, b in zip(truth.tolist(), found.tolist(), strict=True)}) == 3
    assert set(found.tolist()) == {0, 1, 2}


def test_clustering_captions_needs_text_embeddings() -> None:
    images = Batch(numbered_uids(1), [], features={"image": np.eye(1, 4, dtype=np.float32)})
    with pytest.raises(UserError, match="gives only image; embedding=clip"):
        fit(ClusterLabels(TimmFeatures("m"), "text", 3, seed=0), [images])
