import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.pool.pool import Pool
from pairsift.studies.icc.building import captions as module
from pairsift.studies.icc.building.captions import (
    CaptionSets,
    annotated_captions,
    captions_from_file,
    write_split,
)

TEXT = frozenset({"text"})


def read(folder) -> list[Batch]:
    pool = Pool("p", str(folder))
    return [batch for shard in pool.shards(TEXT) for batch in pool.batches(shard, TEXT, 100, {})]


def test_sets_are_disjoint_and_independent_of_the_order(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_SIZE", 7)
    captions = [f"caption {i}" for i in range(50)]
    facts = write_split(CaptionSets([*captions, "caption 3"], None, 2), 30, 15, tmp_path / "a")
    write_split(CaptionSets(captions[::-1]), 30, 15, tmp_path / "b")
    assert facts == {"rows": 53, "unusable": 2, "distinct": 50, "training": 30, "scoring": 15}
    sets = {}
    for name in ("training", "scoring"):
        batches = read(tmp_path / "a" / name)
        assert max(len(b) for b in batches) == 7
        sets[name] = [t for b in batches for t in b.texts]
        assert sets[name] == [t for b in read(tmp_path / "b" / name) for t in b.texts]
    assert [len(s) for s in sets.values()] == [30, 15]
    assert not set(sets["training"]) & set(sets["scoring"])


def test_too_few_captions_raise_a_user_error(tmp_path):
    with pytest.raises(
        UserError, match=r"icc\.scoring_captions=1 must be at most 0, the distinct captions left"
    ):
        write_split(CaptionSets(["a", "b", "a"]), 2, 1, tmp_path)
    with pytest.raises(UserError, match=r"icc\.scoring_captions=3 must be at most 2"):
        write_split(CaptionSets(["a", "b", "a"]), None, 3, tmp_path)


def test_one_file_is_split_four_to_one_and_of_two_the_second_is_scored(tmp_path):
    facts = write_split(CaptionSets([f"caption {i}" for i in range(50)]), None, None, tmp_path / "one")
    assert (facts["training"], facts["scoring"]) == (40, 10)
    for name, captions in (("a", "one two three"), ("b", "three four")):
        (tmp_path / f"{name}.csv").write_text("\n".join(["caption", *captions.split()]) + "\n")
    both = captions_from_file([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    facts = write_split(both, None, None, tmp_path / "two")
    assert facts == {"rows": 5, "unusable": 0, "distinct": 4, "training": 2, "scoring": 2}
    for name, expected in (("training", ["one", "two"]), ("scoring", ["four", "three"])):
        assert sorted(text for batch in read(tmp_path / "two" / name) for text in batch.texts) == expected


def test_the_hash_of_captions_is_that_of_their_content():
    captions = CaptionSets(["a", "b"])
    assert captions.sha256() == CaptionSets(["b", "a", "a"]).sha256()
    others = [CaptionSets(["a", "c"]), CaptionSets(["a"], ["b"]), CaptionSets(["a", "b"], ["b"])]
    assert len({c.sha256() for c in (captions, *others)}) == 4


def test_unusable_captions_are_left_out(tmp_path):
    path = tmp_path / "captions.parquet"
    pq.write_table(pa.table({"caption": ["a dog, a cat", "", "   ", 'say "hi"', None]}), path)
    captions = captions_from_file(str(path))
    assert (captions.texts, captions.unusable) == (["a dog, a cat", 'say "hi"'], 3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "text\na\n", "must have a column 'caption'; it has text"),
        ("a.csv", "caption\n\n", "holds no caption"),
        ("a.json", "[]", "convert it"),
    ],
)
def test_unreadable_files_raise_user_errors(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        captions_from_file(str(tmp_path / name))


HEADER = ["caption", "concreteness_annotation"]


def write_annotations(path: Path, rows: list[list[str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return str(path)


def test_other_captions_are_read(tmp_path: Path) -> None:
    rated = annotated_captions(write_annotations(tmp_path / "a.csv", [["a dog", "3"], ["hope", "0"]]))
    assert (rated.texts, rated.ratings.tolist()) == (["a dog", "hope"], [3, 0])
    with pytest.raises(UserError, match=r"icc\.annotations\.path=.* does not exist"):
        annotated_captions(str(tmp_path / "none.csv"))


def test_captions_of_the_benchmark_are_refused_unless_told(tmp_path: Path, shared_data: Path) -> None:
    benchmark = shared_data / "icc_annotations" / "caption_concreteness_annotations.csv"
    with benchmark.open(encoding="utf-8-sig", newline="") as file:
        rows = [[row[name] for name in HEADER] for row in csv.DictReader(file)]
    path = write_annotations(tmp_path / "half.csv", rows[::2])
    with pytest.raises(UserError, match="holds captions of the concreteness benchmark"):
        annotated_captions(path)
    assert len(annotated_captions(path, allow_benchmark=True).texts) == 250
