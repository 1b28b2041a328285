"""Evaluation sets in tars, as the hub's CLIP benchmark keeps them, fetched into the cache."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.core.images import IMAGE_EXTENSIONS
from benchmark.core.paths import atomic_write, cache_folder, user_path
from benchmark.core.requirements import OnFirstUseError
from benchmark.core.storage import download, find_file, is_remote
from benchmark.core.tar_members import Member, split_name, tar_members
from downstream.evaluation.image_files import HOW, ImageFile

MAX_TEXT_BYTES = 1 << 20


def tar_shards(name: str, base: str) -> list[Path]:
    """Return the tars ``base/0.tar``, ``base/1.tar``, ... counted by ``base/nshards.txt``, as local files.

    Raises `OnFirstUseError` if remote tars are not in the cache.
    """
    with local_file(name, f"{base}/nshards.txt").open("rb") as file:
        count = file.read(MAX_TEXT_BYTES).decode("utf-8-sig", errors="replace").strip()
    if not re.fullmatch("[0-9]{1,4}", count):
        raise UserError(
            f"evaluation set {name}: {base}/nshards.txt must hold the number of shards; fetch it again"
        )
    tars = [f"{base}/{shard}.tar" for shard in range(int(count))]
    _require_fetched(name, base, tars)
    return [local_file(name, tar) for tar in tars]


def local_file(name: str, url: str) -> Path:
    """Return the local path of `url`, after fetching it into the cache if it is remote."""
    with _fetching(name, url):
        if not is_remote(url):
            path = user_path(url).absolute()
            if not path.is_file():
                raise FileNotFoundError("no such file")
            return path
        cached = _cache_path(url)
        if not intact(cached):
            with atomic_write(cached) as temporary:
                download(url, temporary)
    return cached


def _require_fetched(name: str, base: str, tars: Sequence[str]) -> None:
    """Raise `OnFirstUseError` with the size of the remote `tars` that are not in the cache, if there are any."""
    if not is_remote(base):
        return
    absent = [tar for tar in tars if not intact(_cache_path(tar))]
    if absent:
        with _fetching(name, base):
            size = sum(find_file(tar).size or 0 for tar in absent)

        def fetch() -> None:
            for tar in absent:
                local_file(name, tar)

        raise OnFirstUseError(f"{base}: {size / 1e6:,.0f} MB", size, _cache_path(tars[0]).parent, fetch)


def _cache_path(url: str) -> Path:
    folder, _, filename = url.rpartition("/")
    return cache_folder("evalsets", hash_text(folder, 16)) / filename


@contextmanager
def _fetching(name: str, url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UserError) as error:
        reason = " ".join(str(error).removeprefix(f"{url}: ").split())[:200]
        raise UserError(f"evaluation set {name}: {url} cannot be fetched ({reason}); {HOW}") from None


class TarSample(NamedTuple):
    """A key of a tar with the location of its image in the tar, and its text."""

    key: str
    image: ImageFile
    text: str


def tar_samples(name: str, path: Path, ending: str) -> list[TarSample]:
    """Return the samples of a tar in its order; each must have one image and one text file ``key.ending``.

    Keys end at the first dot, as in pools and webdataset; hidden files, such as macOS' ``._0.jpg``, are left out.
    Raises `UserError` unless it is whole: fewer images would be another metric.
    """
    files: dict[str, dict[str, Member]] = {}  # by key and extension
    drops, repeated, previous = Counter[str](), set[str](), ""
    with path.open("rb") as file:
        for member in tar_members(file, drops):
            key, extension = split_name(member.name)
            if not key.rpartition("/")[2]:
                continue
            suffix = extension.lower()
            if suffix in (ending, *IMAGE_EXTENSIONS):
                kinds = files.setdefault(key, {})
                # A .png next to a .jpg is the same image.
                if suffix in kinds or (suffix != ending and key != previous and kinds.keys() - {ending}):
                    repeated.add(key)
                kinds[suffix] = member
            elif suffix.rpartition(".")[2] in IMAGE_EXTENSIONS:
                files.setdefault(key, {})  # a second dot cuts the key short: without an image it is refused
            previous = key
        if drops:
            raise UserError(f"evaluation set {name}: {path} is cut or damaged, or not a tar; fetch it again")
        samples = []
        for key, kinds in files.items():
            image = next((kinds[kind] for kind in IMAGE_EXTENSIONS if kind in kinds), None)
            if image is None or ending not in kinds or key in repeated:
                raise UserError(
                    f"evaluation set {name}: sample {key} in {path} must have one image and one .{ending} file;"
                    " fetch it again, or write it again with one dot in each name, at which webdataset ends the key"
                )
            location = ImageFile(path, image.offset, image.size)
            samples.append(TarSample(key, location, _text(name, file, kinds[ending])))
        return samples


def _text(name: str, file: BinaryIO, member: Member) -> str:
    if member.size > MAX_TEXT_BYTES:
        raise UserError(
            f"evaluation set {name}: {member.name} in {file.name} has {member.size:,} bytes; texts may have"
            f" {MAX_TEXT_BYTES:,}"
        )
    file.seek(member.offset)
    return file.read(member.size).decode("utf-8-sig", errors="replace")
