"""Captions besides a sample's own: where they are read from, and what depends on them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.pool.other_captions import CaptionSources, OtherCaptions
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset
from benchmark.run.identity import make_run_id, training_fingerprint
from tests.jobs import make_job
from tests.pools import rows, write_metadata, write_tar

UIDS = [row.uid for row in rows(6)]


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    write_tar(tmp_path / "pool" / "shards" / "0.tar", rows(6))
    write_metadata(
        tmp_path / "pool" / "metadata" / "0.parquet", rows(6),
        rewrite=["r0", None, "", "r3", "x" * 1_000_001, "r5"], alt=["a0", "a1", None, None, None, "  "],
        secret=["s"] * 6,
    )  # fmt: skip
    return Pool("p", str(tmp_path / "pool"), hidden=["secret"])


def write(path: Path, pairs: list[tuple[str | None, str | None]]) -> str:
    uids, captions = [uid for uid, _ in pairs], [caption for _, caption in pairs]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"uid": uids, "caption": pa.array(captions, pa.string())}), path)
    return str(path)


def test_columns_then_files_in_their_order(pool: Pool, tmp_path: Path) -> None:
    write(tmp_path / "made" / "b.parquet", [(UIDS[0], "second"), (UIDS[0].upper(), "third")])
    write(tmp_path / "made" / "a.parquet", [(UIDS[0], "first"), ("f" * 32, "nobody's"), (UIDS[3], None)])
    last = write(tmp_path / "last.parquet", [("no uid", "lost"), (None, "lost"), (UIDS[1], "of one")])
    sources = CaptionSources(pool, ["alt", "rewrite"], [str(tmp_path / "made"), last], use="draw")
    found = sources.of(encode_uids(UIDS[:5]))
    assert found.by_uid == {
        UIDS[0]: ("a0", "r0", "first", "second", "third"),
        UIDS[1]: ("a1", "of one"),
        UIDS[3]: ("r3",),
    }
    assert found.counts() == {
        "samples": 3, "captions": 8,
        "caption_empty": 1, "caption_missing": 5, "caption_too_long": 1, "uid_invalid": 2,
    }  # fmt: skip


def test_a_summed_caption_has_the_position_of_its_source(pool: Pool, tmp_path: Path) -> None:
    last = write(tmp_path / "last.parquet", [(UIDS[1], "l1"), (UIDS[3], "l3")])
    found = CaptionSources(pool, ["alt", "rewrite"], [last], weights=[1, 0.5, 2]).of(encode_uids(UIDS))
    assert found.by_uid == {
        UIDS[0]: ("a0", "r0", None),
        UIDS[1]: ("a1", None, "l1"),
        UIDS[3]: (None, "r3", "l3"),
        UIDS[5]: (None, "r5", None),
    }
    assert (found.weights, found.counts()["captions"]) == ((1, 0.5, 2), 7)
    assert CaptionSources(pool, ["alt"]).of(encode_uids(UIDS)).weights == (1,)
    twice = write(tmp_path / "twice.parquet", [(UIDS[0], "one"), (UIDS[0], "two")])
    with pytest.raises(UserError, match=r"twice.parquet has 2 of .*captions.use=draw"):
        CaptionSources(pool, files=[twice]).of(encode_uids(UIDS))


def test_weights_are_one_for_each_summed_source(pool: Pool) -> None:
    for use, weights in (("sum", [1.0, 1.0]), ("sum", []), ("draw", [1.0])):
        with pytest.raises(UserError, match=r"captions.weights must be null, .* the 1 sources"):
            CaptionSources(pool, ["alt"], use=use, weights=weights)  # type: ignore[arg-type]


def test_samples_carry_their_other_captions(pool: Pool) -> None:
    uids = encode_uids(UIDS)
    subset = Subset(pool, uids, captions=CaptionSources(pool, ["alt"]).of(uids))
    assert {sample.uid: sample.others for sample in subset} == {
        uid: {UIDS[0]: ("a0",), UIDS[1]: ("a1",)}.get(uid, ()) for uid in UIDS
    }
    assert all(sample.others == () for sample in Subset(pool, uids))


def test_invalid_utf8_costs_one_caption(pool: Pool, tmp_path: Path) -> None:
    offsets = pa.py_buffer((0).to_bytes(4, "little") + (2).to_bytes(4, "little") + (4).to_bytes(4, "little"))
    captions = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfeok")])
    pq.write_table(pa.table({"uid": UIDS[:2], "caption": captions}), tmp_path / "a.parquet")
    found = CaptionSources(pool, files=[str(tmp_path / "a.parquet")]).of(encode_uids(UIDS))
    assert (found.by_uid, found.drops) == ({UIDS[1]: ("ok",)}, {"caption_invalid_utf8": 1})


def test_unreadable_sources_are_user_errors_before_scoring(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    pq.write_table(pa.table({"uid": ["a"], "text": ["b"]}), tmp_path / "text.parquet")
    pq.write_table(pa.table({"uid": ["a"], "caption": [1]}), tmp_path / "numbers.parquet")
    for files, message in {
        "empty": "no parquet file at",
        "bad.parquet": "is not a parquet file",
        "text.parquet": "must have one column 'caption' of strings; it has uid, text",
        "numbers.parquet": "must have one column 'caption' of strings; it has uid, caption",
    }.items():
        with pytest.raises(UserError, match=message):
            CaptionSources(pool, files=[str(tmp_path / files)])
    for columns, message in {"atl": "did you mean 'alt'", "secret": "'secret', which pool p hides"}.items():
        with pytest.raises(UserError, match=message):
            CaptionSources(pool, columns=[columns])
    nobodys = CaptionSources(pool, files=[write(tmp_path / "n.parquet", [("f" * 32, "nobody's")])])
    with pytest.raises(UserError, match="none of the 6 selected pairs has one"):
        nobodys.of(encode_uids(UIDS))


def test_fingerprints_depend_on_captions_not_on_paths(pool: Pool) -> None:
    job = make_job("filter=random")
    model = job.models["dual_encoder"]
    sources = CaptionSources(pool)
    none = sources.of(encode_uids(UIDS)).sha256
    assert (bool(sources), none) == (False, None)
    assert training_fingerprint(model, "sha", "cpu", none) == training_fingerprint(model, "sha", "cpu")
    one = OtherCaptions({"a": ("x", "y"), "b": ("z",)}).sha256
    same = OtherCaptions({"b": ("z",), "a": ("x", "y")}).sha256
    others = [
        OtherCaptions({"a": ("y", "x"), "b": ("z",)}).sha256,
        OtherCaptions({"a": ("x",), "b": ("y", "z")}).sha256,
        *(OtherCaptions({"a": ("x", "y"), "b": ("z",)}, weights=w).sha256 for w in ((1, 1), (1, 2))),
    ]
    assert one == same
    prints = {training_fingerprint(job.models["captioner"], "sha", "cpu", c) for c in (one, *others, None)}
    assert len(prints) == len({one, *others, None}) == 6
    ids = []
    for job.cfg.captions.files in (["/some/where"], ["/else/where"]):
        ids += [make_run_id(job, one), make_run_id(job, None)]
    assert ids[0] == ids[2] != ids[1]
