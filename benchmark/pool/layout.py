"""Which files of a folder or URL are a pool's shards: img2dataset's and DataComp's layouts, nested or listed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.file_systems import is_remote
from benchmark.core.hashes import hash_text
from benchmark.core.prefetch import prefetch_map
from benchmark.core.storage import CONNECTIONS, Entry, file_name, find_file, list_files, with_sizes

TAR, PARQUET = ".tar", ".parquet"
DEPTH = 3  # folders that are searched below the one where shards may be nested
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Shard:
    """One tar or one metadata parquet. `fingerprint` changes when the file does."""

    name: str
    url: str
    fingerprint: str

    @property
    def is_tar(self) -> bool:
        """Whether this shard holds images."""
        return file_name(self.url).endswith(TAR)

    @property
    def path(self) -> Path:
        """The path of a shard of a local pool."""
        return Path(self.url.removeprefix("file://"))


def find_shards(url: str) -> tuple[list[Shard], list[Shard]]:
    """Return the tars and the metadata parquets of a pool, each sorted by path.

    A folder holds ``shards/*.tar`` or ``*.tar``, and ``metadata/*.parquet``, ``*.parquet`` or ``shards/*.parquet``.
    Only if there is none of these, deeper folders are searched. Instead of a folder, `url` may list files, as
    webdataset's do: ``shards/{00000..00099}.tar``, several such patterns joined by ``::``.

    Raises `UserError` for what is named like a shard there and is not a file.
    """
    patterns = url.split("::")
    listed = all(file_name(pattern).endswith((TAR, PARQUET)) for pattern in patterns)
    tars, metadata = _listed(patterns) if listed else _in_folder(url)
    if not is_remote(url):
        paths = [shard.path for shard in (*tars, *metadata)]
        _require_files(paths if listed else _beside(paths))
    return tars, metadata


def _listed(patterns: Sequence[str]) -> tuple[list[Shard], list[Shard]]:
    urls = [file for pattern in patterns for file in expand_braces(pattern)]
    names = [file_name(file) for file in urls]
    if len(set(names)) < len(names):
        names = [file.partition("?")[0] for file in urls]
    files = dict(zip(names, prefetch_map(find_file, urls, CONNECTIONS), strict=True))
    return _shards(files, TAR), _shards(files, PARQUET)


def _in_folder(url: str) -> tuple[list[Shard], list[Shard]]:
    here, shards = list_files(url), list_files(f"{url}/shards")
    tars = _shards(shards, TAR) or _shards(here, TAR) or _shards(list_files(f"{url}/shards", DEPTH), TAR)
    metadata = (
        _shards(list_files(f"{url}/metadata"), PARQUET)
        or _shards(here, PARQUET)
        or _shards(shards, PARQUET)
        or _shards(list_files(f"{url}/metadata", DEPTH), PARQUET)
    )
    if not tars and not metadata:
        files = list_files(url, DEPTH)
        return _shards(files, TAR), _shards(files, PARQUET)
    return tars, metadata


def _beside(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield all that is named like a shard in the folders of `paths`."""
    for folder in {path.parent for path in paths}:
        for path in folder.iterdir():
            if path.suffix in (TAR, PARQUET) and not path.name.startswith("."):
                yield path


def _require_files(paths: Iterable[Path]) -> None:
    """Raise `UserError` unless all are files or links to files: a pipe would be waited for without end."""
    odd = [path for path in paths if not path.is_file()]
    if odd:
        raise UserError(
            f"pool.url: {min(odd)} must be a file, not a folder, pipe, device or broken link; move it elsewhere"
        )


def expand_braces(pattern: str) -> list[str]:
    """Return what ``{00..11}`` and ``{a,b}`` in `pattern` stand for. Raises `UserError` for a malformed range."""
    parts = _BRACES.split(pattern)
    choices = [_choices(part, pattern) if number % 2 else [part] for number, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


def _choices(text: str, pattern: str) -> list[str]:
    numbers = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if numbers is None and ".." not in text:
        return text.split(",")
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise UserError(f"pool.url={pattern}: {{{text}}} must be a range like {{00000..00099}}")
    return [str(n).zfill(len(numbers[1])) for n in range(int(numbers[1]), int(numbers[2]) + 1)]


def _shards(files: Mapping[str, Entry], suffix: str) -> list[Shard]:
    """Return the files whose names end in `suffix`, sorted by path."""
    names = [name for name in files if name.endswith(suffix)]
    entries = zip(names, with_sizes(files[name] for name in names), strict=True)
    return [
        _shard(name.removesuffix(suffix), entry) for name, entry in sorted(entries, key=lambda e: e[1].url)
    ]


def _shard(name: str, file: Entry) -> Shard:
    """Describe a file by its path, which is made a file's name, its size, and its version or time of writing."""
    fingerprint = hash_text(f"{file.size} {file.written}", 12)
    return Shard(name.replace("/", "%2F"), file.url, fingerprint)
