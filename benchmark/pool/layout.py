"""The shards of a pool in img2dataset's or DataComp's layout, nested or listed, and the fields that they have."""

import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain, product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.fingerprints import content_hash, digest_path, file_version
from benchmark.core.paths import refuse_pointers
from benchmark.core.prefetch import prefetch_map
from benchmark.core.progress import tracked
from benchmark.core.storage import (
    CONNECTIONS,
    Entry,
    file_name,
    find_file,
    is_remote,
    list_files,
    list_folder,
    open_file,
)
from benchmark.pool.sample_fields import ALL_CAPTIONS, image_columns, known_names, pick_column
from benchmark.pool.tar_samples import field_names

log = logging.getLogger(__name__)
TAR, PARQUET = ".tar", ".parquet"
DEPTH = 3  # folders that are searched below the one where shards may be nested
# Types of captions: of Arrow, of lists in Arrow, and of JSON.
_TEXT = re.compile(r"((large_|fixed_size_)?list<\w+: )?((large_)?(string|binary)|dictionary)|str$|null|None")
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Shard:
    """One tar or one metadata parquet. `version` changes when the file does, and with its place."""

    name: str
    url: str
    version: str

    @property
    def fingerprint(self) -> str:
        """A hash of the content of a local file, which is read for it once; of a remote one, the version."""
        return self.version if is_remote(self.url) else content_hash(self.path, self.version)

    @property
    def is_identified(self) -> bool:
        """Whether `fingerprint` is known without reading the file."""
        return is_remote(self.url) or digest_path(self.version).is_file()

    @property
    def is_tar(self) -> bool:
        """Whether this shard holds images."""
        return file_name(self.url).endswith(TAR)

    @property
    def path(self) -> Path:
        """The path of a shard of a local pool."""
        return Path(self.url.removeprefix("file://"))


def identify(shards: Sequence[Shard]) -> Sequence[Shard]:
    """Return the shards after reading, with a progress bar, the files that are not identified yet."""
    unread = [shard for shard in shards if not shard.is_identified]
    fingerprints = prefetch_map(lambda shard: shard.fingerprint, unread, CONNECTIONS)
    for _ in tracked("identify", fingerprints, len(unread), "shards"):
        pass
    return shards


def find_shards(url: str) -> tuple[list[Shard], list[Shard]]:
    """Return the tars and the metadata parquets of a pool, each sorted by path.

    A folder holds ``shards/*.tar`` or ``*.tar``, and ``metadata/*.parquet``, ``*.parquet`` or ``shards/*.parquet``.
    Only if there is none of these, deeper folders are searched. Instead of a folder, `url` may list files, as
    webdataset's do: ``shards/{00000..00099}.tar``, ``data/train-*.parquet``, several such patterns joined by ``::``.

    Raises `UserError` for anything named like a shard there that is not a file.
    """
    patterns = url.split("::")
    is_folder = not is_remote(url) and Path(url.removeprefix("file://")).is_dir()  # Spark's x.parquet is one
    listed = not is_folder and all(file_name(pattern).endswith((TAR, PARQUET)) for pattern in patterns)
    tars, metadata = _listed(patterns) if listed else _in_folder(url)
    if not is_remote(url):
        paths = {shard.path for shard in (*tars, *metadata)}
        if not listed:  # all that is named like a shard in their folders
            named = (path for folder in {path.parent for path in paths} for path in folder.iterdir())
            paths = {p for p in named if p.suffix in (TAR, PARQUET) and not p.name.startswith(".")}
        if odd := [path for path in paths if not path.is_file()]:  # a pipe would be waited for without end
            raise UserError(
                f"pool.url: {min(odd)} must be a file, not a folder, pipe, device or broken link; move it elsewhere"
            )
        refuse_pointers(paths)
    return tars, metadata


def _listed(patterns: Sequence[str]) -> tuple[list[Shard], list[Shard]]:
    urls = [file for pattern in patterns for name in expand_braces(pattern) for file in _matching(name)]
    found = list(prefetch_map(find_file, urls, CONNECTIONS))
    names = [file_name(file.url) for file in found]
    if len(set(names)) < len(names):  # they are named by their paths below the folder that holds all
        paths = [file.url.partition("?")[0] for file in found]
        shared = os.path.commonprefix(paths).rpartition("/")[0]  # noqa: RUF071  of URLs
        names = [path.removeprefix(f"{shared}/") for path in paths]
    files = dict(zip(names, found, strict=True))
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


