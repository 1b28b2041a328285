from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.results.gallery import IMAGES, examples
from benchmark.results.pictures import read_examples, write_examples
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.evaluation.image_files import ImageFile
from tests.pools import jpeg


def evaluation_set(folder: Path, ids: range) -> EvaluationSet:
    items = []
    folder.mkdir(exist_ok=True)
    for number in ids:
        (folder / f"{number}.jpg").write_bytes(jpeg(number))
        items.append(Item(number, ImageFile(folder / f"{number}.jpg"), [f"thing\n{number}", "x" * 1000]))
    return EvaluationSet("coco", items, captioning=True, retrieval=False)


def test_every_run_shows_the_same_images(tmp_path: Path) -> None:
    shown = examples([evaluation_set(tmp_path, range(30))])
    assert len(shown) == IMAGES
    assert examples([evaluation_set(tmp_path / "elsewhere", range(29, -1, -1))]) == shown
    assert sorted(example.image for example in shown) != [str(number) for number in range(IMAGES)]
    first = shown[0]
    assert first.references == (f"thing {first.image}", "x" * 300)
    assert first.thumbnail.startswith(b"\xff\xd8")
    write_examples(tmp_path, shown)
    assert read_examples(tmp_path) == shown


def test_an_unreadable_image_is_one_line(tmp_path: Path) -> None:
    broken = evaluation_set(tmp_path, range(3))
    (tmp_path / "1.jpg").write_bytes(b"no image")
    with pytest.raises(UserError, match="evaluation image 1 in"):
        examples([broken])
