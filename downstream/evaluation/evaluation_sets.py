"""Evaluation sets with captions: Karpathy splits, COCO and NoCaps annotations, webdatasets."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.fetched_files import fetch_files, fetch_members
from benchmark.core.hashes import hash_json
from benchmark.core.paths import user_path
from benchmark.core.ranges import Name, checked
from benchmark.core.requirements import AbsentError, NotFetchedError, OnFirstUseError
from downstream.evaluation.image_files import HOW, digest_images, require_images
from downstream.evaluation.image_files import ImageFile as ImageFile
from downstream.evaluation.tars import tar_samples, tar_shards
from downstream.metrics.rank_metrics import Ties

KARPATHY, COCO = "a Karpathy split file", "a COCO captions file"


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
class Source:
    """Addresses from which task=fetch gets an evaluation set."""

    annotations: str  # the file with references; for a Karpathy split, a zip with it
    images: str | None = None  # a folder of zips, each with the images of one folder
    form: str | None = None  # page where images are sent on request, for whoever fetches them by hand
    size: int = 0  # bytes on the disk, 0 if unknown


@checked
@dataclass(frozen=True)
class EvaluationSet:
    """Images with reference captions, and their use: captioning, retrieval, or both."""

    name: str
    items: list[Item]
    captioning: bool
    retrieval: bool
    # Rule for ties in retrieval: "against" the model, or "topk" as in CLIP_benchmark (see `retrieval_metrics`).
    ties: Ties = "against"

    def __post_init__(self) -> None:
        if not self.items:
            raise UserError(f"evaluation set {self.name} lists no images; give its whole file")
        if self.items[0].image is not None:
            require_images(self.name, (item.image for item in self.items if item.image))
        odd_ids = [item.image_id for item in self.items if type(item.image_id) not in (int, str)]
        if odd_ids:
            raise UserError(
                f"evaluation set {self.name}: image id {odd_ids[0]!r} must be a whole number or text"
            )
        for image, count in Counter(item.image_id for item in self.items).items():
            if count > 1:
                raise UserError(
                    f"evaluation set {self.name}: {count} images have the id {image}; ids (or tars' keys) must differ"
                )
        for item in self.items:
            if not item.references:
                raise UserError(
                    f"evaluation set {self.name}: image {item.image_id} has no captions in its file"
                )
            odd = [caption for caption in item.references if not _is_text(caption)]
            if odd:
                raise UserError(
                    f"evaluation set {self.name}: caption {odd[0]!r} of image {item.image_id} must be text in UTF-8"
                )

    def __len__(self) -> int:
        return len(self.items)

    def first(self, count: int) -> "EvaluationSet":
        """Return its first `count` images."""
        return replace(self, items=self.items[:count])

    def fingerprint(self) -> str:
        """Return a hash of all inputs of the metrics: the images' bytes, references, domains, uses, ties."""
        items = [[item.image_id, item.references, item.domain] for item in self.items]
        images = [digest.sha256 for digest in digest_images(self.image_files())]
        return hash_json([items, images, self.captioning, self.retrieval, self.ties], 12)

    def image_files(self) -> list[ImageFile]:
        """Return the files of the images, of all items that have one."""
        return [item.image for item in self.items if item.image]


def _is_text(value: object) -> bool:
    """Tell whether a value of JSON is text that can be written as UTF-8, which a lone surrogate cannot."""
    return isinstance(value, str) and (
        value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    )


def karpathy(
    name: Name,
    annotations: str,
    images: str | None,
    captioning: bool,
    retrieval: bool,
    split: str = "test",
    ties: Ties = "against",
    source: Source | None = None,
) -> EvaluationSet:
    """Load a split of a Karpathy file (``dataset_coco.json``, ``dataset_flickr30k.json``), or several (``val+test``).

    An image is at ``images/<filepath>/<filename>``; None loads no images, to score captions that are there already.
    Raises `UserError` for missing files and other formats; `NotFetchedError` if `source` has the missing files.
    """

    def parse(content: Any) -> list[Item]:
        listed = {str(entry["split"]) for entry in content["images"]}
        if wrong := [part for part in split.split("+") if part not in listed]:
            raise UserError(
                f"evaluation set {name}: split={split} must be of {annotations}, whose splits are"
                f" {', '.join(sorted(listed)) or 'none'}; it has no {wrong[0]!r}"
            )
        return [
            Item(
                image_id=entry.get("cocoid", entry["imgid"]),
                image=_image_file(images, entry.get("filepath", ""), entry["filename"]),
                references=[sentence["raw"] for sentence in entry["sentences"]],
            )
            for entry in content["images"]
            if entry["split"] in split.split("+")
        ]

    def fetch(source: Source) -> None:
        file, zips = user_path(annotations), defaultdict[str, dict[Path, str]](dict)
        fetch_members(source.annotations, {file: file.name})
        for item in _items(name, annotations, KARPATHY, parse) if source.images else ():
            if item.image:
                member = item.image.path.relative_to(user_path(str(images)))
                zips[f"{source.images}/{member.parts[0]}.zip"][item.image.path] = str(member)
        for url, members in zips.items():
            fetch_members(url, members)

    with _fetched_from(source, name, annotations, fetch):
        return EvaluationSet(name, _items(name, annotations, KARPATHY, parse), captioning, retrieval, ties)


