"""Files of rows, as others publish them: parquet, CSV, text and ``.npy`` files of uids, found and streamed."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from functools import cached_property
from io import StringIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE, to_mask
from benchmark.core.errors import UserError
from benchmark.core.exact_numbers import MAX_INTEGER, numeric_scores
from benchmark.core.fetched_files import fetch_files
from benchmark.core.fingerprints import content_hash, file_version
from benchmark.core.hashes import hash_text
from benchmark.core.paths import cache_folder, refuse_pointers, user_path, write_text
from benchmark.core.storage import Entry, download, file_name, find_file, is_remote, list_files, open_file
from benchmark.core.uids import UID_COLUMNS, map_uids, uid_columns

FORMATS = (".parquet", ".csv", ".npy", ".txt")
FORMATS_IN_WORDS = ".parquet, .csv (or .csv.gz), .npy or .txt"
COMPLETE = "complete"  # file of a folder of copies that has all
DEPTH = 3  # folders that are searched below a given one
ROWS = 1 << 20  # in a batch
_MISSING = r"(?i)^(#?n/?a|#N/A N/A|-?1\.#(ind|qnan)|-?nan|null|)$"  # in a CSV file
_TRUTH = "(?i)^(true|false)$"
_MULTILINE = pa.csv.ParseOptions(newlines_in_values=True)
_BLOCKS = pa.csv.ReadOptions(block_size=1 << 23)  # bytes; a line must fit into one
Values = npt.NDArray[np.float64]  # (n, columns)


class RowFiles:
    """Files, folders, patterns with ``*``: on this machine, the hub (``hf://``) or any fsspec URL.

    Args:
        setting: name of the setting, for messages.
        source: path, URL or pattern, or several. The files are all parquet, CSV (or CSV by gzip), text with a key per
            line, or DataComp's ``.npy`` of ``u8,u8``, sorted or not.
    """

    def __init__(self, setting: str, source: str | Sequence[str]) -> None:
        self.sources = [source] if isinstance(source, str) else [str(part) for part in source]
        self._setting, self._name = setting, f"{setting}={', '.join(self.sources)}"

    @cached_property
    def files(self) -> list[Entry]:
        """The files, each once, in the order of their names. Raises `UserError` without any, or for a mixture."""
        sources = [str(self.copies)] if (self.copies / COMPLETE).is_file() else self.sources
        listed = {file.url: file for source in sources for file in self._list(source)}
        files = [listed[url] for url in sorted(listed)]
        formats = sorted({format_of(file.url) for file in files})
        if len(formats) > 1:
            raise UserError(
                f"{self._name} must be files of one format, not {', '.join(formats)}; give a pattern such as"
                f" *{formats[0]}"
            )
        if empty := [file for file in files if file.size == 0]:
            raise UserError(
                f"{shown(empty[0].url)} is empty: it has no bytes; write it again, or move it elsewhere"
            )
        refuse_pointers(Path(shown(file.url)) for file in files if not is_remote(file.url))
        return files

    @property
    def copies(self) -> Path:
        """The folder of the cache that `fetch` copies remote files to."""
        return cache_folder("data", "rows", hash_text(" ".join(self.sources), 16))

    def fetch(self) -> None:
        """Copy the files into the cache, and read these from now on. An interrupted copy continues."""
        names = {
            self.copies / f"{n:05d}-{file_name(file.url)}": file.url for n, file in enumerate(self.files)
        }
        fetch_files(names)
        write_text(self.copies / COMPLETE, "\n".join(self.sources))
        del self.files

    def identity(self) -> str:
        """Return a hash: of the content of local files, of the URL, size and version of remote files."""
        versions = ((file.url, file_version(file)) for file in self.files)
        known = [v if is_remote(url) else content_hash(Path(shown(url)), v) for url, v in versions]
        return hash_text(" ".join(sorted(known)))

    @cached_property
    def header(self) -> list[str]:
        """The names of the columns of the first file; of a text its first line."""
        url, form = self.files[0].url, format_of(self.files[0].url)
        with explained(url):
            if form == ".parquet":
                with open_file(url) as file:
                    return list(pq.read_schema(file).names)
            if form == ".npy":
                return [*UID_COLUMNS]
            with _open_text(url) as stream:
                start = stream.read(1 << 16).decode(errors="replace").removeprefix("\ufeff").lstrip("\r\n")
        if form == ".txt":
            return [start.partition("\n")[0].strip()]
        try:
            return next(csv.reader(StringIO(start)), [])
        except csv.Error as error:
            raise UserError(f"{shown(url)} cannot be read: {error}") from None

    def read(
        self, names: Sequence[str], numeric: Sequence[str]
    ) -> Iterator[tuple[str, list[pa.Array], Values]]:
        """Yield the URL of a file, and of n of its rows the columns `names`, and the numbers of `numeric`.

        Raises `UserError` for a file that is damaged or lacks a column, or a malformed number.
        """
        for url in (file.url for file in self.files):
            form = format_of(url)
            tables = {".npy": _read_array, ".parquet": _read_parquet}.get(form, _read_text)
            with explained(url):
                for table in tables(url, [*names, *numeric]):
                    titles = {name: f"column {name} of {shown(url)}" for name in numeric}
                    numbers = [_numbers(table[name], titles[name], form == ".csv") for name in numeric]
                    values = np.column_stack(numbers) if numbers else np.empty((len(table), 0))
                    yield url, [table[name] for name in names], values

    def _list(self, source: str) -> list[Entry]:
        """Return the files of a path, URL or pattern."""
        local = None if is_remote(source) else user_path(source)
        if local is not None and local.is_file():
            if not format_of(source):
                raise UserError(f"{self._setting}={source} must be a {FORMATS_IN_WORDS}")
            files = [Entry(f"file://{local.absolute()}", False, local.stat().st_size, None)]
        elif "*" in source:
            folder = source.partition("*")[0].rpartition("/")[0]
            pattern = source[len(folder) :].lstrip("/")
            depth = pattern.count("/")
            listed = list_files(folder or ("/" if source.startswith("/") else "."), depth).items()
            files = [of for name, of in listed if name.count("/") == depth and fnmatchcase(name, pattern)]
        elif local is None and format_of(source) and not (file := find_file(source)).is_folder:
            files = [file]
        else:
            files = list(list_files(source, DEPTH).values())
        if known := [file for file in files if format_of(file.url)]:
            return known
        there = bool(files) or (local is not None and local.is_dir())
        raise UserError(
            f"{self._setting}={source} {'has no files that can be read' if there else 'not found'}; give a"
            f" {FORMATS_IN_WORDS}, a folder or a pattern such as FOLDER/*.parquet, or a URL of these"
        )


def shown(url: str) -> str:
    """Return a URL for a message; of a local file its path."""
    return url.removeprefix("file://")


def format_of(url: str) -> str:
    """Return the format that a name says, one of `FORMATS`; empty for others."""
    suffix = PurePosixPath(file_name(url).lower().removesuffix(".gz")).suffix
    return suffix if suffix in FORMATS else ""


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn what Arrow raises for a damaged file, or a column of an unexpected type, into a `UserError`."""
    try:
        yield
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{shown(url)} cannot be read: {reason[:200]}") from None


@contextmanager
def _open_text(url: str) -> Iterator[pa.NativeFile]:
    """Open a text file, or one compressed by gzip whatever its name is."""
    with open_file(url, ahead=True) as file:
        compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield pa.input_stream(file, compression="gzip" if compressed else None)


def _read_text(url: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of a CSV file, or the lines of a text, as strings: nothing is taken for a number too early."""
    options, parse = _BLOCKS, _MULTILINE
    if format_of(url) == ".txt":
        options = pa.csv.ReadOptions(block_size=options.block_size, column_names=columns)
        parse = pa.csv.ParseOptions(delimiter="\x01", quote_char=False)
    types = pa.csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
    with _open_text(url) as stream, pa.csv.open_csv(stream, options, parse, types) as reader:
        yield from reader


def _read_parquet(url: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of a parquet file."""
    with ExitStack() as stack:
        # Of a local file pyarrow reads on its own, in parallel.
        file = stack.enter_context(open_file(url)) if is_remote(url) else shown(url)
        parquet = stack.enter_context(pq.ParquetFile(file, page_checksum_verification=True))
        names = parquet.schema_arrow.names
        if odd := [name for name in columns if names.count(name) != 1]:
            raise UserError(f"{shown(url)} must have one column {odd[0]}, not {names.count(odd[0])}")
        yield from parquet.iter_batches(ROWS, columns=columns)


def _read_array(url: str, _: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the words of the uids of a ``.npy``, sorted or not; a remote one is copied first."""
    with ExitStack() as stack:
        path = Path(shown(url))
        if is_remote(url):
            path = Path(stack.enter_context(TemporaryDirectory(prefix="pairsift-"))) / file_name(url)
            download(url, path)
        uids = map_uids(path)
        for start in range(0, len(uids), ROWS):
            yield pa.table(uid_columns(uids[start : start + ROWS]))


def _numbers(column: pa.Array, name: str, spelled: bool) -> npt.NDArray[np.float64]:
    """Return the n numbers of a column, shape (n,); strings are parsed if `spelled`. NaN for missing numbers."""
    if spelled:
        texts = pc.utf8_trim_whitespace(column)
        texts = pc.if_else(pc.match_substring_regex(texts, _MISSING), None, texts)
        if pc.all(pc.match_substring_regex(texts, _TRUTH)).as_py():
            column = texts.cast(pa.bool_())
        else:
            try:
                column = texts.cast(pa.float64())
            except pa.ArrowInvalid as error:
                wrong = re.search("'.*'", str(error))
                raise UserError(f"{name} must be numeric, not {wrong[0][:42] if wrong else 'text'}") from None
            rounded = texts.filter(pc.greater_equal(pc.abs(column), float(MAX_INTEGER))).to_pylist()
            integers = [int(text) for text in rounded if re.fullmatch(r"[+-]?\d+", text)]
            numeric_scores(np.array(integers, object), name)
    missing = to_mask(column.is_null())
    if column.null_count and pa.types.is_integer(column.type):
        column = column.fill_null(0)  # else NumPy's floats would round the other integers
    scores = numeric_scores(column.to_numpy(False), name)
    return np.where(missing, np.nan, np.asarray(scores, np.float64))