def _matching(url: str) -> list[str]:
    """Return the URLs of the files named by a pattern with ``*``; a URL without it as it is."""
    folder, _, pattern = url.rpartition("/")
    if "*" not in pattern:
        return [url]
    urls = [entry.url for entry in list_folder(folder or ".") if fnmatchcase(entry.name, pattern)]
    if not urls:
        raise UserError(f"pool.url={url}: no file has such a name; list the folder, and give a name in it")
    return urls


def expand_braces(pattern: str) -> list[str]:
    """Expand ``{00..11}`` and ``{a,b}`` in `pattern`. Raises `UserError` for a malformed range."""
    choices = []
    for number, part in enumerate(_BRACES.split(pattern)):
        first, dots, last = part.partition("..")
        if number % 2 == 0:  # outside of braces
            choices.append([part])
        elif not dots:
            choices.append(part.split(","))
        elif first.isdecimal() and last.isdecimal() and int(first) <= int(last):
            choices.append([str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)])
        else:
            raise UserError(f"pool.url={pattern}: {{{part}}} must be a range like {{00000..00099}}")
    return ["".join(chosen) for chosen in product(*choices)]


def _shards(files: Mapping[str, Entry], suffix: str) -> list[Shard]:
    """Return the files with names that end in `suffix`, sorted by path."""

    def shard(name: str) -> Shard:
        return Shard(
            name.removesuffix(suffix).replace("/", "%2F"), files[name].url, file_version(files[name])
        )

    shards = prefetch_map(shard, [name for name in files if name.endswith(suffix)], CONNECTIONS)
    return sorted(shards, key=lambda shard: shard.url)


