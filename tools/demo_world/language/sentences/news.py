"""News captions (grade 0): long sentences of reports with people, organisations, places, dates and numbers."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.sentences.frames import build, read_kinds
from tools.demo_world.language.sentences.news_frames import NEWS_FRAMES
from tools.demo_world.language.sentences.news_writer import NewsWriter
from tools.demo_world.language.sentences.noun_phrases import coordinate
from tools.demo_world.language.sentences.styles import finish, from_site
from tools.demo_world.language.trees import Node
from tools.demo_world.sampling import Weighted

FRAMES, _WEIGHTS = read_kinds(NEWS_FRAMES)
_KIND = Weighted(_WEIGHTS)
_MENTION = 0.55  # probability that phrases may name the scene's first thing; a third of captions do
_LINKS = Weighted(
    {"as": 5, "after": 5, "while": 4, "because": 3, "before": 2, "although": 2, "when": 3, "until": 1}
)


def _longer(root: Node, writer: NewsWriter) -> None:
    """Add clauses while room is left."""
    while writer.more(0.65):
        value = writer.random()
        if value < 0.4:
            writer.subordinate(root, 1, "past", _LINKS(writer.rng))
        elif value < 0.6:
            inner = Node(writer.common("adding"), speech="VERB")
            clause = writer.past_clause()
            clause.before.insert(0, Node("that", "mark"))
            inner.add("ccomp", clause)
            root.add("punct", Node(","))
            root.add("advcl", inner)
        elif value < 0.8:
            root.add("punct", Node(","))
            coordinate(root, writer.past_clause(), pick(writer.rng, ("and", "but", "and")))
        else:
            root.add("punct", Node("."))
            root.add("dep", build(pick(writer.rng, FRAMES[_KIND(writer.rng)]), writer))


def news_caption(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a caption like a sentence of a report; a third of these captions mention the scene's first thing."""
    kind = _KIND(rng)
    writer = NewsWriter(scene, rng, int(rng.lognormal(1.8, 0.45)), _MENTION)
    root = build(pick(rng, FRAMES[kind]), writer)
    if kind != "headline":
        _longer(root, writer)
    finish(root, writer, (".", ".", ""), title=kind == "headline")
    if writer.chance(0.22):
        from_site(root, writer)
    return root
