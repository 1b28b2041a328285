"""What a picture of a scene shows, as tags: the classes that the image models are pre-trained on.

ImageNet-22k, which the real checkpoints learned from, names things; these name their appearance too. A tag says
"ball" or "red", not "red ball": with so few pictures, tags for every pair are too rare to be learned.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from benchmark.demo.world import Scene

FAMILIES = ("thing", "colour", "action", "pattern", "size", "count", "place", "relation")
RAREST = 20  # scenes of a sample that must show a tag for it to become a class


def tags(scene: Scene) -> set[str]:
    """Return what `scene` shows, each as ``family:value``."""
    found = {f"place:{scene.place}"}
    for thing in scene.things:
        found |= {
            f"thing:{thing.kind}",
            f"colour:{thing.colour}",
            f"pattern:{thing.pattern}",
            f"size:{thing.size}",
            f"count:{thing.count}",
        }
        if thing.action:
            found.add(f"action:{thing.action}")
    if scene.relation:
        found.add(f"relation:{scene.relation}")
    return found


def tag_counts(scenes: Iterable[Scene], rarest: int = RAREST) -> dict[str, int]:
    """Return the tags that at least `rarest` scenes show, by name, with their number of scenes."""
    counts = Counter(tag for scene in scenes for tag in tags(scene))
    return {tag: count for tag, count in sorted(counts.items()) if count >= rarest}


def one_hot(scene: Scene, index: dict[str, int]) -> Tensor:
    """Return a float vector with a 1 for each of the scene's tags in `index`."""
    target = torch.zeros(len(index))
    target[[index[tag] for tag in tags(scene) if tag in index]] = 1.0
    return target


def r_precision(scores: Tensor, targets: Tensor, names: Sequence[str]) -> dict[str, float]:
    """Return, per family, the share of true tags among the n best scored, n being the number of true ones.

    `scores` and `targets` are (samples, tags). A family that no sample shows is absent.
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
