"""Weak labels: the vocabulary, planted topics, and the folder of labels written and read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, make_uid, sort_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from pairsift.studies.ava.labels import LabelConfig, label_pool, read_labels
from pairsift.studies.ava.topics import TopicModel, choose_vocabulary
from pairsift.studies.ava.weak_labels import topic_table
from tests.demos import demo_model
from tests.pools import Row, jpeg, write_pool

# A planted world of two topics, in English that the demo's tagger knows; the last caption has no noun at all.
PETS = ["a dog and a cat", "the cat sees a dog", "a dog on the grass", "a cat on the grass"]
ROADS = ["a car and a bus", "the bus passes a car", "a car on the road", "a bus on the road"]


def config(**changes: object) -> LabelConfig:
    given = {"minimum_informativeness": 0, "ngrams": 50, "max_share": 0.5, "topics": 2, "passes": 20}
    given |= {"batch_size": 16, "seed": 0} | changes
    return LabelConfig(parser=demo_model("parser"), **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def _one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield cache


@pytest.fixture(autouse=True)
def cache(_one_cache: Path) -> Path:
    """One cache for the whole file: the n-grams of its pools are read once."""
    return _one_cache


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    captions = [(f"http://x/{i}", text) for i, text in enumerate([*(PETS + ROADS) * 4, "and of the"])]
    return write_captions(tmp_path_factory.mktemp("pool"), captions)


@pytest.fixture(scope="module")
def folder(pool: Pool) -> Path:
    return label_pool(pool, config(), LocalEngine("cpu", 1))


def test_the_vocabulary_equals_a_hand_computed_one() -> None:
    # Ten captions: "shot" is in nine, "tree" in one (twice), "sky" and "sea" in two, "red sky" in one.
    captions = [["shot"]] * 7
    captions += [["shot", "sky", "tree", "tree"], ["shot", "sea"], ["sea", "sky", "red sky"]]
    chosen = choose_vocabulary(captions, 25_000, 0.2)
    assert chosen.ngrams == ["red sky", "tree"]  # a tenth; two of ten is not below 0.2
    assert chosen.too_common == ["shot", "sea", "sky"]
    assert (chosen.captions, chosen.distinct) == (10, 5)
    assert choose_vocabulary(captions, 3, 0.9).ngrams == ["sea", "sky", "red sky"]
    assert choose_vocabulary(captions, 9, 1.0).ngrams == ["shot", "sea", "sky", "red sky", "tree"]


def test_two_planted_topics_are_recovered() -> None:
    rng = np.random.default_rng(0)
    words = [[f"{topic} {i}" for i in range(10)] for topic in ("sea", "city")]
    planted = rng.integers(0, 2, 200)
    captions = [rng.choice(words[topic], 5).tolist() for topic in planted]
    model = TopicModel(words[0] + words[1], topics=2, batch_size=50, seed=0)
    seen: list[int] = []
    counts = model.count(captions)
    counted = model.count([[words[0][1], words[0][0], words[0][1]], ["c"]]).toarray()
    assert counted[:, :2].tolist() == [[1, 2], [0, 0]]
    model.fit(counts, 5, seen.append)
    assert sum(seen) == 5 * 200
    first, second = model.top_ngrams()
    assert {frozenset(first), frozenset(second)} == {frozenset(words[0]), frozenset(words[1])}
    topics = model.label(counts)
    assert topics.dtype == np.float32
    assert np.abs(topics.sum(1) - 1).max() < 1e-5
    is_city = planted == 1
    city = 0 if "city 0" in first else 1
    assert (topics.argmax(1) == city).tolist() == is_city.tolist()
    # Five n-grams of one topic, prior 1/2: (5 + 1/2) / (5 + 1).
    assert topics.max(1) == pytest.approx(5.5 / 6, abs=0.01)


def write_captions(folder: Path, captions: list[tuple[str, str]]) -> Pool:
    """A pool of two shards from urls and captions."""
    made = [Row(f"{i:05d}", url, text, jpeg(i)) for i, (url, text) in enumerate(captions)]
    return Pool("pets", str(write_pool(folder, [made[:20], made[20:]])))


def topics_by_caption(folder: Path, captions: list[tuple[str, str]]) -> list[list[float] | None]:
    table = pq.read_table(folder / "labels")
    by_uid = dict(zip(table["uid"].to_pylist(), table["topics"].to_pylist(), strict=True))
    return [by_uid.get(make_uid(url, text)) for url, text in captions]


@pytest.mark.parametrize(
    ("more", "least", "counts", "drop"),
    [("and of the", 0, (34, 33), "no_ngram"), ("a dog", 1.5, (32, 32), "uninformative")],
)
def test_an_images_captions_are_one_document_if_they_say_enough(
    more: str, least: float, counts: tuple[int, int], drop: str, tmp_path: Path
) -> None:
    """Across shards: one more caption of the second image, which does not count, and one of a new image."""
    captions = [(f"http://x/{i}", text) for i, text in enumerate((PETS + ROADS) * 4)]
    captions += [("http://x/1", more), ("http://y/0", more)]
    pool = write_captions(tmp_path, captions)
    folder = label_pool(pool, config(minimum_informativeness=least, passes=2), LocalEngine("cpu", 1))
    *labels, of_image_1, alone = topics_by_caption(folder, captions)
    assert of_image_1 == labels[1] is not None
    assert alone is None
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["captions"], manifest["images"], manifest["drops"]) == (*counts, {drop: 1})
    said = f"{counts[1]} images have {counts[0]} captions that say enough, {counts[0] / counts[1]:.2f} each"
    assert said in topic_table(folder).notes


def test_labels_topics_and_manifest_are_written_and_reused(
    pool: Pool, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["captions"] == 33
    assert manifest["labelled"] == 32
    assert manifest["drops"] == {"no_ngram": 1}
    assert {"dog", "cat", "car", "bus"} <= {g for t in topics_of(folder) for g in t["ngrams"]}
    assert sum(t["captions"] for t in topics_of(folder)) == 32
    parts = [pq.read_table(path) for path in sorted((folder / "labels").iterdir())]
    assert [part.num_rows for part in parts] == [20, 12]
    rows = np.array([row for part in parts for row in part["topics"].to_pylist()])
    assert rows.shape == (32, 2)
    assert rows.sum(1) == pytest.approx(np.ones(32), abs=1e-5)
    pets = rows.argmax(1).reshape(4, 8)  # eight captions four times: pets are one topic, roads the other
    assert (pets[:, :4] == pets[0, 0]).all()
    assert (pets[:, 4:] == 1 - pets[0, 0]).all()
    caplog.set_level("INFO")
    assert label_pool(pool, config(), LocalEngine("cpu", 1)) == folder
    assert "reusing" in caplog.text
    assert label_pool(pool, config(seed=1), LocalEngine("cpu", 1)) != folder


def topics_of(folder: Path) -> list[dict[str, Any]]:
    topics: list[dict[str, Any]] = json.loads((folder / "topics.json").read_text())
    return topics


def test_labels_are_read_by_uid(folder: Path) -> None:
    table = pq.read_table(folder / "labels")
    by_uid = dict(zip(table["uid"].to_pylist(), table["topics"].to_pylist(), strict=True))
    wanted = [*list(by_uid)[::3], "f" * 32]
    encoded = encode_uids(wanted)
    labels = read_labels(folder, encoded[sort_uids(encoded)])
    assert sorted(decode_uids(labels.uids)) == sorted(wanted[:-1])
    assert labels.of(wanted[:-1]).tolist() == [by_uid[uid] for uid in wanted[:-1]]


def test_a_pool_without_a_vocabulary_raises_a_user_error(pool: Pool) -> None:
    with pytest.raises(UserError, match=r"no n-gram occurs in fewer than 1% of the 33 captions of pool pets"):
        label_pool(pool, config(max_share=0.01), LocalEngine("cpu", 1))
    with pytest.raises(UserError, match=r"lower weak_labels\.minimum_informativeness"):
        label_pool(pool, config(minimum_informativeness=99), LocalEngine("cpu", 1))
