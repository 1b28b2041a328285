"""The samples of a resharded subset, read from its tars from front to back, on a disk or behind an fsspec URL."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np

from benchmark.core.batch import IMAGE_MISSING, Sample, SampleError, counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.images import IMAGE_EXTENSIONS, MAX_BYTES, decode_image
from benchmark.core.output_folder import OutputFolder
from benchmark.core.storage import list_files, open_file
from benchmark.core.tar_members import split_name, tar_members
from benchmark.core.uids import UidArray, read_subset
from benchmark.pool.layout import TAR
from benchmark.pool.other_captions import OtherCaptions
from benchmark.pool.pool import Pool
from benchmark.pool.sample_fields import check_uid, pick_column
from benchmark.pool.tar_samples import MAX_CAPTION_BYTES, MAX_JSON_BYTES, parse_json, pick_caption

SIZES, UIDS = "shards/sizes.json", "sample_ids.npy"
HOW = "write the subset by task=reshard"
# Bytes that are read of each kind of file; one byte more shows that a file is too large.
_LIMITS = dict.fromkeys(IMAGE_EXTENSIONS, MAX_BYTES) | {"txt": MAX_CAPTION_BYTES, "json": MAX_JSON_BYTES}


class StreamedSubset:
    """A resharded subset, a `SampleStream` whose shards are its tars.

    Args:
        location: folder or fsspec URL, as `reshard` and DataComp's resharder write it.
        captions: other captions of the samples.
        tolerate: fraction of the samples seen that may be unreadable (``selection.tolerate``).
        images: a local pool with its images, None without one.

    Raises:
        UserError: unless ``shards/sizes.json`` lists the tars.
    """

    def __init__(
        self,
        location: str,
        captions: OtherCaptions | None = None,
        tolerate: float = 0.0,
        images: Pool | None = None,
    ) -> None:
        files = {n: f for n, f in list_files(f"{location}/shards").items() if n.endswith(TAR)}
        sizes = _sizes(location)
        if not files or sizes.keys() != files.keys():
            raise UserError(f"{location}/{SIZES} must have the number of samples of each tar; {HOW}")
        tars = [files[name] for name in sorted(files)]
        self.location = location
        self.urls = [tar.url for tar in tars]
        self.sizes = np.array([sizes[name] for name in sorted(files)], np.int64)
        self.sample_bytes = int(
            max((tar.size or 0) // max(1, n) for tar, n in zip(tars, self.sizes, strict=True))
        )
        self.fingerprint = hash_json([[tar.name, tar.size, str(tar.written)] for tar in tars], 16)
        self.captions = captions or OtherCaptions()
        self.tolerate = tolerate
        self.missing = Counter[str]()  # selected uids that are not in it, by reason
        self.pool = images

    @property
    def lost(self) -> dict[str, int]:
        """Selected samples that are not in the tars, by reason; unreadable ones are counted in the training."""
        return dict(self.missing)

    @property
    def epochs(self) -> tuple[range]:
        """All samples, the one epoch."""
        return (range(len(self)),)

    @property
    def caption_weights(self) -> tuple[float, ...]:
        """The weight of the loss of each other caption, see `OtherCaptions`."""
        return self.captions.weights

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def identity(self, selection: str) -> str:
        """Return a hash of the selected uids' hash and of the tars: their division is part of the order."""
        return hash_json([selection, self.fingerprint])

    def read(self, shard: int, start: int, stop: int) -> Iterator[dict[str, Any] | None]:
        """Yield the files of samples `start` to `stop` - 1 of a tar by extension, None for each that it lacks.

        Raises `UserError` if the tar has more samples than ``sizes.json`` says.
        """
        from webdataset.tariterators import group_by_keys  # it imports torch

        url = self.urls[shard]
        with open_file(url, ahead=True) as file:
            # A kind of file that a sample has twice is an error, after which the first counts.
            samples = islice(group_by_keys(_members(file, url), handler=lambda _: True), start, None)
            for _ in range(start, stop):
                yield next(samples, None)
            if stop == self.sizes[shard] and next(samples, None) is not None:
                raise UserError(f"{url} has more samples than {SIZES} says; {HOW}")

    def decode(self, files: dict[str, Any] | None) -> Sample:
        """Return the sample that has these files. Raises `SampleError`."""
        image = next((files[kind] for kind in IMAGE_EXTENSIONS if kind in files), None) if files else None
        if files is None or image is None:
            raise SampleError(IMAGE_MISSING)
        fields = parse_json(files.get("json"))
        listed = fields.get(pick_column("text", {}, fields) or "")
        text, _ = pick_caption(files.get("txt"), listed)
        uid = check_uid(fields.get("uid"), fields.get("url"), files["__key__"], text)
        return Sample(uid, text, decode_image(image), self.captions.by_uid.get(uid, ()))

    def check_lost(self, lost: Mapping[str, int], seen: int) -> None:
        """Raise `UserError` if more than the fraction `tolerate` of an epoch, or of all samples seen, is lost."""
        if sum(lost.values()) > self.tolerate * max(seen, len(self)):
            raise UserError(
                f"{sum(lost.values()):,} of the {seen:,} samples seen cannot be read ({counts(lost)}), which is more"
                f" than selection.tolerate={self.tolerate:g} of {len(self):,}; complete {self.location}, or raise it"
            )


def holds(location: str, uids: UidArray) -> bool:
    """Return whether a folder is a resharded subset of exactly these sorted uids."""
    folder = OutputFolder(location)
    if UIDS not in folder.names():
        return False
    with TemporaryDirectory(prefix="pairsift-") as temporary:
        path = Path(temporary) / UIDS
        path.write_bytes(folder.read(UIDS))
        return np.array_equal(read_subset(path), uids)


def _sizes(location: str) -> dict[str, int]:
    """Return the number of samples of each tar that ``sizes.json`` lists; {} unless it is such a file."""
    folder, _, name = SIZES.partition("/")
    files = OutputFolder(location)
    try:
        sizes = json.loads(files.read(SIZES)) if name in files.names(folder) else {}
    except ValueError:
        return {}
    is_valid = isinstance(sizes, dict) and all(type(n) is int and 0 <= n < 2**31 for n in sizes.values())
    return sizes if is_valid else {}


def _members(file: BinaryIO, url: str) -> Iterator[dict[str, Any]]:
    """Yield the files of a tar that samples consist of, as webdataset's own reader does."""
    for member in tar_members(file, Counter()):
        limit = _LIMITS.get(split_name(member.name)[1].lower())
        if limit is not None:
            file.seek(member.offset)
            yield {"fname": member.name, "data": file.read(min(member.size, limit + 1)), "__url__": url}
