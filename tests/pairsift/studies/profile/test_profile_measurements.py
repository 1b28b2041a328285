"""A pool of six pairs whose text is known, profiled; the numbers are worked out by hand."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.core.uids import decode_uids, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.models.clip_models import load_clip
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable
from filters.text_removal import remove_areas
from pairsift.studies.profile.measurements import Measurements, join, measure, measuring_filters
from pairsift.studies.profile.profiling import Profile, profile_pool
from pairsift.studies.profile.statistics import histograms, summarise
from tests.filters.checkpoints import open_clip_model
from tests.filters.ocr.spotters import PlantedText
from tests.pools import Row, jpeg, write_pool

ENGINE = LocalEngine("cpu", 1)
LEFT, RIGHT = [2, 2, 14, 2, 14, 9, 2, 9], [16, 20, 30, 20, 30, 29, 16, 29]
FOOT, WHOLE = [2, 22, 12, 22, 12, 30, 2, 30], [1, 1, 31, 1, 31, 31, 1, 31]
# Caption; what is written in the image and where; CoTR and the fuzzy rate, by Algorithm 1.
PAIRS = [
    ("KEEP CALM", [(LEFT, "KEEP"), (RIGHT, "CALM now")]),  # 2 / 2; 1
    ("a red ball ball", [(FOOT, "ball"), (RIGHT, "SALE")]),  # 1 / 3
    ("the sea", [(WHOLE, "tha")]),  # 0 / 2; (2/3 + 0) / 2
    ("a photo", []),
    ("two dogs", []),
    ("one more cat", []),
]  # fmt: skip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    return open_clip_model(tmp_path_factory.mktemp("clip"))


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    samples = [Row(f"{n}", f"http://example.org/{n}.jpg", text, jpeg(n)) for n, (text, _) in enumerate(PAIRS)]
    return Pool("p", str(write_pool(tmp_path / "pool", [samples[:4], samples[4:]])))


def read_all(pool: Pool):
    needs = frozenset({"image", "text"})
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 99, Counter()):
            yield from zip(decode_uids(batch.uids), batch.texts, batch.images, strict=True)


@pytest.fixture
def spotter(pool: Pool) -> PlantedText:
    known = dict(PAIRS)
    return PlantedText({PlantedText.name(image): known[text] for _, text, image in read_all(pool)})


@pytest.mark.slow
def test_measurements_equal_those_by_hand(pool: Pool, spotter: PlantedText, clip: str) -> None:
    filters = measuring_filters(spotter, {"model": clip, "pretrained": None})
    measured, drops, seconds = measure(pool, filters, 0.8, ENGINE)
    assert drops == {}
    assert seconds > 0
    order = {uid: row for row, uid in enumerate(sorted(uid for uid, _, _ in read_all(pool)))}
    rows = [order[uid] for uid, _, _ in read_all(pool)]
    assert measured.text[rows].tolist() == [True, True, True, False, False, False]
    assert measured.parrot[rows].tolist() == [True, True, False, False, False, False]
    assert measured.cotr[rows].tolist() == pytest.approx([1, 1 / 3, 0, 0, 0, 0])
    assert measured.fuzzy[rows][[0, 2, 3]].tolist() == pytest.approx([1, (2 / 3 + 1 / 3) / 2, 0])
    model = load_clip(clip, None, torch.device("cpu"))
    for row, (_, text, image) in zip(rows, read_all(pool), strict=True):
        areas = [area for area, _ in dict(PAIRS)[text]]
        co = [area for area, words in dict(PAIRS)[text] if set(words.split()) & set(text.split())]
        for name, painted in (("clip", []), ("all_removed", areas), ("co_removed", co)):
            shown = remove_areas(image, painted, "inpaint") if painted else image
            cosine = (model.embed_images([shown]) * model.embed_texts([text])).sum()
            kept = getattr(measured, name)[row]
            assert kept == pytest.approx(cosine, abs=2e-3), name  # in half precision
    plain = ~measured.text
    assert (measured.random_all[plain] == measured.clip[plain]).all()
    assert (measured.random_all[~plain] != measured.all_removed[~plain]).all()  # other images' areas
    # Only two images have co-embedded text, so each gets the other's; the third stays as it is.
    assert (measured.random_co != measured.clip).sum() == 2


def profiled(pool: Pool, spotter: PlantedText, clip: str) -> Profile:
    clip_settings = {"model": clip, "pretrained": None}
    return profile_pool(pool, spotter, {"_target_": "planted"}, clip_settings, ENGINE, clusters=100, seed=0)


def test_a_profile_equals_that_by_hand(pool: Pool, spotter: PlantedText, clip: str, tmp_path: Path) -> None:
    found = profiled(pool, spotter, clip)
    assert (spotter.detected, spotter.read_lines) == (6, 5), "one pass serves all"
    overall, means = found.overall, found.overall.means
    assert (overall.images, overall.with_text, overall.parrots) == (6, 3, 2)
    assert overall.text.value == 0.5
    assert overall.parrot.value == pytest.approx(2 / 3, abs=1e-6)
    assert means["cotr"].value == pytest.approx((1 + 1 / 3) / 6, abs=1e-6)
    assert means["cotr_text"].value == pytest.approx((1 + 1 / 3) / 3, abs=1e-6)
    assert (means["cotr"].count, means["cotr_text"].count, means["clip_no_text"].count) == (6, 3, 3)
    value = {name: of.value for name, of in means.items()}
    assert value["rsa"] == pytest.approx(value["clip_text"] - value["clip_text_all_removed"], abs=2e-6)
    assert value["clip"] == pytest.approx((value["clip_text"] + value["clip_no_text"]) / 2, abs=2e-6)
    (cluster,) = found.clusters  # six images are one cluster
    assert cluster.group == overall
    assert cluster.example.caption in dict(PAIRS)
    assert (found.sample, found.drawn_from, found.shards) == (None, None, 2)
    assert read_records(tmp_path, Profile) == []
    path = write_record(tmp_path, found)
    assert path == tmp_path / "profile" / f"{found.run_id}.json"
    assert read_records(tmp_path, Profile) == [found]
    assert profiled(pool, spotter, clip).run_id == found.run_id
    assert (spotter.detected, spotter.read_lines) == (6, 5), "text is cached"


def table(numbers: dict[int, float]) -> ScoreTable:
    uids = encode_uids([f"{n:032x}" for n in numbers])
    return ScoreTable(uids, np.array(list(numbers.values()), np.float32))


def test_samples_without_every_score_are_left_out() -> None:
    ones = dict.fromkeys(("all_removed", "random_co", "random_all", "clip"), table({1: 1, 2: 1, 3: 1, 9: 1}))
    tables = ones | {
        "co_removed": table({2: 0.5, 3: 0.25, 9: 0.125}),
        "text": table({1: 0, 2: -0.81, 3: 0, 9: -0.79}),
        "cotr": table({1: 0, 2: -0.25, 3: float("nan"), 9: 0}),
        "fuzzy": table({1: 0, 2: -0.5, 3: 0, 9: 0}),
    }
    measured, unscored = join(tables, 0.8)
    assert unscored == 2  # 1 has no co_removed, 3 no rate
    assert measured.uids["f1"].tolist() == [2, 9]
    assert measured.co_removed.tolist() == [0.5, 0.125]
    assert measured.text.tolist() == [True, False]
    assert measured.cotr.tolist() == [0.25, 0]
    assert measured.fuzzy.tolist() == [0.5, 0]


def test_a_pool_of_unreadable_images_is_refused(spotter: PlantedText, clip: str, tmp_path: Path) -> None:
    broken = [Row("0", "http://example.org/0.jpg", "a cat", b"no image")]
    pool = Pool("broken", str(write_pool(tmp_path / "broken", [broken])))
    with pytest.raises(UserError, match=r"has no usable pair \(1 image_unreadable\)$"):
        measure(pool, measuring_filters(spotter, {"model": clip, "pretrained": None}), 0.8, ENGINE)


def planted(text: list[bool], **columns: list[float]) -> Measurements:
    n = len(text)
    names = ("cotr", "fuzzy", "clip", "all_removed", "co_removed", "random_all", "random_co")
    values = {name: np.array(columns.get(name, [0.0] * n), np.float32) for name in names}
    return Measurements(uids=encode_uids([f"{i:032x}" for i in range(n)]), text=np.array(text), **values)


def test_histograms_share_bins_centred_on_zero() -> None:
    measured = planted(
        [True, True, True, True, False],
        clip=[0.30, 0.30, 0.30, 0.30, 0.90],
        all_removed=[0.26, 0.259, 0.32, 0.30, 0.10],
        co_removed=[0.30] * 4 + [0.1],
        random_all=[0.30] * 4 + [0.1],
        random_co=[0.30] * 4 + [0.1],
    )
    found = histograms(measured)
    # RSA 0.04, 0.041, -0.02; the unchanged image and the one without text are left out.
    assert found["rsa"].edges == pytest.approx([-0.03, -0.01, 0.01, 0.03, 0.05])
    assert found["rsa"].counts == [1, 0, 0, 2]
    assert found["co_over_all"].counts == [1, 0, 0, 2]
    assert sum(found["rsc"].counts) == 0


def test_a_group_without_text_has_means_with_a_reason() -> None:
    found = summarise(planted([False] * 8, clip=[0.1, 0.2] * 4), seed=0)
    assert (found.text.value, found.parrot.value, found.parrot.reason) == (0.0, None, "no such image")
    assert found.means["clip_text"].value is None
    assert found.means["clip_no_text"].value == pytest.approx(0.15)
    assert histograms(planted([False] * 8))["rsa"].counts == [0]
