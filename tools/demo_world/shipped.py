"""Draws the rows of every file in pairsift/demo/worlds, and writes the files with their card."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.hashes import hash_file
from benchmark.core.paths import atomic_write, write_text
from pairsift.demo.draws import DRAWS
from pairsift.demo.render import render
from pairsift.demo.vocabulary import IN_KINDS, Domain
from pairsift.demo.worlds import PAIRS, UNCUT_CONSISTENCIES, WORLDS
from tools.demo_world.cut import accepted_indices
from tools.demo_world.draws import generator, sample_draft
from tools.demo_world.mix import NEAR_DUPLICATE, drawn_mix, pool_mix
from tools.demo_world.reference_captions import reference_captions
from tools.demo_world.rows import PAIR, PICTURE, Row, pair_rows, picture_row, rows_of_worlds
from tools.demo_world.scenes import DrawnScene, sample_scene, single_thing, state_of

REPOSITORY = WORLDS.parents[2]
CUT = WORLDS.parent / "models" / "cut"
EVALUATION = pa.schema(
    [("set", pa.string()), ("index", pa.int32()), ("captions", pa.list_(pa.string())), *PICTURE]
)
CLASSES = pa.schema(
    [("kind", pa.string()), ("split", pa.string()), ("number", pa.int8()), ("index", pa.int32()), *PICTURE]
)
RATED = pa.schema(
    [("least", pa.float32()), ("most", pa.float32()), ("caption", pa.string()), ("rating", pa.float64())]
)
DICTIONARIES = [
    "noise", "text_kind", "relation", "place", "concreteness", "kind", "split", "set",
    *(f"things.list.element.{name}" for name in ("kind", "colour", "size", "pattern", "action")),
]  # fmt: skip
# First index of each set, and of each NoCaps domain, in the `evaluation` draw; its number of images.
FIRST_INDEX = {
    "coco": 0, "flickr30k": 1_000_000, "in": 2_000_000, "near": 3_000_000, "out": 4_000_000, "tuning": 5_000_000,
}  # fmt: skip
IMAGES = {"coco": 500, "flickr30k": 300, "in": 150, "near": 150, "out": 150, "tuning": 300}
STRIDE = 1_000_000  # indices of the `classes` draw reserved per class: the first half for train, the second for test
SPLIT = 20  # images per class and split
# In the `annotation` draw, smaller indices are for building scorers; from this one on, samples are for evaluation.
RATED_START = 1_000_000
RATED_CAPTIONS, ANNOTATED = 2_000, 244
MAX_GRADE = 3  # highly concrete; 0 is highly abstract, as in the ICC paper
DISAGREEMENT = 0.5  # standard deviation of the simulated annotator's error, in grades


def cut_rows(first: int, last: int) -> list[Row]:
    """Return the pairs from `first` up to `last` of the default pool."""
    mix = drawn_mix()
    indices = accepted_indices(CUT, mix, 0)[first:last]
    return [row for index in indices for row in pair_rows(int(index), mix)]


def uncut_rows(first: int, last: int) -> list[Row]:
    """Return the pairs from `first` up to `last` of the worlds without a cut."""
    return [
        row
        for index in range(first, last)
        for row in rows_of_worlds(partial(_uncut_rows, index), UNCUT_CONSISTENCIES)
    ]


def _uncut_rows(index: int, consistency: float) -> list[Row]:
    return pair_rows(index, pool_mix(consistency))


def evaluation_rows() -> Iterator[Row]:
    """Yield the images of the evaluation sets."""
    for name, first in FIRST_INDEX.items():
        for index in range(first, first + IMAGES[name]):
            rng = generator("evaluation", index, 0)
            scene = sample_scene(rng, name if name in get_args(Domain) else "in")  # type: ignore[arg-type]
            while (
                name == "flickr30k" and not scene.things[0].action
            ):  # Flickr30k's images mostly show actions
                scene = sample_scene(rng)
            picture = picture_row(scene, (0, DRAWS["evaluation"], index), state_of(rng))
            render(scene, rng)  # it uses random numbers before the captions do
            yield {"set": name, "index": index, "captions": reference_captions(scene, rng), **picture}


def class_rows() -> Iterator[Row]:
    """Yield the images of the classification set."""
    for label, kind in enumerate(IN_KINDS):
        for split, offset in (("train", 0), ("test", STRIDE // 2)):
            for number in range(SPLIT):
                index = label * STRIDE + offset + number
                rng = generator("classes", index, 0)
                scene: DrawnScene = single_thing(rng, kind)
                picture = picture_row(scene, (0, DRAWS["classes"], index), state_of(rng))
                yield {"kind": kind, "split": split, "number": number, "index": index, **picture}


def rated_rows() -> Iterator[Row]:
    """Yield captions with their planted concreteness; see `demo_captions.demo_captions`."""
    for index in range(RATED_START, RATED_START + RATED_CAPTIONS):
        yield from rows_of_worlds(partial(_rated_row, index), UNCUT_CONSISTENCIES)


def _rated_row(index: int, consistency: float) -> list[Row]:
    draft = sample_draft("annotation", index, 0, pool_mix(consistency).without(NEAR_DUPLICATE))
    return [{"caption": draft.caption, "rating": draft.concreteness}]


def annotated_rows() -> list[Row]:
    """Return captions with grades of a simulated annotator; see `demo_captions.annotated_captions`."""
    drafts = [sample_draft("annotation", index, 0, pool_mix()) for index in range(ANNOTATED)]
    error = np.random.default_rng([0, ANNOTATED]).normal(0, DISAGREEMENT, ANNOTATED)
    grades = np.clip(np.round(MAX_GRADE * np.array([d.concreteness for d in drafts]) + error), 0, MAX_GRADE)
    return [
        {"least": 0.0, "most": 1.0, "caption": draft.caption, "rating": grade}
        for draft, grade in zip(drafts, grades.tolist(), strict=True)
    ]


def write_worlds(folder: Path, workers: int) -> None:
    """Write all files and their card to `folder`."""
    parts = range(0, PAIRS, 2_000)
    with ProcessPoolExecutor(workers) as processes:
        for name, draw in (("cut", cut_rows), ("uncut", uncut_rows)):
            rows = [
                row for part in processes.map(draw, parts, [start + 2_000 for start in parts]) for row in part
            ]
            # Similar captions together are a twelfth smaller; readers sort by the index.
            write_rows(folder / f"{name}.parquet", sorted(rows, key=lambda row: row["noise"]), PAIR)
    write_rows(folder / "evaluation.parquet", [*evaluation_rows()], EVALUATION)
    write_rows(folder / "classes.parquet", [*class_rows()], CLASSES)
    write_rows(folder / "rated.parquet", [*rated_rows()], RATED)
    write_rows(folder / "annotated.parquet", annotated_rows(), RATED)
    write_card(folder)


def write_card(folder: Path) -> None:
    """Write the hash of every file in `folder` and the hash of the tools, which CI compares."""
    write_text(folder / "card.json", json.dumps(_card(folder), indent=2) + "\n")


def is_card_current(folder: Path) -> bool:
    """Return whether the card's hashes match the shipped files and the tools."""
    return bool(json.loads((folder / "card.json").read_text()) == _card(folder))


def _card(folder: Path) -> dict[str, object]:
    return {
        "files": {path.name: hash_file(path) for path in sorted(folder.glob("*.parquet"))},
        "tools": tools_hash(),
    }


def tools_hash() -> str:
    """Return a hash of the sources of the tools and of their tests."""
    digest = hashlib.sha256()
    for path in sorted(
        path for part in ("tools", "tests/tools") for path in (REPOSITORY / part).rglob("*.*")
    ):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.relative_to(REPOSITORY).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def write_rows(path: Path, rows: list[Row], schema: pa.Schema) -> None:
    """Write rows to a Parquet file, as small as zstd makes it."""
    encodings = {"words": "DELTA_LENGTH_BYTE_ARRAY", "index": "DELTA_BINARY_PACKED"}
    with atomic_write(path) as temporary:
        pq.write_table(
            pa.Table.from_pylist(rows, schema),
            temporary,
            row_group_size=1 << 20,
            data_page_size=1 << 25,
            dictionary_pagesize_limit=1 << 25,
            compression="zstd",
            compression_level=22,
            use_dictionary=DICTIONARIES,
            column_encoding={name: encoding for name, encoding in encodings.items() if name in schema.names},
            write_statistics=False,
            store_schema=False,
        )
