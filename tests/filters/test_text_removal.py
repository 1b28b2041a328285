from collections import Counter

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import PoolBatches, ShardReader
from filters.clip import Clip, ClipFeatures
from filters.text_removal import RandomAreaRemovedClip, TextRemovedClip, relative_score, remove_areas
from tests.filters.checkpoints import open_clip_model
from tests.filters.ocr.spotters import PlantedText
from tests.pools import numbered_uids, rows, write_pool

CPU = torch.device("cpu")
LINES = [([2, 2, 20, 2, 20, 9, 2, 9], "THING number"), ([2, 20, 30, 20, 30, 29, 2, 29], "SALE 50%")]
PLANTED = {0: LINES, 2: LINES[1:], 3: LINES[:1]}  # by number of the sample; the others hold no text


@pytest.fixture
def clip(tmp_path) -> str:
    return open_clip_model(tmp_path / "clip")


@pytest.fixture
def pool(tmp_path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(4), rows(2, start=4)])))


def planted(pool: Pool) -> PlantedText:
    found = {}
    needs = frozenset({"image"})
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 99, Counter()):
            for text, image in zip(batch.texts, batch.images, strict=True):
                found[PlantedText.name(image)] = PLANTED.get(int(text.split()[-1]), [])
    return PlantedText(found)


def scores(pool: Pool, scorer) -> dict[int, float]:
    table = score_pool(pool, scorer, LocalEngine("cpu", 1))
    numbers = {row.uid: number for number, row in enumerate(rows(6))}
    return {numbers[u]: s for u, s in zip(decode_uids(table.uids), table.scores.tolist(), strict=True)}


def by_hand(pool: Pool, clip: str, areas: dict[int, list[list[int]]], fill: str) -> dict[int, float]:
    """The same, one image at a time, from nothing but the model and the pictures."""
    from benchmark.models.clip_models import load_clip

    model, needs = load_clip(clip, None, CPU), frozenset({"image", "text"})
    found = {}
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 1, Counter()):
            number = int(batch.texts[0].split()[-1])
            image: Image.Image = batch.images[0]
            if areas.get(number):
                image = remove_areas(image, areas[number], fill)
            found[number] = float(model.embed_images([image])[0] @ model.embed_texts(batch.texts)[0])
    return found


def test_tmars_scores_the_image_without_its_text(pool: Pool, clip: str) -> None:
    plain = scores(pool, Clip(clip))
    masked = scores(pool, TextRemovedClip(clip, None, planted(pool)))
    areas = {number: [polygon for polygon, _ in lines] for number, lines in PLANTED.items()}
    assert masked == pytest.approx(by_hand(pool, clip, areas, "surround"), abs=2e-3)  # features are float16
    assert {n for n in plain if masked[n] != plain[n]} == set(PLANTED)


def test_rsa_and_rsc_are_what_the_score_loses(pool: Pool, clip: str) -> None:
    plain = by_hand(pool, clip, {}, "inpaint")
    every = {number: [polygon for polygon, _ in lines] for number, lines in PLANTED.items()}
    # "a photo of thing number 3" shares "number" with the first line, and nothing with the second.
    shared = {number: [LINES[0][0]] for number in (0, 3)}
    for area, areas in (("all", every), ("co", shared)):
        removed = by_hand(pool, clip, areas, "inpaint")
        expected = {number: removed[number] - plain[number] for number in plain}
        found = scores(pool, relative_score(clip, None, planted(pool), area, control=False))
        assert found == pytest.approx(expected, abs=3e-3)
        assert {number for number, value in found.items() if value == 0} == set(plain) - set(areas)


def test_the_control_paints_over_areas_of_another_image(pool: Pool, clip: str) -> None:
    plain = scores(pool, Clip(clip))
    control = scores(pool, RandomAreaRemovedClip(clip, None, planted(pool), fill="inpaint"))
    polygons = {number: [polygon for polygon, _ in lines] for number, lines in PLANTED.items()}
    painted = {
        donor: by_hand(pool, clip, dict.fromkeys(plain, areas), "inpaint")
        for donor, areas in polygons.items()
    }
    for number, score in control.items():
        donors = [donor for donor in painted if donor != number] if number in PLANTED else []
        expected = [painted[donor][number] for donor in donors] or [plain[number]]
        assert min(abs(score - value) for value in expected) < 3e-3
    assert {number for number in plain if control[number] != plain[number]} == set(PLANTED)


def test_the_control_scores_alike_in_any_batch(pool: Pool, clip: str) -> None:
    scorer = RandomAreaRemovedClip(clip, None, planted(pool), fill="inpaint")
    scorer.setup(CPU)
    scorer.fit(PoolBatches(pool, scorer))
    (batch,) = ShardReader(pool, "cpu").batches(pool.shards(scorer.sources)[0], scorer, Counter())
    assert scorer.score(batch.take([3, 0]))[::-1] == pytest.approx(scorer.score(batch)[[0, 3]], abs=1e-6)
    control = scores(pool, relative_score(clip, None, planted(pool), "all", control=True))
    assert {number for number, value in control.items() if value != 0} <= set(PLANTED)


def test_the_control_scales_areas_to_images_of_another_shape(clip: str) -> None:
    from benchmark.models.clip_models import load_clip

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
    expected = load_clip(clip, None, CPU).embed_images([painted])[0] @ vector[0]
    assert scorer.score(one(2, tall, [0, 0, 9, 0, 9, 9, 0, 9])) == pytest.approx([expected], abs=1e-5)


def test_one_ocr_serves_all(pool: Pool, clip: str) -> None:
    spotter = planted(pool)
    scores(pool, TextRemovedClip(clip, None, spotter))
    scores(pool, relative_score(clip, None, spotter, "all", control=False))
    scores(pool, relative_score(clip, None, spotter, "co", control=False))
    assert (spotter.detected, spotter.read_lines) == (6, 4)


def test_unknown_settings_are_the_users_mistake() -> None:
    with pytest.raises(UserError, match=r"filter.area=every is unknown.*all"):
        TextRemovedClip("unused", None, PlantedText({}), area="every")
    with pytest.raises(UserError, match="did you mean 'inpaint'"):
        TextRemovedClip("unused", None, PlantedText({}), fill="inpant")


def test_the_embeddings_are_those_of_filter_clip(clip: str) -> None:
    assert TextRemovedClip(clip, None, PlantedText({})).features[0].key() == ClipFeatures(clip).key()
