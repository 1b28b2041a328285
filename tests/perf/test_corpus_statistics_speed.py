"""Corpus statistics at three sizes: how processor seconds and memory grow; reading them beside the way in memory."""

from functools import partial

import pytest

from tests.perf.corpus_statistics import FILTERS, components, draw, fit, gather, rows
from tests.perf.growth import growth
from tests.perf.measurement import compare, measure

pytestmark = pytest.mark.perf
SIZES = (100_000, 400_000, 1_600_000)
WIDE_SIZES = (20_000, 80_000, 320_000)  # with 512 dimensions


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("features")
    draw(folder, SIZES[-1], 64)
    return str(folder)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("wide")
    draw(folder, WIDE_SIZES[-1], 512)
    return str(folder)


def test_all_embeddings_are_read_from_files(wide: str) -> None:
    pairs = WIDE_SIZES[-1]
    ways = (partial(measure, way, wide, pairs) for way in (rows, gather))
    ours, reference = ways
    row = compare(
        f"read {pairs:,} pairs of 512-wide embeddings by uid", ours, "all of them in memory", reference
    )
    assert row.ours.anonymous_gib < row.of_reference.anonymous_gib - 0.5


@pytest.mark.parametrize("name", FILTERS)
def test_a_fit_holds_no_embeddings(name: str, features: str) -> None:
    row = growth(f"fit {name}, 64 dimensions", SIZES, lambda pairs: measure(fit, features, pairs, name))
    assert row.anonymous_bytes_per_pair < 100  # embeddings alone take 256 bytes


def test_principal_components_are_learned_without_a_copy(features: str) -> None:
    row = growth(
        "PCA and k-means of all images, 64 dimensions",
        SIZES,
        lambda pairs: measure(components, features, pairs),
    )
    assert row.anonymous_bytes_per_pair < 100  # a copy in float32 takes 256 bytes


def test_a_fit_holds_no_wide_embeddings(wide: str) -> None:
    name = "near_duplicates"
    row = growth(f"fit {name}, 512 dimensions", WIDE_SIZES, lambda pairs: measure(fit, wide, pairs, name))
    assert row.anonymous_bytes_per_pair < 200  # embeddings alone take 2,048 bytes
