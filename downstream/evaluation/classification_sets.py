"""Evaluation sets for classification: one folder of images per class, or the hub's CLIP benchmark."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.images import IMAGE_EXTENSIONS
from benchmark.core.paths import user_path
from benchmark.core.ranges import Name, PositiveInt, checked
from benchmark.core.requirements import provide
from downstream.evaluation.image_files import HOW, ImageFile, digest_images, require_images
from downstream.evaluation.tars import MAX_TEXT_BYTES, local_file, tar_samples, tar_shards
from downstream.metrics.rank_metrics import Ties

LABEL = "{label}"
OWN = "own"
WORDNET_ID = re.compile(r"n\d{8}")
Score = Literal["accuracy", "mean_per_class"]


@dataclass(frozen=True)
class LabelledImage:
    """One image and the index of its class."""

    image_id: str
    image: ImageFile
    label: int

    def load(self) -> Image.Image:
        """Return the image in RGB. Raises `UserError`."""
        return self.image.load(self.image_id)


@checked
@dataclass(frozen=True)
class ClassificationSet:
    """Labelled images, to be classified zero-shot by the names of the classes, or by a linear probe."""

    name: str
    classes: Sequence[str]  # name of each class, as it appears in prompts
    # Prompts with ``{label}`` in place of the name; None uses CLIP's 80 (DS-CLIP, Figure 2).
    templates: Sequence[str] | None
    # The metric that papers report for this set: accuracy, or the mean of the classes' accuracies.
    score: Score
    test: Sequence[LabelledImage]
    # Function that returns the images a linear probe is trained on, called only then; None without any.
    train: Callable[[], Sequence[LabelledImage]] | None
    probe_epochs: PositiveInt  # epochs of the probe over its training images
    ties: Ties = "against"  # "against" the model, or by "topk" as in CLIP_benchmark; see `class_ranks`

    def __post_init__(self) -> None:
        require_images(self.name, (item.image for item in self.test))
        if len(self.classes) < 2:
            raise UserError(
                f"evaluation set {self.name} has {len(self.classes)} classes; it must have two or more"
            )
        if self.templates is not None and not self.templates:
            raise UserError(f"evaluation set {self.name}: templates is empty; null uses CLIP's 80")
        unlabelled = [template for template in self.templates or () if LABEL not in template]
        if unlabelled:
            raise UserError(f"evaluation set {self.name}: template {unlabelled[0]!r} must contain {LABEL}")

    def __len__(self) -> int:
        return len(self.test)

    def first(self, count: int) -> "ClassificationSet":
        """Return its first `count` test images, with all classes and training images."""
        return replace(self, test=self.test[:count])

    def fingerprint(self) -> str:
        """Return a hash of all inputs of the metrics: the images' bytes, labels, prompts, score, ties, probe.

        Of the probe's training images only the presence counts: they may not be fetched yet.
        """
        items = [[item.image_id, item.label] for item in self.test]
        images = [digest.sha256 for digest in digest_images(self.image_files())]
        probe = [self.train is not None, self.probe_epochs]
        return hash_json([items, images, list(self.prompts()), self.score, self.ties, probe], 12)

    def image_files(self) -> list[ImageFile]:
        """Return the files of the test images."""
        return [item.image for item in self.test]

    def prompts(self) -> Iterator[list[str]]:
        """Yield the prompts of each class."""
        templates = clip_templates() if self.templates is None else self.templates
        for label in self.classes:
            yield [template.replace(LABEL, label) for template in templates]


def clip_templates() -> list[str]:
    """Return CLIP's 80 prompts for ImageNet, which DS-CLIP uses too (supplement, Figure 2)."""
    from open_clip import OPENAI_IMAGENET_TEMPLATES

    return [template(LABEL) for template in OPENAI_IMAGENET_TEMPLATES]


def image_folder(
    name: Name,
    root: str,
    score: Score,
    templates: Sequence[str] | None = None,
    probe_epochs: PositiveInt = 90,
    ties: Ties = "against",
) -> ClassificationSet:
    """Load ``root/test/<class name>/*.jpg`` and, if present, ``root/train`` in the same layout.

    A folder named by the WordNet id of one of ImageNet's 1,000 classes (``n01440764``) has the name that open_clip
    gives it, which two classes may share. Raises `UserError` for a missing folder, one without images, another
    WordNet id, and training images of other classes.
    """
    base = user_path(root)
    if not (base / "test").is_dir():
        raise UserError(f"evaluation set {name}: folder {base / 'test'} is missing; {HOW}")
    folders = sorted(path.name for path in (base / "test").iterdir() if path.is_dir())
    train = partial(_folder_items, name, base / "train", folders) if (base / "train").is_dir() else None
    test = _folder_items(name, base / "test", folders)
    classes = _class_names(name, folders)
    return ClassificationSet(name, classes, templates, score, test, train, probe_epochs, ties)


