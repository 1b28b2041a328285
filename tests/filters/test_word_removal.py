"""RSC paints over the words that a caption repeats, not over the lines of OCR that hold them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from benchmark.core.batch import Batch
from benchmark.core.requirements import State
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.models.clip_models import load_clip
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.ocr.features import TextSpotter
from filters.ocr.rapid import RapidSpotter
from filters.text_removal import TextRemovedClip, remove_areas
from filters.word_removal import CoEmbeddedAreas, rsc
from tests.extras import needs_extra
from tests.filters.ocr.spotters import PlantedText
from tests.pools import numbered_uids, rows, write_pool

CPU = torch.device("cpu")
WORDS = "KEEP calm MUGS"
FONT = ImageFont.load_default(32)
LINE = [2, 2, 31, 2, 31, 9, 2, 9]
LEFT, RIGHT = [2, 2, 15, 2, 15, 9, 2, 9], [16, 2, 31, 2, 31, 9, 16, 9]


class PlantedWords(PlantedText):
    """Knows the places of two words, each half of its line."""

    def split_line(self, image: Image.Image, polygon: list[int]) -> list[tuple[str, list[int]]]:
        return [("number", LEFT), ("SALE", RIGHT)]


def ragged(value: object) -> np.ndarray:
    array = np.empty(1, object)
    array[0] = value
    return array


def co_areas(spotter: TextSpotter, image: Image.Image, caption: str) -> list[list[int]]:
    """The areas of one image, detected and read by the engine."""
    features = CoEmbeddedAreas(spotter)
    batch = Batch(numbered_uids(1), [caption], [image])
    outputs = {}
    for part in features.features:
        outputs |= {name: ragged(values[0]) for name, values in part.extract(batch).items()}
        batch = Batch(batch.uids, [caption], [image], features=outputs)
    return features.extract(batch)["co_areas"][0]


@pytest.fixture(scope="module")
def rapid() -> RapidSpotter:
    spotter = RapidSpotter()
    spotter.setup(CPU)
    return spotter


@pytest.fixture(scope="module")
def drawn() -> Image.Image:
    image = Image.new("RGB", (320, 96), "white")
    ImageDraw.Draw(image).text((20, 30), WORDS, fill="black", font=FONT)
    return image


def left_of(word: str) -> int:
    """The column in the middle of the gap before a word of the drawn image; the border for the first."""
    text = WORDS[: WORDS.index(word)]
    return round(20 + FONT.getlength(text) - FONT.getlength(" ") / 2) if text else 0


BOUNDS = {
    "KEEP": (0, left_of("calm")),
    "calm": (left_of("calm"), left_of("MUGS")),
    "MUGS": (left_of("MUGS"), 320),
}
LETTER = 12  # a cut may miss the middle of a gap by so many pixels


def ink(image: Image.Image, word: str) -> float:
    """How dark the middle of a word is, from 0 to 255."""
    start, end = BOUNDS[word]
    return 255 - float(np.asarray(image)[:, start + LETTER : end - LETTER].min())


@needs_extra("ocr")
@pytest.mark.parametrize(("word", "turned"), [("KEEP", False), ("calm", True), ("MUGS", False)])
def test_only_the_word_of_the_caption_is_painted(rapid, drawn, word: str, turned: bool) -> None:
    image = drawn.rotate(-90, expand=True) if turned else drawn  # read from top to bottom
    areas = co_areas(rapid, image, f"a photo of {word}")
    painted = remove_areas(image, areas, "inpaint")
    upright = painted.rotate(90, expand=True) if turned else painted
    assert len(areas) == 1
    assert {other for other in BOUNDS if ink(upright, other) < 60} == {word}


@needs_extra("ocr")
def test_words_are_cut_within_half_a_letter_of_gaps(rapid, drawn) -> None:
    ((line,),) = rapid.detect([drawn])
    words = rapid.split_line(drawn, line)
    assert [word for word, _ in words] == WORDS.split()
    for (_, before), (word, after) in pairwise(words):
        assert before[2] == after[0] == pytest.approx(left_of(word), abs=LETTER)
    assert (words[0][1][:2], words[-1][1][2:6]) == (line[:2], line[2:6])
    for empty in ([5, 5, 5, 5, 5, 5, 5, 5], [0, 0, 300, 0, 300, 12, 0, 12]):
        assert rapid.split_line(drawn, empty) == []
    assert {len(character) for character in rapid._decode.__self__.character[1:]} == {1}


def planted(spotter: type[PlantedText], *texts: str) -> tuple[PlantedText, Image.Image]:
    image = Image.new("RGB", (40, 40))
    return spotter({PlantedText.name(image): [(LINE, text) for text in texts]}), image


@pytest.mark.parametrize(
    ("text", "caption", "areas"),
    [
        ("number SALE", "number 3", [LEFT]),
        ("number SALE", "SALE SALE", [RIGHT]),
        ("number SALE", "a SALE by number", [LINE]),
        ("number SALE", "numbers", []),
        ("SALES number two", "two SALES", [LINE]),  # neither is among the words that it is split into
    ],
)
def test_shared_words_are_painted(text: str, caption: str, areas: list[list[int]]) -> None:
    assert co_areas(*planted(PlantedWords, text), caption) == areas


def test_without_places_of_characters_lines_are_painted() -> None:
    spotter, image = planted(PlantedText, "number SALE", "other text")
    assert co_areas(spotter, image, "number 3") == [LINE]
    says = "PlantedText gives none: whole lines with a word of the caption are painted"
    for made, expected in ((spotter, [(State.WITHOUT, says)]), (PlantedWords({}), [])):
        areas = rsc("unused", None, made, "words", control=False).filters["removed"].features[1]
        needs = areas.requirements()
        assert [(need.state, need.detail) for need in needs if need.name == "places of words"] == expected
    whole = rsc("unused", None, PlantedWords({}), "co", control=False).filters["removed"]
    assert (type(whole), whole.area, whole.fill) == (TextRemovedClip, "co", "inpaint")


def test_rsc_and_its_control_lose_words(tmp_path, clip: str) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(4)])))
    text = {0: "number SALE", 1: "SALE", 2: "number SALE"}  # captions are "a photo of thing number 3"
    needs, model, found = frozenset({"image", "text"}), load_clip(clip, None, CPU), {}
    expected = dict.fromkeys([row.uid for row in rows(4)], 0.0)
    for batch in pool.batches(pool.shards(needs)[0], needs, 1, Counter()):
        (image,), number = batch.images, int(batch.texts[0].split()[-1])
        found[PlantedText.name(image)] = [(LINE, text[number])] if number in text else []
        if number in (0, 2):
            before, after = model.embed_images([image, remove_areas(image, [LEFT], "inpaint")])
            expected[rows(4)[number].uid] = float((after - before) @ model.embed_texts(batch.texts)[0])
    for control in (False, True):  # each of the two has the other's areas
        scorer = rsc(clip, None, PlantedWords(found), "words", control)
        table = score_pool(pool, scorer, LocalEngine("cpu", 1))
        lost = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
        assert lost == pytest.approx(expected, abs=1e-3)  # features are float16
