"""Abstract captions (grade 0): opinions, how-to, quotes, thoughts, questions, lists, claims and titles of texts."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.sentences.abstract_frames import ABSTRACT_FRAMES
from tools.demo_world.language.sentences.abstract_writer import AbstractWriter
from tools.demo_world.language.sentences.frames import build, read_kinds
from tools.demo_world.language.sentences.styles import finish, from_site, last_word, quoted, signed, tagged
from tools.demo_world.language.trees import Node
from tools.demo_world.sampling import Weighted

FRAMES, _WEIGHTS = read_kinds(ABSTRACT_FRAMES)
_KIND = Weighted(_WEIGHTS | {"quote": 12})
_MENTION = 0.33  # probability that phrases may name the scene's first thing; a quarter of captions do
_TITLES = frozenset({"how_to", "list", "title"})
_MARKS = {"thought": (".", ".", "", "..."), "quote": (".", "", "!"), "opinion": (".", ".", "", "!", "...")}
_MORE = ("thought", "thought", "question", "opinion", "how_to", "claim")  # kinds of second sentences


def _opening(kind: str, writer: AbstractWriter) -> Node:
    return build(pick(writer.rng, FRAMES["thought" if kind == "quote" else kind]), writer)


def _longer(root: Node, kind: str, writer: AbstractWriter) -> None:
    """Add sentences while room is left."""
    while writer.more(0.6):
        if last_word(root).label != "punct":
            root.add("punct", Node(pick(writer.rng, (".", ".", ".", "!", "-", "...", ":"))))
        second = "thought" if kind in ("quote", "opinion") else pick(writer.rng, _MORE)
        root.add("dep", _opening(second, writer))


def abstract_caption(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a caption that does not describe the scene; a quarter of these captions name its first thing."""
    room = int(rng.lognormal(1.55, 0.5))
    writer = AbstractWriter(scene, rng, room, _MENTION)
    kind = _KIND(rng)
    root = _opening(kind, writer)
    _longer(root, kind, writer)
    finish(root, writer, _MARKS.get(kind, ("", "", ".")), title=kind in _TITLES)
    if kind == "quote":
        quoted(root)
        if writer.chance(0.75):
            signed(root, writer)
    value = rng.random()
    if value < 0.22:
        from_site(root, writer)
    elif value < 0.3:
        tagged(root, writer)
    return root
