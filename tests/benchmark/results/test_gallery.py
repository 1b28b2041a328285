import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmark.core.bounds import Bounds
from benchmark.core.errors import UserError
from benchmark.core.images import decode_image
from benchmark.core.uids import UidArray, encode_uids, find_uids
from benchmark.pool.pool import Pool
from benchmark.results.gallery import IMAGES, PAIRS, examples, gallery, ranked_pairs, short_text, thumbnail
from benchmark.results.run_folder import CAPTION_CHARACTERS, Example, GalleryPair, Place, RunFiles, write_rows
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.top_k import select_top_k
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.evaluation.image_files import ImageFile
from tests.pools import hashed_uids, jpeg, rows, write_pool


@pytest.mark.parametrize(
    ("size", "small"), [((400, 200), (192, 96)), ((20, 30), (20, 30)), ((5000, 100), (192, 4))]
)
def test_a_thumbnail_is_small_and_has_no_metadata(size: tuple[int, int], small: tuple[int, int]) -> None:
    exif, buffer = Image.Exif(), io.BytesIO()
    exif[0x010E] = "a secret"
    with_secrets = {"exif": exif, "comment": b"a secret", "icc_profile": b"a secret"}
    Image.new("RGB", size, "red").save(buffer, "JPEG", **with_secrets)
    assert b"a secret" in buffer.getvalue()
    image = decode_image(buffer.getvalue())
    jpeg = thumbnail(image)
    with Image.open(io.BytesIO(jpeg)) as read:
        assert (read.format, read.size) == ("JPEG", small)
    assert b"a secret" not in jpeg
    assert image.size == size


def test_texts_are_short_and_on_one_line() -> None:
    assert short_text("a\tcat\r\n\x1b[31m \u202eon\u2028mars ") == "a cat [31m on mars"
    assert len(short_text("word " * 1000)) == CAPTION_CHARACTERS


def test_every_run_shows_the_same_images(tmp_path: Path) -> None:
    items = []
    for number in range(15):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(number))
        file = ImageFile(tmp_path / f"{number}.jpg")
        items.append(Item(number, file, [f"thing\n{number}", "x" * 1000]))
    shown = examples([EvaluationSet("coco", items, captioning=True, retrieval=False)])
    assert len(shown) == IMAGES
    assert examples([EvaluationSet("coco", items[::-1], captioning=True, retrieval=False)]) == shown
    assert sorted(example.image for example in shown) != [str(number) for number in range(IMAGES)]
    first = shown[0]
    assert first.references == (f"thing {first.image}", "x" * 300)
    assert first.thumbnail.startswith(b"\xff\xd8")
    write_rows(tmp_path, Example, shown)
    assert RunFiles(tmp_path).examples() == shown
    (tmp_path / f"{shown[0].image}.jpg").write_bytes(b"no image")
    with pytest.raises(UserError, match=f"evaluation image {shown[0].image} in"):
        examples([EvaluationSet("coco", items, captioning=True, retrieval=False)])


UIDS = np.sort(hashed_uids(1000))


def ranked_rows(uids: UidArray, scores: np.ndarray, kept: np.ndarray, seed: int) -> dict[Place, list[int]]:
    """The rows of every place."""
    places = ranked_pairs(ScoreTable(uids, scores), ScoreTable(uids[kept], scores[kept]), seed)
    return {place: find_uids(uids, found.uids).tolist() for place, found in places.items()}


@pytest.mark.parametrize("values", [1000, 3])
def test_places_are_those_of_the_selections_ranking(values: int) -> None:
    uids, scores = UIDS[:100], np.random.default_rng(0).integers(values, size=100).astype(np.float32)
    scores[::7] = np.nan
    order: list[int] = []  # the best first, as selections of growing size choose them
    for k in range(1, int((~np.isnan(scores)).sum()) + 1):
        chosen = find_uids(uids, select_top_k(ScoreTable(uids, scores), k, seed=3).uids)
        order += sorted({*chosen.tolist()}.difference(order))
    kept = np.isin(np.arange(100), order[:40])
    assert ranked_rows(uids, scores, kept, 3) == {
        "top": order[:PAIRS], "kept": order[40 - PAIRS : 40], "dropped": order[40 : 40 + PAIRS],
        "bottom": order[-PAIRS:],
    }  # fmt: skip


def test_other_selectors_show_their_lowest_kept_and_best_dropped() -> None:
    scores = np.arange(1000.0)
    places = ranked_rows(UIDS, scores, np.arange(1000) % 100 == 0, 0)
    assert places["top"] == places["dropped"] == [999, 998, 997, 996, 995, 994]
    assert places["kept"] == [500, 400, 300, 200, 100, 0]
    scores = np.array([np.nan, np.inf, -np.inf])  # a tiny pool fills the places that it can
    places = ranked_rows(UIDS[:3], scores, np.array([False, True, True]), 0)
    assert places == {"top": [1, 2], "kept": [1, 2], "dropped": [], "bottom": [1, 2]}


def test_pairs_above_a_maximum_are_not_next_to_the_threshold() -> None:
    scores = np.arange(1000.0)
    kept = ScoreTable(UIDS[490:501], scores[490:501])
    dropped = ranked_pairs(ScoreTable(UIDS, scores), kept, 0, Bounds(maximum=500))["dropped"]
    assert dropped.scores.tolist() == [489, 488, 487, 486, 485, 484]


def test_a_filter_that_decides_shows_passing_and_failing_pairs() -> None:
    scores = np.where(np.arange(1000) % 5, np.arange(1000.0), np.nan)
    bounds = Bounds(minimum=300, maximum=600, rank=False)
    rows = np.flatnonzero(bounds.passes(scores))[::2]
    kept = ScoreTable(UIDS[rows], scores[rows])
    places = ranked_pairs(ScoreTable(UIDS, scores), kept, 0, bounds)
    assert {place: len(pairs) for place, pairs in places.items()} == {"passing": PAIRS, "failing": PAIRS}
    assert set(places["passing"].scores) < set(scores[rows])
    failing = places["failing"].scores
    assert ((failing < 300) | (failing > 600)).all()
    assert failing.tolist() == scores[find_uids(UIDS, places["failing"].uids)].tolist()
    other = ranked_pairs(ScoreTable(UIDS, scores), kept, 1, bounds)["passing"]
    assert other.uids.tolist() != places["passing"].uids.tolist()


def test_pairs_have_captions_and_thumbnails(tmp_path: Path) -> None:
    samples = rows(20)
    samples[4].image = b"no image"
    samples[5].text = "two\nlines" + "\u202e\x00 end"
    samples[6].image = jpeg(6, size=400)
    pool = Pool("p", str(write_pool(tmp_path / "pool", [samples[:10], samples[10:]])))
    uids = encode_uids([sample.uid for sample in samples])
    order = np.argsort(uids)
    scores = np.arange(20.0)[order]
    uids = uids[order]
    kept = ScoreTable(uids[scores >= 10], scores[scores >= 10])
    pairs = gallery(ScoreTable(uids, scores), kept, 0, pool)
    assert [pair.score for pair in pairs if pair.place == "dropped"] == [9, 8, 7, 6, 5, 4]
    by_uid = {pair.uid: pair for pair in pairs}
    assert by_uid[samples[4].uid].thumbnail == b""
    assert by_uid[samples[5].uid].caption == "two lines end"
    assert by_uid[samples[6].uid].thumbnail.startswith(b"\xff\xd8")
    assert len(pairs) == 4 * PAIRS
    write_rows(tmp_path / "run", GalleryPair, pairs)
    assert RunFiles(tmp_path / "run").gallery() == pairs
