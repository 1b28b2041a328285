"""Files that users give to filters: each broken one is refused in one line."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.aesthetics import Aesthetics
from filters.base import Filter
from filters.embeddings.pool_embeddings import read_target
from filters.icc.combine import load_combination
from filters.icc.standardize import load_standardizer
from filters.lexicon import Lexicon
from filters.score_file import ScoreFile
from filters.text_based import read_synsets
from filters.uid_list import UidList
from tests.pools import numbered_uids

UID = "0" * 32


def use(made: Filter) -> None:
    made.setup(torch.device("cpu"))
    features = {"image": np.ones((1, 8), np.float32)}
    made.score(Batch(numbered_uids(1), [""], features=features))


READERS: dict[str, Callable[[Path], object]] = {
    "score_file": lambda path: use(ScoreFile(str(path), "score")),
    "uid_list": lambda path: use(UidList(str(path))),
    "ratings": lambda path: use(Lexicon(str(path))),
    "head": lambda path: use(Aesthetics("unused", None, str(path))),
    "synsets": lambda path: read_synsets(str(path)),
    "target": lambda path: read_target(str(path)),
    "standardizer": load_standardizer,
    "combination": load_combination,
}


def parquet(**columns: list[Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, write_page_checksum=True, compression="none")
    return sink.getvalue().to_pybytes()


def scored(captions: list[Any]) -> bytes:
    return parquet(caption=captions, score=[1.0] * len(captions))


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


def array(values: Any, save: Callable[..., None] = np.save) -> bytes:
    buffer = io.BytesIO()
    save(buffer, values)
    return buffer.getvalue()


def weights(**tensors: torch.Tensor) -> bytes:
    buffer = io.BytesIO()
    torch.save(tensors, buffer)
    return buffer.getvalue()


TARGET = r"filter\.target=.*target\.npy must hold"
STANDARDIZER = "must hold a standardizer"
BROKEN: list[tuple[str, str, bytes, str]] = [
    ("score_file", "s.csv", b"caption,scores\na,1\n", "filter.column=score is not in .*; did you mean 'scores'"),
    ("score_file", "s.csv", b"name,score\na,1\n", "must have a column uid, url, .* or domain as the key"),
    ("score_file", "s.csv", b"caption,score\na,high\n", "column score of .* must be numeric, not 'high'"),
    ("score_file", "s.csv", b"uid,score\nabc,1\n", "uids are 32 hex characters"),
    ("score_file", "s.csv", b"", "is empty: it has no bytes"),
    ("score_file", "s.csv", b"caption,score\na,1,2\n", "cannot be read"),
    ("score_file", "s.npy", array(np.empty(1, "u8,u8")), "filter.column=score is not in"),
    ("uid_list", "list.txt", b"", "is empty: it has no bytes"),
    ("uid_list", "list.txt", b"0123z\n", "32 characters long"),
    ("uid_list", "list.txt", b"z" * 32 + b"\n", "not hexadecimal"),
    ("uid_list", "list.txt", f"{UID}\nhttp://example.org\n".encode(), "32 characters long"),
    ("uid_list", "list.csv", f"id\n{UID}\n".encode(), "as the key; its columns are id"),
    ("uid_list", "list.csv", b"uid\n", "is empty; give files with rows"),
    ("uid_list", "list.csv", b"uid,x\n1\n", "cannot be read"),
    ("uid_list", "list.parquet", b"PAR1", "cannot be read"),
    ("uid_list", "list.parquet", parquet(id=[UID]), "as the key; its columns are id"),
    ("uid_list", "list.parquet", parquet(uid=[[1, 2]]), "cannot be read"),
    ("uid_list", "list.npy", b"nonsense", "not a numpy array"),
    ("uid_list", "list.json", b"[]", r"must be a \.parquet, \.csv \(or \.csv\.gz\), \.npy or \.txt"),
    ("ratings", "r.txt", b"Word,Conc.M\na,1", "no column 'Word'"),
    ("ratings", "r.txt", b"Word\tConc.M\na\tx", "Conc.M of line 2 must be a number"),
    ("ratings", "r.txt", b"Word\tConc.M\na", "Conc.M of line 2 must be a number"),
    ("ratings", "r.txt", b"Conc.M\tWord\n1\ta\n2", "Conc.M of line 3 must be a number"),
    ("head", "head.pth", weights(a=torch.zeros(2)), "must hold linear layers"),
    ("head", "head.safetensors", save({"weight": torch.zeros(1, 8)}), "must hold linear layers"),
    ("head", "head.pth", b"no weights at all", "cannot be read"),
    (
        "head", "head.safetensors", save({"weight": torch.zeros(1, 9), "bias": torch.zeros(1)}),
        r"takes 9 dimensions, filter\.model=unused gives 8",
    ),
    ("synsets", "ids.txt", b"02084071\n", "line 1 must be a noun's id"),
    ("synsets", "ids.txt", b"n02084071\nv02084071\n", "line 2 must be a noun's id"),
    ("synsets", "ids.txt", b"n2084071\n", "line 1"),
    ("synsets", "ids.txt", b"\n\n", "must list at least one id"),
    *(
        ("target", "target.npy", array(values), TARGET)
        for values in (
            np.ones(3), np.ones((2, 2, 2)), np.empty((0, 4)), np.ones((2, 2), int), np.array([["a", "b"]]),
            np.array([[1.0, np.nan]]), np.array([[np.inf, 1.0]]), np.zeros((1, 3)),
        )
    ),
    *(
        ("target", "target.npy", content, "must be a numpy file")
        for content in (
            b"", b"text", b"\x93NUMPY\x01\x00", array(np.array([{"a": 1}])), array(np.ones((2, 2)), np.savez),
        )
    ),
    *(
        ("standardizer", "t.json", content, STANDARDIZER)
        for content in (b"", b"[]", b'{"starts": [1]}', b'{"starts": ["x"], "means": [], "spreads": []}')
    ),
    ("combination", "c.json", b'{"d": 1}', "must hold the weights"),
]  # fmt: skip
IN_ANY_FORMAT = {
    "corrupt page": flipped(scored([np.random.default_rng(n).bytes(16).hex() for n in range(1000)])),
    "lists": scored([["a"]] * 4),
    "not utf-8": scored([b"\xff\xfe"] * 4),
    "cut gzip": gzip.compress(b"uid,score\n" * 99)[:-9],
    "doubled column": f"uid,score,score\n{UID},1,2\n".encode(),
}
BROKEN += [
    ("score_file", f"s.{of}", c, ".") for of in ("csv", "parquet", "csv.gz") for c in IN_ANY_FORMAT.values()
]


@pytest.mark.parametrize("reader", READERS)
def test_a_broken_file_is_refused_in_one_line(reader: str, tmp_path: Path) -> None:
    for name, content, message in [row[1:] for row in BROKEN if row[0] == reader]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=message) as error:
            READERS[reader](tmp_path / name)
        assert "\n" not in str(error.value)
