"""The samples of a resharded subset, read from its tars from front to back, on a disk or behind an fsspec URL."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

import numpy as np

from benchmark.core import batch
from benchmark.core.batch import Sample, SampleError, counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.images import IMAGE_EXTENSIONS, MAX_BYTES, decode_image
from benchmark.core.output_folder import OutputFolder
from benchmark.core.storage import file_name, list_files, open_file
from benchmark.core.tar_members import Member, split_name, tar_members
from benchmark.core.uids import UidArray, UidIndex, encode_uids, read_subset
from benchmark.pool.layout import TAR
from benchmark.pool.other_captions import OtherCaptions
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import IDENTITY, META
from benchmark.pool.sample_fields import check_uid, pick_column
from benchmark.pool.subset_writer import STAMP, stamp
from benchmark.pool.tar_samples import MAX_CAPTION_BYTES, MAX_JSON_BYTES, parse_json, pick_caption

SIZES, UIDS = "shards/sizes.json", "sample_ids.npy"
HOW = "write the subset by task=reshard"
# Bytes that are read of each kind of file; one byte more shows that a file is too large.
_LIMITS = dict.fromkeys(IMAGE_EXTENSIONS, MAX_BYTES) | {"txt": MAX_CAPTION_BYTES, "json": MAX_JSON_BYTES}


class EncodedSample(NamedTuple):
    """The files of a sample by extension, in their order in the `tar`, a URL; `absent` says why there are none."""

    tar: str
    key: str
    files: dict[str, bytes]
    absent: str


class StreamedSubset:
    """A resharded subset, a `SampleStream` whose shards are its tars.

    Each sample is compared with the selection, and with the stamp that `reshard` gave it. In tars of DataComp's
    resharder, a selected sample counts wherever it is.

    Args:
        location: folder or fsspec URL, as `reshard` and DataComp's resharder write it.
        uids: all selected uids, sorted.
        captions: other captions of the samples.
        tolerate: fraction of the samples seen that may be lost (``selection.tolerate``).
        images: a local pool with its images, None without one.

    Raises:
        UserError: unless ``shards/sizes.json`` lists the tars.
    """

    def __init__(
        self,
        location: str,
        uids: UidArray,
        captions: OtherCaptions | None = None,
        tolerate: float = 0.0,
        images: Pool | None = None,
    ) -> None:
        files = {n: f for n, f in list_files(f"{location}/shards").items() if n.endswith(TAR)}
        folder = OutputFolder(location)
        sizes = folder.read_json(SIZES)
        valid = all(type(n) is int and 0 <= n < 2**31 for n in sizes.values())
        if not files or sizes.keys() != files.keys() or not valid:
            raise UserError(f"{location}/{SIZES} must have the number of samples of each tar; {HOW}")
        tars = [files[name] for name in sorted(files)]
        self.location = location
        self.urls = [tar.url for tar in tars]
        self.sizes = np.array([sizes[name] for name in sorted(files)], np.int64)
        self.sample_bytes = max((tar.size or 0) // max(1, sizes[tar.name]) for tar in tars)
        self.fingerprint = hash_json([[tar.name, tar.size, str(tar.written)] for tar in tars], 16)
        self.epochs = (range(len(self)),)
        self.captions = captions or OtherCaptions()
        self.caption_weights = self.captions.weights
        self.tolerate = tolerate
        self.missing: dict[str, int] = {}  # found while training
        self.pool = images
        self._selected = UidIndex(uids)
        self._identity = folder.read_json(META).get(IDENTITY)

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def identity(self, selection: str) -> str:
        """Return a hash of the selected uids' hash and of the tars: their division is part of the order."""
        return hash_json([selection, self.fingerprint])

    def read(self, shard: int, start: int, stop: int) -> Iterator[EncodedSample]:
        """Yield the samples `start` to `stop` - 1 of a tar.

        Raises `UserError` if the tar has more samples than ``sizes.json`` says.
        """
        url, damage = self.urls[shard], Counter[str]()
        with open_file(url, ahead=True) as file:
            samples = islice(groupby(_members(file, damage), itemgetter(0)), start, None)
            for _ in range(start, stop):
                key, members = next(samples, ("", iter(())))
                files: dict[str, bytes] = {}
                for _, extension, member in members:
                    if extension not in files:  # of a kind that a sample has twice, the first counts
                        file.seek(member.offset)
                        files[extension] = file.read(min(member.size, _LIMITS[extension] + 1))
                absent = batch.PAIR_OF_CORRUPT_SHARD if damage else batch.IMAGE_MISSING
                yield EncodedSample(url, key.rpartition("/")[2], files, absent)
            if stop == self.sizes[shard] and next(samples, None) is not None:
                raise UserError(f"{url} has more samples than {SIZES} says; {HOW}")

    def decode(self, encoded: EncodedSample) -> Sample:
        """Return the sample that has these files. Raises `SampleError`."""
        tar, key, files, absent = encoded
        if not files:
            raise SampleError(absent)
        fields = parse_json(files.get("json"))
        if self._identity is not None and not fields:
            raise SampleError(batch.METADATA_MISSING)
        text, _ = pick_caption(files.get("txt"), fields.get(pick_column("text", {}, fields) or ""))
        uid = check_uid(fields.get("uid"), fields.get("url"), key, text)
        image = next((files[extension] for extension in IMAGE_EXTENSIONS if extension in files), None)
        if image is None:
            raise SampleError(batch.IMAGE_MISSING)
        place, stamped = f"{self._identity}/{file_name(tar)}/{key}", str(fields.get(STAMP))
        is_elsewhere = self._identity is not None and not stamped.startswith(f"{place} ")
        if is_elsewhere or self._selected.find(encode_uids([uid]))[0] < 0:
            raise SampleError(batch.NOT_OF_THIS_TAR)
        decoded = decode_image(image)
        if self._identity is not None and stamped != stamp(place, text, image):
            raise SampleError(batch.CHECKSUM_DIFFERS)
        return Sample(uid, text, decoded, self.captions.by_uid.get(uid, ()))

    def check_lost(self, lost: Mapping[str, int], seen: int, tar: str) -> None:
        """Raise `UserError` if more than the fraction `tolerate` of an epoch, or of all samples seen, is lost."""
        if sum(lost.values()) > self.tolerate * max(seen, len(self)):
            raise UserError(
                f"{sum(lost.values()):,} of the {seen:,} samples seen cannot be used ({counts(lost)}; the last in"
                f" {tar}), more than selection.tolerate={self.tolerate:g} of {len(self):,}; write {self.location}"
                " again, or raise it"
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


def _members(file: BinaryIO, damage: Counter[str]) -> Iterator[tuple[str, str, Member]]:
    """Yield key, extension and place of the files of samples, without files of a key that is used again."""
    last, keys = "", set[str]()
    for member in tar_members(file, damage):
        key, extension = split_name(member.name)
        if extension.lower() in _LIMITS and key.rpartition("/")[2] and (key == last or key not in keys):
            keys.add(last := key)
            yield key, extension.lower(), member
