import numpy as np
import pytest

from benchmark.core.batch import Batch
from filters.cotr import Cotr, co_embedded_rate, co_embedded_words, fuzzy_rate
from filters.no_text import NoText
from tests.filters.ocr.spotters import PlantedText
from tests.pools import numbered_uids

# From Table 14 of Lin et al. 2023: caption, the words found in its image, and their rate worked out by hand.
TABLE_14 = [
    (
        "BEST DOCUMENTARY - Christian Film Festival - 2017 (1).png",
        "BEST DOCUMENTARY Christian Film Festival 2017",
        6 / 8,
    ),
    ("how-to-make-bubbles-that-bounce", "how to make bubbles that bounce", 0),  # one word, as white space parts them
    (
        "dental marketing and practice management ideas for January - winter dental marketing ideas betty hayden"
        " consulting",
        "dental practice management ideas for January betty hayden consulting",
        9 / 13,
    ),
    ("Bon Jovi Poster from Arco Arena on 15 Mar 93: 11 x 17", "Bon Jovi Arco Arena 15", 5 / 13),
    ("Enriching our Vision of Reality de Alister Mcgrath", "Alister Mcgrath Enriching our Vision of Reality", 7 / 8),
    ("March Favorites 2014 — FreshExpectations", "March Favorites 2014", 3 / 5),
    ("Poster: KEEP CALM AND LOVE WILL SINGE", "KEEP CALM AND LOVE WILL SINGE", 6 / 7),
    (
        "11/16/2012 never forget - 11/16/2012 never forget Twinkie RIP",
        "11/16/2012 never forget Twinkie",
        4 / 6,
    ),
    ("SYSTEM OF A DOWN : TOXICITY [ECO STYLE] (CD)", "SYSTEM OF A DOWN TOXICITY", 5 / 9),
]  # fmt: skip


@pytest.mark.parametrize(("caption", "read", "rate"), TABLE_14)
def test_table_14(caption: str, read: str, rate: float) -> None:
    assert co_embedded_rate(caption, [read]) == pytest.approx(rate)
    assert co_embedded_rate(caption, read.split()) == pytest.approx(rate)  # however the engine parts it
    assert fuzzy_rate(caption, [read]) >= rate - 1e-12


def test_algorithm_1_compares_words_as_written() -> None:
    assert co_embedded_words("Keep calm, and carry on", ["KEEP calm", "and carry"]) == {"and", "carry"}
    assert co_embedded_rate("on on on off", ["on"]) == 0.5  # sets: repetition does not count
    assert co_embedded_rate("a dog", []) == 0
    assert np.isnan(co_embedded_rate("  ", ["a"]))


def test_the_fuzzy_rate_by_hand() -> None:
    # "calm," to "calm": 4/5; "Keep" to "KEEP": 1/4.
    assert fuzzy_rate("Keep calm,", ["KEEP calm"]) == pytest.approx((1 / 4 + 4 / 5) / 2)
    # A letter misread: 8 of 9 letters of "TRAVELING" and "TRAVELIN6"; no exact word.
    assert co_embedded_rate("TRAVELING light", ["TRAVELIN6 light"]) == 0.5
    assert fuzzy_rate("TRAVELING light", ["TRAVELIN6 light"]) == pytest.approx((8 / 9 + 1) / 2)
    assert fuzzy_rate("a dog", []) == 0
    assert np.isnan(fuzzy_rate("", ["a"]))


def test_captions_with_low_rates_score_high_and_unsure_lines_do_not_count() -> None:
    lines = {"KEEP CALM": (["KEEP CALM"], [0.9]), "a dog on a beach": ([], []), "": (["KEEP"], [0.9])}
    lines["a dog"] = ["a", "dog", " "], [0.79, 0.8, 1.0]  # an empty line is not text
    words, confidences = np.empty(4, object), np.empty(4, object)
    words[:], confidences[:] = zip(*lines.values(), strict=True)
    batch = Batch(numbered_uids(4), [*lines], features={"words": words, "confidences": confidences})
    assert Cotr(PlantedText({})).score(batch) == pytest.approx([-1, 0, np.nan, -0.5], nan_ok=True)
    assert NoText(PlantedText({})).score(batch) == pytest.approx([-0.9, 0, -0.9, -0.8])
