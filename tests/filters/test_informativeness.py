"""Informativeness: equation 2 by hand and by a plain count."""

import math
import pickle
import tracemalloc
import zlib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, sort_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import save_survivors
from benchmark.scoring.score_pool import score_among
from filters import informativeness
from filters.base import Features
from filters.informativeness import Informativeness
from filters.text.ngrams import Ngrams, ngrams
from filters.text.parsing import load_pipeline
from tests.corpora import fit
from tests.demos import demo_model
from tests.extras import needs_extra
from tests.filters.text.parses import vocabulary
from tests.pools import Row, numbered_uids, rows, write_pool

if TYPE_CHECKING:
    from spacy.tokens import Doc

pytestmark = needs_extra("parsing")
CPU = torch.device("cpu")


def batch(unigrams: list[list[str]], bigrams: list[list[str]]) -> Batch:
    features = {"unigrams": np.empty(len(unigrams), object), "bigrams": np.empty(len(bigrams), object)}
    features["unigrams"][:] = unigrams
    features["bigrams"][:] = bigrams
    return Batch(numbered_uids(len(unigrams)), [], features=features)


def tagged(*words: str) -> "Doc":
    from spacy.tokens import Doc

    pairs = [word.rsplit("/", 1) for word in words]
    return Doc(vocabulary(), words=[word for word, _ in pairs], pos=[speech for _, speech in pairs])


def test_equation_2_by_hand() -> None:
    made = Informativeness(demo_model("parser"))
    # Unigrams: dog 3, ball 1 of 4. Bigrams: red ball 1, dog ball 1, big dog 2 of 4.
    pool = batch(
        [["dog"], ["dog", "ball"], ["dog"], []], [["big dog"], ["red ball", "dog ball"], ["big dog"], []]
    )
    fit(made, [pool])
    expected = [
        -(math.log(3 / 4) + math.log(2 / 4)) / 2,
        -(math.log(3 / 4) + math.log(1 / 4) + math.log(1 / 4) + math.log(1 / 4)) / 2,
        -(math.log(3 / 4) + math.log(2 / 4)) / 2,
        0,
    ]
    assert made.score(pool) == pytest.approx(expected)
    assert made.score(batch([["cat"]], [[]])) == pytest.approx([math.log(4) / 2]), "as if seen once"
    fit(made, [batch([], [])])
    assert made.score(batch([["cat"], []], [[], []])) == pytest.approx([0, 0])


def test_ngrams_by_hand() -> None:
    doc = tagged(
        "The/DET", "Very/ADV", "small/ADJ", "Trees/NOUN", "in/ADP", "Paris/PROPN", ",/PUNCT", "which/PRON",
        "is/AUX", "quiet/ADJ", "stand/VERB", "tall/ADJ", "outside/ADV", "3/NUM", "houses/NOUN",
    )  # fmt: skip
    unigrams, bigrams = ngrams(doc)
    assert unigrams == ["tree", "paris", "house"]
    assert bigrams == ["small tree", "tree paris", "paris quiet"]  # "very" and "other" are stop words
    assert ngrams(tagged("Other/ADJ", "dogs/NOUN", "more/ADV", "wet/ADJ", "  /NOUN")) == (
        ["dog"],
        ["dog wet"],
    )
    assert ngrams(tagged()) == ([], [])
    assert ngrams(tagged("dogs/NOUN", "chase/VERB", "cats/NOUN"))[1] == []
    assert ngrams(tagged("two/NUM", "cats/NOUN"))[1] == []


class Planted(Features):
    """The words of a caption with an even number of letters as unigrams, all pairs of neighbours as bigrams."""

    needs = frozenset({"text"})

    def extract(self, batch: Batch) -> dict[str, list[list[str]]]:
        words = [text.split() for text in batch.texts]
        return {
            "unigrams": [[word for word in of_text if len(word) % 2 == 0] for of_text in words],
            "bigrams": [[" ".join(two) for two in pairwise(of_text)] for of_text in words],
        }


