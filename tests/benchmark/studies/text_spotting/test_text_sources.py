from collections import Counter
from pathlib import Path

from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.studies.text_spotting.vocabulary import count_ngrams, image_texts
from tests.filters.ocr.spotters import PlantedText
from tests.pools import rows, write_pool

IMAGE = frozenset({"image"})
CORNER, FOOT = [0, 0, 9, 0, 9, 9, 0, 9], [0, 20, 9, 20, 9, 29, 0, 29]


def test_lines_of_an_image_are_one_text(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path, [rows(2), rows(1, start=2)])))
    images = [
        image
        for shard in pool.shards(IMAGE)
        for b in pool.batches(shard, IMAGE, 9, Counter())
        for image in b.images
    ]
    lines = [[(CORNER, "KEEP calm"), (FOOT, "SALE")], [], [(FOOT, "calm SALE")]]
    spotter = PlantedText(dict(zip(map(PlantedText.name, images), lines, strict=True)))
    engine = LocalEngine("cpu", 1)
    assert list(image_texts(pool, spotter, engine)) == ["KEEP calm SALE", "", "calm SALE"]
    found = count_ngrams(image_texts(pool, spotter, engine), "ocr", n=2)
    assert dict(zip(found.ngrams, found.counts.tolist(), strict=True)) == {"calm SALE": 2, "KEEP calm": 1}
    assert spotter.detected == 3  # the pool is read once
