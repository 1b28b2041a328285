"""What holds for all uids, captions and scores, tried on those that Hypothesis thinks of."""

import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from benchmark.core.sanitize import visible
from benchmark.core.uids import UidIndex, decode_uids, encode_uids, make_uid, sort_uids, unite_uids
from benchmark.pool.parquet_reader import read_metadata
from benchmark.pool.tar_index import index_tar
from benchmark.scoring.score_parts import read_part, write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.selection.top_k import select_top_k
from tests.pools import Row, hashed_uids, jpeg, write_metadata, write_tar

HEX = st.text("0123456789abcdef", min_size=32, max_size=32)
UIDS = st.lists(HEX, max_size=20)
CAPTIONS = st.lists(st.text(max_size=60), min_size=1, max_size=8)
# Scores of one pool, with ties, infinities and NaN, and where they are cut into parts.
SCORES = of_numpy.arrays(np.float32, st.integers(1, 30), elements=st.floats(width=32) | st.integers(-2, 2))
CUTS = st.lists(st.integers(0, 30), max_size=3)
# The same examples in every run; one folder serves all of a test's, as each writes its files anew.
same = settings(
    derandomize=True, database=None, deadline=None, max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
IMAGE = jpeg(0)


def samples(captions: list[str]) -> list[Row]:
    return [Row(f"{number:05d}", f"http://x/{number}", text, IMAGE) for number, text in enumerate(captions)]


@same
@given(UIDS)
def test_uids_are_what_they_were_in_hex(texts: list[str]) -> None:
    uids = encode_uids(texts)
    assert decode_uids(uids) == texts
    assert decode_uids(uids[sort_uids(uids)]) == sorted(texts)


@same
@given(UIDS, UIDS)
def test_uids_are_found_as_in_a_set(texts: list[str], wanted: list[str]) -> None:
    united = unite_uids([encode_uids(texts), encode_uids(wanted)])
    assert decode_uids(united) == sorted({*texts, *wanted})
    rows = UidIndex(unite_uids([encode_uids(texts)])).find(encode_uids(wanted + texts))
    assert (rows >= 0).tolist() == [text in set(texts) for text in wanted + texts]


@same
@given(captions=CAPTIONS)
def test_every_caption_of_the_metadata_is_read_or_counted(captions: list[str], tmp_path: Path) -> None:
    path, drops = tmp_path / "0.parquet", Counter[str]()
    write_metadata(path, samples(captions))
    read = [
        pair
        for batch in read_metadata(str(path), {}, frozenset(), 3, drops)
        for pair in zip(decode_uids(batch.uids), batch.texts, strict=True)
    ]
    assert len(read) + drops.total() == len(captions)
    assert set(read) <= {(sample.uid, sample.text) for sample in samples(captions)}


@same
@given(captions=CAPTIONS)
def test_every_caption_of_a_tar_is_read_or_counted(captions: list[str], tmp_path: Path) -> None:
    path = tmp_path / "0.tar"
    write_tar(path, samples(captions))
    index = index_tar(path, {}, frozenset(), [], keyed=True)
    assert len(index) + index.drops.total() == len(captions)
    known = {(sample.uid, sample.text) for sample in samples(captions)}
    assert set(zip(decode_uids(index.uids), index.texts, strict=True)) <= known


@same
@given(scores=SCORES, cuts=CUTS, seed=st.integers(0, 2**32 - 1))
def test_a_selection_does_not_depend_on_the_parts(
    scores: np.ndarray, cuts: list[int], seed: int, tmp_path: Path
) -> None:
    uids, places = hashed_uids(len(scores)), sorted(min(cut, len(scores)) for cut in cuts)
    paths = []
    for number, rows in enumerate(np.split(np.arange(len(scores)), places)):
        paths.append(tmp_path / f"{number}.parquet")
        write_part(paths[-1], uids[rows], scores[rows], {}, {})
        finite = np.where(np.isinf(scores[rows]), np.nan, scores[rows])
        assert np.array_equal(read_part(paths[-1])[1], finite, equal_nan=True)
    ranked = np.sort(scores[np.isfinite(scores)])[::-1]
    for k in {1, len(ranked)} if len(ranked) else ():
        chosen = select_top_k(load_parts(paths), k, seed)
        kept = scores[np.isin(uids, chosen.uids)]
        assert np.sort(kept)[::-1].tolist() == ranked[:k].tolist()
        assert chosen.uids.tolist() == select_top_k(load_parts(paths[::-1]), k, seed).uids.tolist()


@same
@given(st.text())
def test_nothing_shown_is_obeyed_by_a_terminal(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs"}
    assert visible(shown) == shown


@same
@given(st.text(), st.text())
def test_a_uid_tells_captions_apart(one: str, two: str) -> None:
    assert (make_uid("u", one) == make_uid("u", two)) == (one == two)
