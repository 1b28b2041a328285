"""Evaluation sets with captions: Karpathy splits, COCO and NoCaps annotations, webdatasets."""

import hashlib
import json
import shutil
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.errors import UserError
from benchmark.core.images import decode_image
from benchmark.core.paths import atomic_write, cache_dir
from downstream.metrics.ranks import Ties

HOW = "the headers of conf/evalset say where to get it"
IMAGE_ENDINGS = ("webp", "png", "jpg", "jpeg")
MAX_SHARDS = 10_000
MAX_TEXT_BYTES = 1 << 20


@dataclass(frozen=True)
class ImageFile:
    """The location of an image's bytes: a file, or `size` bytes at `offset` in a tar."""

    path: Path
    offset: int = 0
    size: int = -1

    def load(self, image_id: int | str) -> Image.Image:
        """Return the image in RGB. Raises `UserError` if it cannot be read: fewer images would be another metric."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                return decode_image(file.read(self.size))
        except (OSError, SampleError) as error:
            raise UserError(f"evaluation image {image_id} in {self.path} cannot be read ({error})") from None


@dataclass(frozen=True)
class Item:
    """One image with its reference captions; `domain` is NoCaps's in-domain, near-domain or out-domain.

    Captions that are there already can be scored without the image.
    """

    image_id: int | str
    image: ImageFile | None
    references: list[str]
    domain: str | None = None

    def load(self) -> Image.Image:
        """Return the image in RGB. Raises `UserError`."""
        if self.image is None:
            raise UserError(
                f"evaluation image {self.image_id} is needed; set images of its evalset to their folder"
            )
        return self.image.load(self.image_id)


@dataclass(frozen=True)
class EvaluationSet:
    """Images with reference captions, and their use: captioning, retrieval, or both.

    `ties` is the rule of retrieval: "against" the model, or "topk", that of CLIP_benchmark (see `retrieval_metrics`).
    """

    name: str
    items: list[Item]
    captioning: bool
    retrieval: bool
    ties: Ties = "against"

    def __post_init__(self) -> None:
        if not self.items or self.items[0].image is not None:
            require_images(self.name, (item.image for item in self.items if item.image))
        require_known_ties(self.name, self.ties)
        for image, count in Counter(item.image_id for item in self.items).items():
            if count > 1:
                raise UserError(
                    f"evaluation set {self.name}: {count} images have the id {image}; ids (or tars' keys) must differ"
                )
        for item in self.items:
            if not item.references:
                raise UserError(f"evaluation set {self.name}: image {item.image_id} has no captions; {HOW}")
            odd = [caption for caption in item.references if not isinstance(caption, str)]
            if odd:
                raise UserError(
                    f"evaluation set {self.name}: caption {odd[0]!r} of image {item.image_id} must be text"
                )

    def __len__(self) -> int:
        return len(self.items)


def require_images(name: str, images: Iterable[ImageFile]) -> None:
    """Raise `UserError` unless the evaluation set `name` has images, and all their files exist."""
    paths = {image.path for image in images}
    if not paths:
        raise UserError(f"evaluation set {name} has no images; {HOW}")
    absent = [path for path in paths if not path.is_file()]
    if absent:
        files = f"{len(absent)} image files are" if len(absent) > 1 else "an image file is"
        raise UserError(f"evaluation set {name}: {files} missing ({min(absent)}); {HOW}")


def require_known_ties(name: str, ties: Ties) -> None:
    """Raise `UserError` unless `ties` is a rule for ties."""
    if ties not in get_args(Ties):
        raise UserError(f"evaluation set {name}: ties={ties} must be against or topk")


def karpathy(
    name: str,
    annotations: str,
    images: str | None,
    captioning: bool,
    retrieval: bool,
    split: str = "test",
    ties: Ties = "against",
) -> EvaluationSet:
    """Load one split of a Karpathy file (``dataset_coco.json``, ``dataset_flickr30k.json``).

    An image is at ``images/<filepath>/<filename>``; None loads no images, to score captions that are there already.
    Raises `UserError` for missing files and other formats.
    """
    with _reading(name, annotations, "a Karpathy split file") as content:
        items = [
            Item(
                image_id=entry.get("cocoid", entry["imgid"]),
                image=_image_file(images, entry.get("filepath", ""), entry["filename"]),
                references=[sentence["raw"] for sentence in entry["sentences"]],
            )
            for entry in content["images"]
            if entry["split"] == split
        ]
    return EvaluationSet(name, items, captioning, retrieval, ties)


def coco_captions(
    name: str,
    annotations: str,
    images: str | None,
    captioning: bool,
    retrieval: bool,
    ties: Ties = "against",
) -> EvaluationSet:
    """Load a COCO ``captions_*.json``, or that of NoCaps, which also names domains (Agrawal et al. 2019).

    An image is at ``images/<file_name>``; None loads no images, to score captions that are there already. Raises
    `UserError` for missing files and other formats.
    """
    with _reading(name, annotations, "a COCO captions file") as content:
        references: defaultdict[int, list[str]] = defaultdict(list)
        for annotation in content["annotations"]:
            references[annotation["image_id"]].append(annotation["caption"])
        items = [
            Item(
                image_id=entry["id"],
                image=_image_file(images, entry["file_name"]),
                references=references[entry["id"]],
                domain=entry.get("domain"),
            )
            for entry in content["images"]
        ]
    return EvaluationSet(name, items, captioning, retrieval, ties)


def _image_file(folder: str | None, *parts: str) -> ImageFile | None:
    return None if folder is None else ImageFile(Path(folder).expanduser().joinpath(*parts))


@contextmanager
def _reading(name: str, path: str, kind: str) -> Iterator[Any]:
    """Yield the JSON object in `path`; a missing file, or a key that the block does not find, is a `UserError`."""
    try:
        content = json.loads(Path(path).expanduser().read_text(encoding="utf-8-sig"))
    except OSError:
        raise UserError(f"evaluation set {name}: {path} is missing; {HOW}") from None
    except ValueError as error:
        raise UserError(f"evaluation set {name}: {path} must be JSON ({error}); fetch it again") from None
    if not isinstance(content, dict):
        raise UserError(
            f"evaluation set {name}: {path} must be {kind}, a JSON object, but holds a {type(content).__name__};"
            " fetch it again"
        )
    try:
        yield content
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"evaluation set {name}: {path} must be {kind} ({error} is missing); fetch it again"
        ) from None


def webdataset(
    name: str, url: str, captioning: bool, retrieval: bool, split: str = "test", ties: Ties = "against"
) -> EvaluationSet:
    """Load a retrieval set of the hub's CLIP benchmark (``clip-benchmark/wds_mscoco_captions``).

    Args:
        name: name of the set in results.
        url: folder or fsspec URL with ``<split>/nshards.txt`` and ``<split>/0.tar``, ``<split>/1.tar``, ...: for each
            key an image and a ``.txt`` file with one caption per line. Remote files are cached.
        captioning: whether captioners are evaluated on it.
        retrieval: whether retrieval is evaluated on it.
        split: folder of the tars.
        ties: see `EvaluationSet`.

    Raises:
        UserError: the set cannot be reached or has another layout.
    """
    items = []
    for path in tar_shards(name, f"{url.rstrip('/')}/{split}"):
        for key, image, text in tar_samples(name, path, "txt"):
            captions = [line.strip() for line in text.split("\n") if line.strip()]
            items.append(Item(key, image, captions))
    return EvaluationSet(name, items, captioning, retrieval, ties)


def tar_shards(name: str, base: str) -> Iterator[Path]:
    """Yield the tars ``base/0.tar``, ``base/1.tar``, ... counted by ``base/nshards.txt``, as local files."""
    count = local_file(name, f"{base}/nshards.txt").read_text(encoding="utf-8-sig").strip()
    if not (count.isascii() and count.isdigit() and int(count) <= MAX_SHARDS):
        raise UserError(
            f"evaluation set {name}: {base}/nshards.txt must hold the number of shards; fetch it again"
        )
    for shard in range(int(count)):
        yield local_file(name, f"{base}/{shard}.tar")


def local_file(name: str, url: str) -> Path:
    """Return the local path of `url`, after fetching it into the cache if it is remote."""
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    try:
        system, path = fsspec.core.url_to_fs(url)
        if isinstance(system, LocalFileSystem):
            if not Path(path).is_file():
                raise FileNotFoundError("no such file")
            return Path(path)
        folder, _, filename = url.rpartition("/")
        cached = cache_dir() / "evalsets" / hashlib.sha256(folder.encode()).hexdigest()[:16] / filename
        if not cached.exists():
            with (
                atomic_write(cached) as temporary,
                system.open(path, "rb") as remote,
                temporary.open("wb") as file,
            ):
                shutil.copyfileobj(remote, file, 1 << 20)
    except (OSError, ValueError, ImportError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"evaluation set {name}: {url} cannot be fetched ({reason}); {HOW}") from None
    return cached


class TarSample(NamedTuple):
    """A key of a tar with the location of its image in the tar, and its text."""

    key: str
    image: ImageFile
    text: str


def tar_samples(name: str, path: Path, ending: str) -> list[TarSample]:
    """Return the samples of a tar in its order; each must have an image and a text file ``key.ending``."""
    images: dict[str, ImageFile] = {}
    texts: dict[str, str] = {}
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, suffix = member.name.rpartition(".")
                file = tar.extractfile(member) if suffix == ending else None
                if file is not None:
                    texts[key] = file.read(MAX_TEXT_BYTES).decode("utf-8-sig", errors="replace")
                elif suffix in IMAGE_ENDINGS and member.isfile():
                    images[key] = ImageFile(path, member.offset_data, member.size)
    except (tarfile.TarError, OSError) as error:
        raise UserError(
            f"evaluation set {name}: {path} cannot be read as a tar ({error}); fetch it again"
        ) from None
    if images.keys() != texts.keys():
        incomplete = min(images.keys() ^ texts.keys())
        raise UserError(
            f"evaluation set {name}: sample {incomplete} in {path} must have an image and a .{ending} file"
        )
    return [TarSample(key, image, texts[key]) for key, image in images.items()]
