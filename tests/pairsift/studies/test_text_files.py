"""Files of texts that users bring."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from pairsift.studies.text_files import COMMAS, TABS, UNQUOTED_TABS, TextFile

FORMATS = {".csv": COMMAS, ".tsv": TABS, ".txt": UNQUOTED_TABS, ".parquet": None}


def read(path: Path, *names: str) -> list[tuple[str, ...]]:
    return list(TextFile("a.setting", path, FORMATS[path.suffix]).rows(*names))


def test_every_format_has_the_same_texts(tmp_path: Path) -> None:
    contents = {
        "a.csv": b'\xef\xbb\xbfa,uid,b\n"a, b",1,d\nc \xff,2\n',
        "b.tsv": b'a\tuid\tb\n"a, b"\t1\td\nc \xff\t2\n',
        "c.txt": b"a\tuid\tb\na, b\t1\td\nc \xff\t2\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    strings = pa.array([b"a, b", b"c \xff"]).view(pa.string())
    pq.write_table(pa.table({"uid": [1, 2], "a": strings, "b": ["d", None]}), tmp_path / "d.parquet")
    for name in (*contents, "d.parquet"):
        assert read(tmp_path / name, "a", "b") == [("a, b", "d"), ("c \ufffd", "")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "x,y\n1,2\n", "must have a column 'text'; it has x, y"),
        ("a.csv", "", "must have a column 'text'; it has none"),
        ("a.csv", f'text\n"{"x" * 200_000}"\n', "cannot be read: field larger than field limit"),
        ("a.parquet", "PAR1 not really", "cannot be read"),
        ("b.txt", None, "does not exist; give the path of a file"),
    ],
)
def test_a_file_without_texts_is_one_clear_line(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=rf"a\.setting=.*{name} {message}"):
        read(tmp_path / name, "text")


def test_a_parquet_of_numbers_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "n.parquet")
    with pytest.raises(UserError, match="must hold texts in column 'text'; it holds int64"):
        read(tmp_path / "n.parquet", "text")
