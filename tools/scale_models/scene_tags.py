"""Tags of the content of a scene: the classes for pre-training the image models.

The originals were pre-trained on the objects of ImageNet-22k; these tags cover appearance too. A tag is "ball" or
"red", not "red ball": with so few images, tags of combinations would be too rare to learn.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from pairsift.demo.world import Scene

FAMILIES = ("thing", "colour", "action", "pattern", "size", "count", "place", "relation")
MIN_SCENES = 20  # scenes that must show a tag before it becomes a class


def tags(scene: Scene) -> set[str]:
    """Return the tags of `scene`, each written ``family:value``."""
    shown = {f"place:{scene.place}"}
    for thing in scene.things:
        shown |= {
            f"thing:{thing.kind}",
            f"colour:{thing.colour}",
            f"pattern:{thing.pattern}",
            f"size:{thing.size}",
            f"count:{thing.count}",
        }
        if thing.action:
            shown.add(f"action:{thing.action}")
    if scene.relation:
        shown.add(f"relation:{scene.relation}")
    return shown


def tag_counts(scenes: Iterable[Scene], min_scenes: int = MIN_SCENES) -> dict[str, int]:
    """Return the tags that at least `min_scenes` scenes show, sorted by name, with the number of scenes."""
    counts = Counter(tag for scene in scenes for tag in tags(scene))
    return {tag: count for tag, count in sorted(counts.items()) if count >= min_scenes}


def one_hot(scene: Scene, index: dict[str, int]) -> Tensor:
    """Return a float vector (len(index),) with a 1 for each tag of the scene; `index` maps tags to columns."""
    target = torch.zeros(len(index))
    target[[index[tag] for tag in tags(scene) if tag in index]] = 1.0
    return target


def r_precision(scores: Tensor, targets: Tensor, names: Sequence[str]) -> dict[str, float]:
    """Return the R-precision per family: the fraction of true tags among the n highest scored, for n true tags.

    Args:
        scores: predicted scores, shape (samples, tags).
        targets: 1 for true tags and 0 for others, shape (samples, tags).
        names: names of the tags.

    Families that no sample shows are absent from the result.
    """
    figures = {}
    for family in FAMILIES:
        columns = [i for i, name in enumerate(names) if name.startswith(f"{family}:")]
        truth = targets[:, columns] > 0
        if not truth.any():
            continue
        ranks = scores[:, columns].argsort(dim=1, descending=True).argsort(dim=1)
        figures[family] = (truth & (ranks < truth.sum(dim=1, keepdim=True))).sum().item() / truth.sum().item()
    return figures
