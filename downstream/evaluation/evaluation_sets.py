"""Evaluation sets with captions: Karpathy splits, COCO and NoCaps annotations, webdatasets."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.paths import user_path
from benchmark.core.ranges import Name, checked
from downstream.evaluation.image_files import HOW, digest_images, require_images
from downstream.evaluation.image_files import ImageFile as ImageFile
from downstream.evaluation.tars import tar_samples, tar_shards
from downstream.metrics.ranks import Ties


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


@checked
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
                raise UserError(f"evaluation set {self.name}: image {item.image_id} has no captions; {HOW}")
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
    name: Name,
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
    return None if folder is None else ImageFile(user_path(folder).joinpath(*parts))


@contextmanager
def _reading(name: str, path: str, kind: str) -> Iterator[Any]:
    """Yield the JSON object in `path`; a missing file, or a key that the block does not find, is a `UserError`."""
    try:
        content = json.loads(user_path(path).read_text(encoding="utf-8-sig"))
    except OSError:
        raise UserError(f"evaluation set {name}: {path} is missing; {HOW}") from None
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

    Raises:
        UserError: the set cannot be reached or has another layout.
    """
    items = []
    for path in tar_shards(name, f"{url.rstrip('/')}/{split}"):
        for key, image, text in tar_samples(name, path, "txt"):
            captions = [line.strip() for line in text.split("\n") if line.strip()]
            items.append(Item(key, image, captions))
    return EvaluationSet(name, items, captioning, retrieval, ties)
