from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from pairsift.studies.icc.concreteness.rated_texts import read_annotations, read_word_ratings
from pairsift.studies.icc.demo_captions import demo_captions
from tools.demo_world.concreteness import concreteness
from tools.demo_world.draws import sample_draft
from tools.demo_world.mix import pool_mix
from tools.demo_world.shipped import RATED_START

HEADER = "Word\tBigram\tConc.M\tConc.SD\tUnknown\tTotal\tPercent_known\tSUBTLEX\tDom_Pos"


def word(text: str, bigram: int, rating: str, part: str) -> str:
    return f"{text}\t{bigram}\t{rating}\t0.5\t0\t25\t1\t9\t{part}"


def test_annotated_captions_are_read_with_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'sample_id,caption,concreteness_annotation\n1,"a dog, asleep",3\n2,"two\nlines",0\n3,"so ""nice""",1\n',
        encoding="utf-8-sig",
    )
    found = read_annotations(path)
    assert found.texts == ["a dog, asleep", "two\nlines", 'so "nice"']
    assert found.ratings.tolist() == [3, 0, 1]
    assert (found.name, found.source, found.total) == ("captions", "a.csv", 3)


def test_only_unigram_nouns_are_read(tmp_path: Path) -> None:
    words = [("dog", 0, "4.85", "Noun"), ('"hope', 0, "1.2", "Noun"), ("zoo animal", 1, "4.9", "#N/A")]
    lines = [HEADER, *(word(*of) for of in words), word("run", 0, "4", "Verb")]
    path = tmp_path / "r.txt"
    path.write_bytes("\r\n".join(lines).encode())
    found = read_word_ratings(path)
    assert found.texts == ["dog", '"hope']
    assert found.ratings.tolist() == [4.85, 1.2]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"b,high", "must have a number as the rating of 'b'; it has 'high'"),
        (b"b,nan", "it has 'nan'"),
        (b"b,", "it has ''"),
        (b"\xff\xfe,1", r"task\.annotations=.*a\.csv cannot be read: "),
        (b'"a" dog,1', r"task\.annotations=.*a\.csv cannot be read: "),
    ],
)
def test_broken_rows_are_one_clear_line(tmp_path: Path, row: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"caption,concreteness_annotation\na,1\n" + row + b"\n")
    with pytest.raises(UserError, match=message):
        read_annotations(tmp_path / "a.csv")


def test_a_sample_keeps_texts_and_ratings_together(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("caption,concreteness_annotation\n" + "".join(f"c{n},{n}\n" for n in range(40)))
    whole = read_annotations(path)
    part = whole.sample(15, seed=0)
    assert len(part.texts) == len(set(part.texts)) == 15
    assert part.texts == [f"c{int(r)}" for r in part.ratings]
    assert part.total == 40
    assert part.texts == whole.sample(15, seed=0).texts != whole.sample(15, seed=1).texts
    assert whole.sample(None, 0) is whole.sample(40, 0) is whole


def test_demo_captions_are_rated_by_what_was_planted() -> None:
    rated = demo_captions(12, 0.5)
    mix = pool_mix(0.5).without("near_duplicate")
    drawn = [sample_draft("annotation", RATED_START + n, 0, mix).caption for n in range(12)]
    assert rated.texts == drawn
    assert rated.ratings.tolist() == [concreteness(caption) for caption in drawn]
    assert np.ptp(rated.ratings) > 0.2
    with pytest.raises(UserError, match=r"task.demo=2001 must be at most 2,000"):
        demo_captions(2001, 0.5)


def test_the_published_files_have_the_known_counts(shared_data: Path) -> None:
    captions = read_annotations(shared_data / "icc_annotations" / "caption_concreteness_annotations.csv")
    assert np.bincount(captions.ratings.astype(int)).tolist() == [99, 155, 118, 128]
    folder = shared_data / "brysbaert_concreteness"
    words = read_word_ratings(folder / "Concreteness_ratings_Brysbaert_et_al_BRM.txt")
    assert len(words.texts) == 14_592  # the ICC paper counts 14,562 of them
    assert words.texts[0] == "angelfish"
    assert 1 <= words.ratings.min() < words.ratings.max() <= 5
