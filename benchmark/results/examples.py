"""Picks the evaluation images whose generated captions a report shows: the same ones in every run."""

from collections.abc import Iterable

from benchmark.core.hashes import hash_text
from benchmark.results.pictures import Example
from benchmark.results.thumbnails import short_text, thumbnail
from downstream.evaluation.evaluation_sets import EvaluationSet, Item

IMAGES = 8  # per evaluation set


def examples(sets: Iterable[EvaluationSet]) -> list[Example]:
    """Return `IMAGES` images of every set, chosen by a hash of their ids. Raises `UserError` for unreadable ones."""
    return [
        Example(
            evaluation_set.name,
            str(item.image_id),
            tuple(map(short_text, item.references)),
            thumbnail(item.load()),
        )
        for evaluation_set in sets
        for item in sorted(evaluation_set.items, key=_hash)[:IMAGES]
    ]


def _hash(item: Item) -> str:
    return hash_text(str(item.image_id))
