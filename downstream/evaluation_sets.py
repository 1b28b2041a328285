"""Evaluation sets, from the files the field shares: Karpathy's splits, COCO and NoCaps annotations, webdatasets."""

import hashlib
import json
import shutil
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from benchmark.batch import SampleError
from benchmark.errors import UserError
from benchmark.images import decode_image
from benchmark.paths import atomic_write, cache_dir

HOW = "the files in conf/evalset say where to get it"
IMAGE_ENDINGS = ("webp", "png", "jpg", "jpeg")
MAX_SHARDS = 10_000
MAX_CAPTION_BYTES = 1 << 20


@dataclass(frozen=True)
class ImageFile:
    """Where the bytes of an image lie: a file, or `size` bytes at `offset` of a tar."""

    path: Path
    offset: int = 0
    size: int = -1


@dataclass(frozen=True)
class Item:
    """One image with its reference captions; `domain` is NoCaps's in-domain, near-domain or out-domain."""

    image_id: int | str
    image: ImageFile
    references: list[str]
    domain: str | None = None

    def load(self) -> Image.Image:
        """Return the image in RGB. Raises `UserError`: a metric over fewer images would not be the metric."""
        try:
            with self.image.path.open("rb") as file:
                file.seek(self.image.offset)
                return decode_image(file.read(self.image.size))
        except (OSError, SampleError) as error:
            raise UserError(
                f"evaluation image {self.image_id} in {self.image.path} cannot be read ({error})"
            ) from None


@dataclass(frozen=True)
class EvaluationSet:
    """Images with references, and what they are for: captioning, retrieval, or both."""

    name: str
    items: list[Item]
    captioning: bool
    retrieval: bool

    def __post_init__(self) -> None:
        bare = [item for item in self.items if not item.references]
        if bare:
            raise UserError(f"evaluation set {self.name}: image {bare[0].image_id} has no captions")
        if not self.items:
            raise UserError(f"evaluation set {self.name} has no images; {HOW}")
        absent = [path for path in {item.image.path for item in self.items} if not path.is_file()]
        if absent:
            count = f"{len(absent)} of its image files are" if len(absent) > 1 else "an image file is"
            raise UserError(f"evaluation set {self.name}: {count} not there ({min(absent)}); {HOW}")

    def __len__(self) -> int:
        return len(self.items)


def karpathy(
    name: str, annotations: str, images: str, captioning: bool, retrieval: bool, split: str = "test"
) -> EvaluationSet:
    """Load one split of a Karpathy file (``dataset_coco.json``, ``dataset_flickr30k.json``).

    An image lies at ``images/<filepath>/<filename>``. Raises `UserError` for files that are missing or others.
    """
    root = Path(images).expanduser()
    with _reading(name, annotations, "a Karpathy split file") as content:
        items = [
            Item(
                image_id=entry.get("cocoid", entry["imgid"]),
                image=ImageFile(root / entry.get("filepath", "") / entry["filename"]),
                references=[sentence["raw"] for sentence in entry["sentences"]],
            )
            for entry in content["images"]
            if entry["split"] == split
        ]
    return EvaluationSet(name, items, captioning, retrieval)


def coco_captions(
    name: str, annotations: str, images: str, captioning: bool, retrieval: bool
) -> EvaluationSet:
    """Load a COCO ``captions_*.json``, or NoCaps's, which also names a domain (Agrawal et al. 2019).

    An image lies at ``images/<file_name>``. Raises `UserError` for files that are missing or others.
    """
    root = Path(images).expanduser()
    with _reading(name, annotations, "a COCO captions file") as content:
        references: defaultdict[int, list[str]] = defaultdict(list)
        for annotation in content["annotations"]:
            references[annotation["image_id"]].append(annotation["caption"])
        items = [
            Item(
                image_id=entry["id"],
                image=ImageFile(root / entry["file_name"]),
                references=references[entry["id"]],
                domain=entry.get("domain"),
            )
            for entry in content["images"]
        ]
    return EvaluationSet(name, items, captioning, retrieval)


@contextmanager
def _reading(name: str, path: str, kind: str) -> Iterator[Any]:
    """Yield the JSON in `path`; a missing file, or one that lacks what the block looks for, is a `UserError`."""
    try:
        content = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError:
        raise UserError(f"evaluation set {name}: {path} is not there; {HOW}") from None
    except ValueError as error:
        raise UserError(f"evaluation set {name}: {path} is no JSON ({error}); fetch it again") from None
    try:
        yield content
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"evaluation set {name}: {path} is not {kind} ({error} is missing)") from None


def webdataset(name: str, url: str, captioning: bool, retrieval: bool, split: str = "test") -> EvaluationSet:
    """Load a retrieval set of the hub's CLIP benchmark (``clip-benchmark/wds_mscoco_captions``).

    Args:
        name: what results call it.
        url: folder or fsspec URL with ``<split>/nshards.txt`` and ``<split>/0.tar`` and on: of each key an image
            and a ``.txt`` with a caption a line. Remote files are kept in the cache folder.
        captioning: use it for captioning.
        retrieval: use it for retrieval.
        split: folder of the tars.

    Raises:
        UserError: when it cannot be reached or has another layout.
    """
    base = f"{url.rstrip('/')}/{split}"
    count = _local_file(name, f"{base}/nshards.txt").read_text(encoding="utf-8").strip()
    if not (count.isascii() and count.isdigit() and int(count) <= MAX_SHARDS):
        raise UserError(f"evaluation set {name}: {base}/nshards.txt holds no number of shards")
    items = []
    for shard in range(int(count)):
        items += _tar_items(name, _local_file(name, f"{base}/{shard}.tar"))
    return EvaluationSet(name, items, captioning, retrieval)


def _local_file(name: str, url: str) -> Path:
    """Return `url` as a file of this machine, fetched into the cache if it is remote."""
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    try:
        system, path = fsspec.core.url_to_fs(url)
        if isinstance(system, LocalFileSystem):
            if not Path(path).is_file():
                raise FileNotFoundError("no such file")
            return Path(path)
        folder, _, filename = url.rpartition("/")
        kept = cache_dir() / "evalsets" / hashlib.sha256(folder.encode()).hexdigest()[:16] / filename
        if not kept.exists():
            with (
                atomic_write(kept) as temporary,
                system.open(path, "rb") as remote,
                temporary.open("wb") as file,
            ):
                shutil.copyfileobj(remote, file, 1 << 20)
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"evaluation set {name}: {url} cannot be had ({reason}); {HOW}") from None
    return kept


def _tar_items(name: str, path: Path) -> list[Item]:
    """Return the items of one tar, in its order; images stay in the tar."""
    images: dict[str, ImageFile] = {}
    captions: dict[str, list[str]] = {}
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, ending = member.name.rpartition(".")
                file = tar.extractfile(member) if ending == "txt" else None
                if file is not None:
                    lines = file.read(MAX_CAPTION_BYTES).decode("utf-8", errors="replace").split("\n")
                    captions[key] = [line.strip() for line in lines if line.strip()]
                elif ending in IMAGE_ENDINGS and member.isfile():
                    images[key] = ImageFile(path, member.offset_data, member.size)
    except (tarfile.TarError, OSError) as error:
        raise UserError(
            f"evaluation set {name}: {path} is no readable tar ({error}); fetch it again"
        ) from None
    if images.keys() != captions.keys():
        odd = min(images.keys() ^ captions.keys())
        raise UserError(
            f"evaluation set {name}: in {path} sample {odd} lacks its image or its .txt of captions"
        )
    return [Item(key, image, captions[key]) for key, image in images.items()]
