"""Scores after text is painted over: T-MARS, RSA, the lines of RSC, and their controls."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import PoolBatches, ShardReader
from filters.clip import Clip, ClipFeatures
from filters.text_removal import (
    FILLS,
    MAX_SIDE,
    RandomAreaRemovedClip,
    TextRemovedClip,
    relative_score,
    remove_areas,
)
from tests.filters.ocr.spotters import PlantedText
from tests.pools import numbered_uids, rows, write_pool

CPU = torch.device("cpu")
LINES = [([2, 2, 20, 2, 20, 9, 2, 9], "THING number"), ([2, 20, 30, 20, 30, 29, 2, 29], "SALE 50%")]
PLANTED = {0: LINES, 2: LINES[1:], 3: LINES[:1]}  # by number of the sample; the others hold no text
POLYGONS = {number: [polygon for polygon, _ in lines] for number, lines in PLANTED.items()}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return Pool("p", str(write_pool(tmp_path_factory.mktemp("pool"), [rows(4), rows(2, start=4)])))


@pytest.fixture(autouse=True)
def _one_cache(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", f"{pool.url}/cache")


def samples(pool: Pool) -> Iterator[tuple[int, str, Image.Image]]:
    needs = frozenset({"image", "text"})
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 99, Counter()):
            for text, image in zip(batch.texts, batch.images, strict=True):
                yield int(text.split()[-1]), text, image


@pytest.fixture
def spotter(pool: Pool) -> PlantedText:
    return PlantedText({PlantedText.name(image): PLANTED.get(n, []) for n, _, image in samples(pool)})


def scores(pool: Pool, scorer) -> dict[int, float]:
    table = score_pool(pool, scorer, LocalEngine("cpu", 1))
    numbers = {row.uid: number for number, row in enumerate(rows(6))}
    return {numbers[u]: s for u, s in zip(decode_uids(table.uids), table.scores.tolist(), strict=True)}


@cache
def loaded(clip: str) -> ClipModel:
    return load_clip(clip, None, CPU)


def by_hand(pool: Pool, clip: str, areas: dict[int, list[list[int]]], fill: str) -> dict[int, float]:
    """The same, from nothing but the model and the pictures."""
    numbers, texts, images = zip(*samples(pool), strict=True)
    painted = [remove_areas(image, areas.get(n, []), fill) for n, image in zip(numbers, images, strict=True)]
    similarity = (loaded(clip).embed_images(painted) * loaded(clip).embed_texts(texts)).sum(axis=1)
    return dict(zip(numbers, similarity.tolist(), strict=True))


def test_tmars_scores_the_image_without_its_text(pool: Pool, clip: str, spotter: PlantedText) -> None:
    plain, masked = scores(pool, Clip(clip)), scores(pool, TextRemovedClip(clip, None, spotter))
    expected = by_hand(pool, clip, POLYGONS, "surround")
    assert masked == pytest.approx(expected, abs=2e-3)  # features are float16
    assert {n for n in plain if masked[n] != plain[n]} == set(PLANTED)


def test_rsa_and_rsc_are_what_the_score_loses(pool: Pool, clip: str, spotter: PlantedText) -> None:
    plain = by_hand(pool, clip, {}, "inpaint")
    # "a photo of thing number 3" shares "number" with the first line, and nothing with the second.
    shared = {number: [LINES[0][0]] for number in (0, 3)}
    for area, areas in (("all", POLYGONS), ("co", shared)):
        removed = by_hand(pool, clip, areas, "inpaint")
        expected = {number: removed[number] - plain[number] for number in plain}
        found = scores(pool, relative_score(clip, None, spotter, area, control=False))
        assert found == pytest.approx(expected, abs=3e-3)
        assert {number for number, value in found.items() if value == 0} == set(plain) - set(areas)


def test_the_control_paints_over_areas_of_another_image(pool: Pool, clip: str, spotter: PlantedText) -> None:
    plain = scores(pool, Clip(clip))
    scorer = RandomAreaRemovedClip(clip, None, spotter, fill="inpaint")
    control = scores(pool, scorer)
    painted = {
        donor: by_hand(pool, clip, dict.fromkeys(plain, areas), "inpaint")
        for donor, areas in POLYGONS.items()
    }
    for number, score in control.items():
        donors = [donor for donor in painted if donor != number] if number in PLANTED else []
        expected = [painted[donor][number] for donor in donors] or [plain[number]]
        assert min(abs(score - value) for value in expected) < 3e-3
    assert {number for number in plain if control[number] != plain[number]} == set(PLANTED)
    scorer.setup(CPU)
    scorer.fit(PoolBatches(pool, scorer))
    (batch,) = ShardReader(pool, "cpu").batches(pool.shards(scorer.sources)[0], scorer, Counter())
    assert scorer.score(batch.take([3, 0]))[::-1] == pytest.approx(scorer.score(batch)[[0, 3]], abs=1e-6)


def test_the_control_scales_areas_to_images_of_another_shape(clip: str) -> None:
    rng = np.random.default_rng(0)
    shapes = ((20, 40, 3), (120, 60, 3))
    wide, tall = (Image.fromarray(rng.integers(0, 256, shape, np.uint8)) for shape in shapes)
    vector = rng.normal(size=(1, 16)).astype(np.float32)

    def one(number: int, image: Image.Image, polygon: list[int]) -> Batch:
        polygons = np.empty(1, object)
        polygons[0] = [polygon]
        features = {"image": np.zeros((1, 16), np.float32), "text": vector, "polygons": polygons}
        return Batch(numbered_uids(1, number), [""], [image], features=features)

    scorer = RandomAreaRemovedClip(clip, None, PlantedText({}), fill="inpaint")
    scorer.setup(CPU)
    scorer.fit([one(1, wide, [4, 5, 20, 5, 20, 15, 4, 15])])
    # From a tenth to half of the width, and from a quarter to three quarters of the height.
    painted = remove_areas(tall, [[6, 30, 30, 30, 30, 90, 6, 90]], "inpaint")
    expected = loaded(clip).embed_images([painted])[0] @ vector[0]
    assert scorer.score(one(2, tall, [0, 0, 9, 0, 9, 9, 0, 9])) == pytest.approx([expected], abs=1e-5)


def test_one_ocr_and_one_clip_serve_all(
    pool: Pool, clip: str, spotter: PlantedText, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for scorer in (
        TextRemovedClip(clip, None, spotter),
        relative_score(clip, None, spotter, "all", control=False),
    ):
        scores(pool, scorer)
    scores(pool, relative_score(clip, None, spotter, "co", control=False))
    assert (spotter.detected, spotter.read_lines) == (6, 4)
    assert TextRemovedClip(clip, None, PlantedText({})).features[0].key() == ClipFeatures(clip).key()


BOX = [10, 12, 29, 12, 29, 21, 10, 21]  # corners, which are painted too
INSIDE = np.s_[12:22, 10:30]
RED = (200, 30, 60)


def picture(background: tuple[int, int, int], size: tuple[int, int] = (60, 40)) -> np.ndarray:
    return np.full((size[1], size[0], 3), background, np.uint8)


def paint(pixels: np.ndarray, areas: list[list[int]], fill: str) -> np.ndarray:
    return np.array(remove_areas(Image.fromarray(pixels), areas, fill)).astype(int)


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    "areas", [[BOX], [[10, 12, 24, 12, 24, 21, 10, 21], [16, 12, 29, 12, 29, 21, 16, 21]]]
)
def test_text_takes_the_colour_around_it(fill: str, areas: list[list[int]]) -> None:
    pixels = picture(RED)
    pixels[INSIDE] = 0
    assert np.abs(paint(pixels, areas, fill) - RED).max() <= 4  # inpainting rounds


def test_surround_is_the_mean_of_the_ring() -> None:
    pixels = picture((0, 0, 0))
    pixels[:, 20:] = 100  # the area lies across the middle, with as many pixels of each colour around it
    painted = paint(pixels, [BOX], "surround")
    assert (painted[INSIDE] == 50).all()
    assert (painted[:12] == pixels[:12]).all()


def test_inpainting_continues_the_surroundings() -> None:
    pixels = picture((0, 0, 0))
    pixels[:] = np.arange(60, dtype=np.uint8)[None, :, None] * 4
    broken = pixels.copy()
    broken[INSIDE] = 255
    painted = paint(broken, [BOX], "inpaint")
    assert np.abs(painted[INSIDE] - pixels[INSIDE]).mean() < 8
    assert (painted[:12] == pixels[:12]).all()


def test_other_text_does_not_colour_an_area() -> None:
    pixels = picture((200, 200, 200))
    pixels[INSIDE] = 0
    pixels[23:30, 10:30] = 0  # a second line right under the first
    assert (paint(pixels, [BOX, [10, 23, 29, 23, 29, 29, 10, 29]], "surround") == 200).all()
    pixels = picture(RED)
    pixels[5:35, 5:55] = 0  # an area within other text takes the mean of all other pixels
    areas = [[5, 5, 54, 5, 54, 34, 5, 34], [25, 18, 30, 18, 30, 22, 25, 22]]
    assert (paint(pixels, areas, "surround") == RED).all()


@pytest.mark.parametrize("fill", FILLS)
def test_unusual_areas_and_sizes(fill: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    for polygon in (
        [-50, -50, 200, -50, 200, 200, -50, 200], [100, 100, 120, 100, 120, 110, 100, 110],
        [5, 5, 5, 5, 5, 5], [5, 5, 50, 5],
    ):  # everything, outside, a point, a line  # fmt: skip
        assert paint(pixels, [polygon], fill).shape == (40, 60, 3)
    for size in ((1, 1), (1, 300), (3000, 2)):
        assert max(paint(picture(RED, size), [[0, 0, 1, 0, 1, 1, 0, 1]], fill).shape) <= MAX_SIDE
    pixels = picture((0, 40, 80))
    pixels[:10] = (200, 40, 0)  # a quarter of the image; text all over it becomes its mean colour
    assert (paint(pixels, [[0, 0, 59, 0, 59, 39, 0, 39]], fill) == (50, 40, 60)).all()


def test_large_pictures_are_shrunk_with_their_areas() -> None:
    pixels = picture(RED, (1200, 800))
    pixels[240:440, 200:600] = 0
    painted = paint(pixels, [[190, 230, 610, 230, 610, 450, 190, 450]], "surround")
    assert painted.shape == (341, 512, 3)
    assert np.abs(painted - RED).max() <= 1