class PoolFields:
    """The fields of the files of a pool.

    Args:
        pool: name of the pool, for messages.
        columns: our column names to the file's.
        metadata: the parquet files.
        tars: the tars; the JSON of the first sample of the first is read if it is local.
    """

    def __init__(
        self, pool: str, columns: Mapping[str, str], metadata: Sequence[Shard], tars: Sequence[Shard]
    ) -> None:
        self._pool = pool
        self._columns = columns
        self._metadata = metadata
        self._has_tars = bool(tars)
        self._tar = tars[0].path if tars and not is_remote(tars[0].url) else None

    @cached_property
    def image_column(self) -> str | None:
        """The column of the parquet files with the images; None for a pool with tars, and without such a column."""
        columns = [] if self._has_tars else image_columns(self._schema or pa.schema([]), self._columns)
        return columns[0] if len(columns) == 1 else None

    @cached_property
    def lists_captions(self) -> bool:
        """Whether the column of captions, as far as it is known, holds lists."""
        kinds = self._kinds()
        return "list" in kinds.get(pick_column(ALL_CAPTIONS, self._columns, kinds) or "", "")

    @cached_property
    def keyed(self) -> bool:
        """Whether keys distinguish samples without uid and url: False if the metadata lacks keys."""
        if self._schema is None or self.image_column is not None:
            return True
        names = self._schema.names
        present = [ours for ours in ("uid", "url", "key") if pick_column(ours, self._columns, names)]
        if not present:
            log.warning(
                "pool %s has no column uid, url or key: captions tell its pairs apart, and those with the same"
                " caption count as one; its columns are %s (name that of urls with pool.columns.url=NAME)",
                self._pool,
                ", ".join(names),
            )
        return "key" in present

    def check_names(self) -> None:
        """Raise `UserError` for a name in ``pool.columns`` that neither the files nor other data sets have."""
        self._check_file_names()
        named = {ours: name for ours, name in self._columns.items() if name not in known_names(ours)}
        if not named:
            return
        present = set[str]()
        of_tar = [] if self._tar is None else [[*chain(*field_names(self._tar))]]
        for names in chain((schema.names for schema in self._schemas()), of_tar):
            present.update(names)
            if present.issuperset(named.values()):
                return
        if present:
            ours, name = next((ours, name) for ours, name in named.items() if name not in present)
            raise UserError(
                f"pool.columns.{ours}={name}: pool {self._pool} has no such column; {did_you_mean(name, present)}"
            )

    def _check_file_names(self) -> None:
        """Warn if `row_keys` of several files with images inside are the same."""
        names = self._schema.names if self.image_column and self._schema else []
        if not names or any(pick_column(ours, self._columns, names) for ours in ("uid", "url", "key")):
            return
        files = Counter(file_name(shard.url).rpartition("%2F")[2] for shard in self._metadata)
        if repeated := [name for name, count in files.items() if count > 1]:
            log.warning(
                "pool %s has several files %s, and no column uid, url or key: pairs with one caption in one row of"
                " these count as one pair; rename the files, or give one folder as pool.url",
                self._pool,
                repeated[0],
            )

    def check_columns(self, columns: Collection[str]) -> None:
        """Raise `UserError` for one of our columns that no parquet has; opens them until all columns are found."""
        present = set[str]()
        for schema in self._schemas():
            present.update(schema.names)
            missing = sorted(c for c in columns if pick_column(c, self._columns, present) is None)
            if not missing:
                break
        kinds = self._kinds()
        kind = kinds.get(pick_column("text", self._columns, kinds) or "", "")
        if "<" in kind and not _TEXT.match(kind):  # nested; of other types some files may hold text
            raise UserError(f"pool {self._pool}: {self.naming_hint()}")
        if present and missing:
            nsfw = "name it with pool.columns.nsfw, or set pool.nsfw=[] to keep all samples"
            hints = {"nsfw": nsfw, "text": self.naming_hint()}
            hint = hints.get(missing[0]) or did_you_mean(missing[0], present)
            raise UserError(f"pool {self._pool} has no column {missing[0]!r} in its metadata; {hint}")

    def naming_hint(self) -> str:
        """Return the fields of the first file that can be read, and how to name the fields of a pair."""
        kinds = self._kinds()
        if not kinds and self._tar is not None:
            held = " and ".join(f".{extension}" for extension in field_names(self._tar)[1]) or "nothing"
            return (
                f"its tars hold {held}: images must end in .jpg, .png, ..., captions in .txt or .json; name other"
                " extensions with pool.columns.image=NAME pool.columns.text=NAME"
            )
        held = ", ".join(f"{name} ({kind})" for name, kind in kinds.items()) or "none"
        return (
            f"its columns are {held}; name that of the captions, one text per pair, with pool.columns.text=NAME, that"
            " of the urls with pool.columns.url=NAME, and that of encoded images, as binary or as struct<bytes:"
            " binary, path: string>, with pool.columns.image=NAME"
        )

    def images_hint(self) -> str:
        """Return how to get the images of a pool that has neither tars nor images in its parquet files."""
        has_images = bool(image_columns(self._schema or pa.schema([]), self._columns))
        if has_images or "image" in self._columns or not pick_column("url", self._columns, self._kinds()):
            return self.naming_hint()
        return (
            "choose pairs by their captions with task=export filter=icc in place of this command's task and filter,"
            " and download their images with the img2dataset command in the README.md that it writes"
        )

    def _kinds(self) -> dict[str, str]:
        """Return the type of each field of the first file that can be read; of JSON the names of Python's types."""
        if self._schema is not None:
            return {field.name: str(field.type) for field in self._schema}
        fields = {} if self._tar is None else field_names(self._tar)[0]
        return {name: type(value).__name__ for name, value in fields.items()}

    @cached_property
    def _schema(self) -> pa.Schema | None:
        """The columns of the first metadata parquet that can be opened."""
        return next(self._schemas(), None)

    def _schemas(self) -> Iterator[pa.Schema]:
        """Yield the columns of each metadata parquet that can be opened."""
        for shard in self._metadata:
            try:
                with open_file(shard.url) as file:
                    schema = pq.ParquetFile(file).schema_arrow
                    _ = schema.names
            except DAMAGE:
                continue  # a broken file; the next one shows the columns
            yield schema