def planted() -> Informativeness:
    made = Informativeness(demo_model("parser"))
    made.features = (Planted(),)
    return made


def captions(count: int) -> list[Row]:
    """Captions of 0 to 6 words of 60 that begin with any letter; an empty one is dropped."""
    rng, samples = np.random.default_rng(0), rows(count)
    vocabulary = [f"{chr(0xE0 + n)}{'x' * (n % 3)}" for n in range(60)]
    for sample in samples:
        sample.text = " ".join(rng.choice(vocabulary, rng.integers(0, 7)))
    return samples


def naive(samples: list[Row]) -> dict[str, np.float32]:
    """The scores by uid, from a loop over all n-grams that counts them by their hash."""
    usable = [sample for sample in samples if sample.text]
    of_each = Planted().extract(Batch(numbered_uids(len(usable)), [sample.text for sample in usable]))
    sums = np.zeros((2, len(usable)))
    for kind, of_kind in enumerate(of_each.values()):
        hashes = [
            [zlib.crc32(name.encode()) % informativeness.COUNTERS for name in names] for names in of_kind
        ]
        counts = Counter(name for names in hashes for name in names)
        for row, names in enumerate(hashes):
            for name in names:
                sums[kind, row] += np.log(counts.total() / np.array([counts[name]]))[0]
    scores = (sums[0] + sums[1]) / 2
    return {sample.uid: np.float32(score) for sample, score in zip(usable, scores, strict=True)}


def scores_of(folder: Path, shards: list[list[Row]], among: int | None = None) -> dict[str, np.float32]:
    """The scores by uid; only of the first uids if `among` is given."""
    pool = Pool("p", str(write_pool(folder, shards)))
    survivors = None
    if among is not None:
        uids = encode_uids([sample.uid for shard in shards for sample in shard][:among])
        survivors = save_survivors(pool, uids[sort_uids(uids)])
    table = score_among(pool, planted(), LocalEngine("cpu", 1), survivors)
    return dict(zip(decode_uids(table.uids), table.scores, strict=True))


@pytest.mark.parametrize("counters", [2**16, 16])
def test_scores_equal_a_plain_loop_over_all_ngrams(
    counters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informativeness, "COUNTERS", counters)  # with 16, n-grams share some
    samples = captions(60)
    expected = naive(samples)
    assert len(expected) < 60
    assert expected[next(sample.uid for sample in samples if len(sample.text) == 1)] == 0
    for number, shards in enumerate([[samples], [samples[20:], samples[:1], samples[1:20]]]):
        assert scores_of(tmp_path / str(number), shards) == expected
    for among in (25, 0) if counters > 16 else ():  # in a cascade only survivors count
        shards = [samples[:20], samples[20:40], samples[40:]]
        assert scores_of(tmp_path / f"among {among}", shards, among=among) == naive(samples[:among])


@pytest.mark.slow
def test_only_the_tagger_runs(tmp_path: Path) -> None:
    assert load_pipeline(demo_model("parser"), parse=False).pipe_names == ["tok2vec", "morphologizer"]
    parser = load_pipeline(demo_model("parser"))
    parser.remove_pipe("parser")
    parser.to_disk(tmp_path / "tagger")
    Ngrams(str(tmp_path / "tagger")).setup(CPU)
    with pytest.raises(UserError, match=r"filter\.parser="):
        load_pipeline(str(tmp_path / "tagger"))


def test_repeated_captions_take_bounded_memory() -> None:
    words = [f"word{number}" for number in range(50)]
    peaks = []
    for count in (2, 8):
        shard = [batch([words] * 100, [words] * 100)] * count
        tracemalloc.start()
        count_ngrams = pickle.loads(pickle.dumps(informativeness._CountNgrams([shard])))  # as workers get it
        counters, counts = count_ngrams(0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(counters) == 100
        assert (counts == 100 * count).all()
    assert peaks[1] < 1.5 * peaks[0]