def coco_captions(
    name: Name,
    annotations: str,
    images: str | None,
    captioning: bool,
    retrieval: bool,
    ties: Ties = "against",
    source: Source | None = None,
) -> EvaluationSet:
    """Load a COCO ``captions_*.json``, or that of NoCaps, which also names domains (Agrawal et al. 2019).

    An image is at ``images/<file_name>``; None loads no images, to score captions that are there already. With a
    `source` each is fetched from its ``coco_url`` in the file. Raises as `karpathy`.
    """

    def parse(content: Any) -> list[Item]:
        references: defaultdict[str, list[str]] = defaultdict(list)  # by ids as text: some files quote them
        for annotation in content["annotations"]:
            references[str(annotation["image_id"])].append(annotation["caption"])
        return [
            Item(
                image_id=entry["id"],
                image=_image_file(images, entry["file_name"]),
                references=references[str(entry["id"])],
                domain=entry.get("domain"),
            )
            for entry in content["images"]
        ]

    def fetch(source: Source) -> None:
        fetch_files({user_path(annotations): source.annotations})
        with _reading(name, annotations, COCO) as content:
            files = {_image_file(images, e["file_name"]): e["coco_url"] for e in content["images"]}
        fetch_files({file.path: url for file, url in files.items() if file})

    with _fetched_from(source, name, annotations, fetch):
        return EvaluationSet(name, _items(name, annotations, COCO, parse), captioning, retrieval, ties)


def _items(name: str, path: str, kind: str, parse: Callable[[Any], list[Item]]) -> list[Item]:
    with _reading(name, path, kind) as content:
        return parse(content)


@contextmanager
def _fetched_from(
    source: Source | None, name: str, annotations: str, fetch: Callable[[Source], None]
) -> Iterator[None]:
    """Let task=fetch get the files that the block finds missing, if `source` has their address."""
    try:
        yield
    except AbsentError as error:
        if source is None:
            raise UserError(f"{error}; {HOW}") from None
        folder = user_path(annotations).parent
        other = f"set {name.upper()}_ROOT to a folder with it, or use evalset=hub"
        if source.form and user_path(annotations).is_file():
            raise AbsentError(f"{error}; ask for them at {source.form} and put them there, {other}") from None
        later = OnFirstUseError(name, source.size, folder, partial(fetch, source))
        line = f"{error}; run task=fetch with the same settings, {other}"
        raise NotFetchedError(line, later) from None


def _image_file(folder: str | None, *parts: str) -> ImageFile | None:
    if ".." in Path(*parts).parts or Path(*parts).is_absolute():
        raise UserError(
            f"evaluation image {'/'.join(parts)} must be in the folder of its set; fetch its list again"
        )
    return None if folder is None else ImageFile(user_path(folder).joinpath(*parts))


@contextmanager
def _reading(name: str, path: str, kind: str) -> Iterator[Any]:
    """Yield the JSON object in `path`; a missing file, or a key that the block does not find, is a `UserError`."""
    try:
        content = json.loads(user_path(path).read_text(encoding="utf-8-sig"))
    except OSError:
        raise AbsentError(f"evaluation set {name}: {path} is missing") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"evaluation set {name}: {path} must be JSON ({error}); fetch it again") from None
    if not isinstance(content, dict):
        raise UserError(
            f"evaluation set {name}: {path} must be {kind}, a JSON object, but holds a {type(content).__name__};"
            " fetch it again"
        )
    try:
        yield content
    except (KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"evaluation set {name}: {path} must be {kind} ({reason}); fetch it again") from None


def webdataset(
    name: Name, url: str, captioning: bool, retrieval: bool, split: str = "test", ties: Ties = "against"
) -> EvaluationSet:
    """Load a retrieval set of the hub's CLIP benchmark (``clip-benchmark/wds_mscoco_captions``).

    Args:
        url: folder or fsspec URL with ``<split>/nshards.txt`` and ``<split>/0.tar``, ``<split>/1.tar``, ...: for each
            key an image and a ``.txt`` file with one caption per line. Remote tars are fetched by `provide`.

    Raises `UserError` if the set cannot be reached or has another layout.
    """
    items = []
    for path in tar_shards(name, f"{url.rstrip('/')}/{split}"):
        for key, image, text in tar_samples(name, path, "txt"):
            captions = [line.strip() for line in text.split("\n") if line.strip()]
            items.append(Item(key, image, captions))
    return EvaluationSet(name, items, captioning, retrieval, ties)