def _class_names(name: str, folders: Sequence[str]) -> list[str]:
    """Return the name of each folder's class, as it appears in prompts."""
    if not any(WORDNET_ID.fullmatch(folder) for folder in folders):
        return list(folders)
    from open_clip import IMAGENET_CLASSNAMES
    from timm.data.imagenet_info import ImageNetInfo

    # Both list the 1,000 classes in the order of their WordNet ids.
    imagenet = dict(zip(ImageNetInfo().label_names(), IMAGENET_CLASSNAMES, strict=True))
    others = [folder for folder in folders if WORDNET_ID.fullmatch(folder) and folder not in imagenet]
    if others:
        raise UserError(
            f"evaluation set {name}: {others[0]} must be one of ImageNet's 1,000 classes; rename its folder to the"
            " name that prompts should have"
        )
    return [imagenet.get(folder, folder) for folder in folders]


def _folder_items(name: str, folder: Path, classes: Sequence[str]) -> list[LabelledImage]:
    others = {path.name for path in folder.iterdir() if path.is_dir()} - set(classes)
    if others:
        raise UserError(
            f"evaluation set {name}: {folder / min(others)} must be a class of the test images too"
        )
    return [
        LabelledImage(f"{path.parent.name}/{path.name}", ImageFile(path), label)
        for label, of_class in enumerate(classes)
        for path in sorted((folder / of_class).glob("*"))
        if path.suffix.lower().lstrip(".") in IMAGE_EXTENSIONS
    ]


def classification_webdataset(
    name: Name,
    url: str,
    score: Score,
    templates: Sequence[str] | Literal["own"] | None = None,
    train: str | None = "train",
    probe_epochs: PositiveInt = 90,
    ties: Ties = "against",
) -> ClassificationSet:
    """Load a classification set of the hub's CLIP benchmark (``clip-benchmark/wds_vtab-cifar10``).

    Args:
        url: folder or fsspec URL with ``classnames.txt`` (one name per line), ``test/nshards.txt`` and
            ``test/0.tar``, ``test/1.tar``, ...: per key an image and a ``.cls`` file with the index of its class.
            Remote tars are fetched by `provide`.
        templates: prompts with ``{label}``; "own" uses the set's ``zeroshot_classification_templates.txt``; None uses
            CLIP's 80.
        train: folder in `url`, or another set's URL, of the tars that a linear probe is trained on, fetched only
            then; None without any.

    Raises `UserError` if the set cannot be reached or has another layout.
    """
    base = url.rstrip("/")
    classes = _lines(name, f"{base}/classnames.txt")
    if templates == OWN:
        own = _lines(name, f"{base}/zeroshot_classification_templates.txt")
        templates = [template.replace("{c}", LABEL) for template in own]
    elif isinstance(templates, str):
        raise UserError(f"evaluation set {name}: templates={templates} must be a list, {OWN}, or null")
    test = _tar_items(name, f"{base}/test", len(classes))
    training = train if train and "://" in train else f"{base}/{train}"
    of_train = partial(_tar_items, name, training, len(classes))
    load_train = None if train is None else partial(provide, of_train)
    return ClassificationSet(name, classes, templates, score, test, load_train, probe_epochs, ties)


def _lines(name: str, url: str) -> list[str]:
    with local_file(name, url).open("rb") as file:
        text = file.read(MAX_TEXT_BYTES).decode("utf-8-sig", errors="replace")
    return [line.strip() for line in text.split("\n") if line.strip()]


def _tar_items(name: str, base: str, classes: int) -> list[LabelledImage]:
    items = []
    for path in tar_shards(name, base):
        for key, image, text in tar_samples(name, path, "cls"):
            label = text.strip()
            if not (label.isascii() and label.isdigit() and len(label) < 10 and int(label) < classes):
                raise UserError(
                    f"evaluation set {name}: class {label[:20]!r} of {key} in {path} must be 0 to {classes - 1}"
                )
            items.append(LabelledImage(key, image, int(label)))
    return items
