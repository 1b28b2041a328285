"""The captions that ICC is built on, split and written as shards, and the rated captions of its combination."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.batch import SampleError, model_text
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.core.paths import atomic_write
from benchmark.core.uids import make_uid
from benchmark.pool.sample_fields import check_caption
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts, read_annotations
from pairsift.studies.text_files import COMMAS, TABS, TextFile

FORMATS = {".csv": COMMAS, ".tsv": TABS, ".parquet": None}
# Captions per shard: an interrupted reconstruction repeats at most one, minutes of VBA on a GPU.
PART_SIZE = 200
SCORING_SHARE = 0.2  # of the captions of one file, if no numbers are given: 118k of 594k in the paper


@dataclass(frozen=True)
class CaptionSets:
    """The captions of a build."""

    # Captions that are split into two sets or, with `scoring`, the captions of the first set.
    texts: Sequence[str]
    scoring: Sequence[str] | None = None  # the captions of the second set, if they are not taken from `texts`
    unusable: int = 0

    def sha256(self) -> str:
        """Return a hash of the captions, which does not depend on their order, repetitions or file."""
        digest = hashlib.sha256()
        for texts in (self.texts, self.scoring or ()):
            digest.update(json.dumps(sorted(set(texts))).encode())
        return digest.hexdigest()


def captions_from_file(path: str | Sequence[str], column: str = "caption") -> CaptionSets:
    """Return the usable captions of one or two .csv, .tsv or .parquet files.

    Args:
        path: a file of captions for both sets, or two files: captions that train SBA's bridge, and captions that
            are reconstructed and distilled (the authors' files of 476k and 118k captions).

    Raises `UserError` if a file cannot be read or lacks a usable caption, or for more than two files.
    """
    paths = [path] if isinstance(path, str) else list(path)
    if len(paths) not in (1, 2):
        raise UserError(f"icc.captions.path must be one file or two; it is {len(paths)}")
    (texts, unusable), *others = (_usable(name, column) for name in paths)
    if not others:
        return CaptionSets(texts, None, unusable)
    scoring, more_unusable = others[0]
    return CaptionSets(texts, scoring, unusable + more_unusable)


def _usable(path: str, column: str) -> tuple[list[str], int]:
    """Return the usable captions of a file as models read them, and the number of the other rows."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise UserError(f"icc.captions.path={path} must be a .csv, .tsv or .parquet file; convert it")
    file = TextFile("icc.captions.path", Path(path), FORMATS[suffix])
    captions, unusable = [], 0
    for (value,) in file.rows(column):
        try:
            captions.append(model_text(check_caption(value)))
        except SampleError:
            unusable += 1
    if not captions:
        raise UserError(
            f"icc.captions.path={path} holds no caption in column {column!r}; choose another icc.captions.column"
        )
    return captions, unusable


def write_split(
    captions: CaptionSets, training: int | None, scoring: int | None, folder: Path
) -> dict[str, int]:
    """Write two disjoint sets of captions: one trains SBA's bridge, the other is reconstructed and distilled.

    Duplicates are removed. The set of a caption depends on its uid, not on the order of the captions. The sets are
    written to ``training/metadata/*.parquet`` and ``scoring/metadata/*.parquet`` in `folder`, as shards of a pool.

    Args:
        training: number of captions in the first set. None takes all captions that are not in the second; together
            with `scoring` None, four of five captions, or all captions of the first file.
        scoring: number of captions in the second set; None takes the rest, or all captions of the second file.

    Returns:
        The numbers of rows, unusable rows, distinct captions, and captions in each set.

    Raises `UserError` if there are too few distinct captions.
    """
    sets = _split(captions, training, scoring)
    for name, texts in sets.items():
        uids = sorted(texts)
        for number, start in enumerate(range(0, len(uids), PART_SIZE)):
            part = uids[start : start + PART_SIZE]
            table = pa.table({"uid": part, "text": [texts[uid] for uid in part]})
            with atomic_write(folder / name / "metadata" / f"{number:05d}.parquet") as temporary:
                pq.write_table(table, temporary)
    usable = [*captions.texts, *(captions.scoring or ())]
    return {
        "rows": len(usable) + captions.unusable,
        "unusable": captions.unusable,
        "distinct": len(set(usable)),
        **{name: len(texts) for name, texts in sets.items()},
    }


def _split(captions: CaptionSets, training: int | None, scoring: int | None) -> dict[str, dict[str, str]]:
    """Return the captions of both sets by uid."""
    first = _by_uid(captions.texts)
    if captions.scoring is None:
        uids = sorted(first)
        if training is None:
            training = max(0, len(uids) - (scoring or round(len(uids) * SCORING_SHARE)))
        second = {uid: first[uid] for uid in uids[training:]}
        first = {uid: first[uid] for uid in uids[:training]}
    else:
        second = _by_uid(captions.scoring)
        first = {uid: text for uid, text in first.items() if uid not in second}
    scored = _take("scoring", second, scoring)  # refused first: what is left is for training
    return {"training": _take("training", first, training), "scoring": scored}


def _by_uid(captions: Sequence[str]) -> dict[str, str]:
    return {make_uid("", caption): caption for caption in captions}


def _take(name: str, texts: dict[str, str], count: int | None) -> dict[str, str]:
    """Return `count` captions by order of uids; all for None."""
    count = len(texts) if count is None else count
    if not 1 <= count <= len(texts):
        raise UserError(
            f"icc.{name}_captions={count:,} must be at most {len(texts):,}, the distinct captions left for that set;"
            " lower it, or use all captions: icc.training_captions=null icc.scoring_captions=null"
        )
    return {uid: texts[uid] for uid in sorted(texts)[:count]}


# SHA-256, first 8 digits, of 40 captions of the concreteness benchmark (appendix A.3), the
# smallest among its 500 captions. 50 captions drawn from the benchmark hold one of them with a probability of 0.98.
_FIRST_HASHES = """
    002fde35 0040506c 008b175d 017893a3 018d34e2 01fb4815 026b0c08 02d6f531 03231d5b 03d99692 06bbdb9c 079b3160
    07dd442b 07f52f0f 085a21b9 093daba0 09437864 0999cc2a 09cdc856 0a08a30e 0a4d1930 0a96af33 0abd6aa2 0af9537d
    0b4bd790 0c1bb933 0c986eeb 0cdfbe8a 0ddf9d6a 0ea1773d 0f26e50e 113c2656 121c1787 12f3c4c5 147c447e 157dae1e
    15bb549a 15bfff31 15f8bdb0 15f9077d
"""
BENCHMARK_HASHES = frozenset(_FIRST_HASHES.split())


def annotated_captions(path: str, allow_benchmark: bool = False) -> RatedTexts:
    """Read annotated captions: a CSV with the columns ``caption`` and ``concreteness_annotation``.

    Args:
        allow_benchmark: accept captions of the concreteness benchmark, on which scorers are compared (Table 3).

    Raises `UserError` if the file cannot be read, or holds captions of that benchmark.
    """
    rated = read_annotations(Path(path), setting="icc.annotations.path")
    known = sum(hash_text(" ".join(text.split()), 8) in BENCHMARK_HASHES for text in rated.texts)
    if known and not allow_benchmark:
        raise UserError(
            f"icc.annotations.path={path} holds captions of the concreteness benchmark (Table 3), on which the scorer"
            " would be tested; annotate other captions, or set +icc.annotations.allow_benchmark=true"
        )
    return rated
