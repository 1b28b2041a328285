"""N-grams counted by hand, and what a user's file may hold."""

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from pairsift.studies.parrots.ngrams import LONGEST, count_ngrams, ngrams_of
from pairsift.studies.parrots.vocabulary import captions, image_texts, read_texts
from tests.filters.ocr.spotters import PlantedText
from tests.pools import rows, write_pool

IMAGE = frozenset({"image"})
CORNER, FOOT = [0, 0, 9, 0, 9, 9, 0, 9], [0, 20, 9, 20, 9, 29, 0, 29]
TEXTS = ["a red ball a", "red  ball\ton a\nball", "", "Ball"]


def counted(n: int, **options: int) -> dict[str, int]:
    found = count_ngrams(TEXTS, "here", n, **options)
    return dict(zip(found.ngrams, found.counts.tolist(), strict=True))


def test_ngrams_are_contiguous_words() -> None:
    assert counted(1) == {"a": 3, "ball": 3, "red": 2, "Ball": 1, "on": 1}
    assert list(counted(1)) == ["a", "ball", "red", "Ball", "on"]  # frequent first, then by character
    assert counted(2) == {"red ball": 2, "a ball": 1, "a red": 1, "ball a": 1, "ball on": 1, "on a": 1}
    assert counted(4) == {"a red ball a": 1, "ball on a ball": 1, "red ball on a": 1}
    assert counted(6) == {}
    assert list(ngrams_of("one two", 3)) == []


def test_the_most_frequent_ngrams_are_kept() -> None:
    found = count_ngrams(TEXTS, "here", 1, top=2)
    assert (found.ngrams, found.counts.tolist()) == (["a", "ball"], [3, 3])
    assert (found.distinct, found.occurrences, found.undercount) == (5, 10, 0)
    assert found.sha256 != count_ngrams(TEXTS, "here", 1, top=3).sha256
    assert found.sha256 == count_ngrams(reversed(TEXTS), "elsewhere", 1, top=2).sha256


def test_words_that_are_too_long_are_not_kept() -> None:
    found = count_ngrams(["x" * 10_000_000 + " ok", "y" * LONGEST], "here", 1)
    assert (sorted(found.ngrams), found.too_long) == (["ok", "y" * LONGEST], 1)


def test_rare_ngrams_are_forgotten_before_memory_is_full() -> None:
    def texts() -> Iterator[str]:
        for number in range(15_000):
            yield f"often {'now and then' if number % 3 == 0 else ''} word{number}"

    tracemalloc.start()
    found = count_ngrams(texts(), "here", 1, top=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    exact = Counter(word for text in texts() for word in text.split())
    assert found.ngrams[:4] == ["often", "and", "now", "then"]
    assert found.undercount > 0
    assert found.distinct <= 100
    for word, count in zip(found.ngrams, found.counts, strict=True):
        assert exact[word] - found.undercount <= count <= exact[word]
    assert peak < 500_000  # of 15,000 words: over 1 MB


def test_captions_of_a_pool_are_streamed(tmp_path: Path) -> None:
    drops: Counter[str] = Counter()
    pool = Pool("p", str(write_pool(tmp_path, [rows(3), rows(2, start=3)])))
    assert list(captions(pool, drops)) == [f"a photo of thing number {i}" for i in range(5)]
    assert not drops


def test_lines_and_the_column_of_texts_are_read(tmp_path: Path) -> None:
    for name, content in {
        "a.txt": b"\xef\xbb\xbfa, b\nc",
        "b.csv": b'uid,text\n1,"a, b"\n2,c\n',
        "c.CSV": b'x\n"a, b"\nc\n',
    }.items():
        (tmp_path / name).write_bytes(content)
        assert [text.strip() for text in read_texts(tmp_path / name)] == ["a, b", "c"]


def test_lines_of_an_image_are_one_text(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path, [rows(2), rows(1, start=2)])))
    batches = [batch for shard in pool.shards(IMAGE) for batch in pool.batches(shard, IMAGE, 9, Counter())]
    images = [image for batch in batches for image in batch.images]
    lines = [[(CORNER, "KEEP calm"), (FOOT, "SALE")], [], [(FOOT, "calm SALE")]]
    spotter = PlantedText(dict(zip(map(PlantedText.name, images), lines, strict=True)))
    engine = LocalEngine("cpu", 1)
    assert list(image_texts(pool, spotter, engine)) == ["KEEP calm SALE", "", "calm SALE"]
    found = count_ngrams(image_texts(pool, spotter, engine), "ocr", n=2)
    assert dict(zip(found.ngrams, found.counts.tolist(), strict=True)) == {"calm SALE": 2, "KEEP calm": 1}
    assert spotter.detected == 3  # the pool is read once
