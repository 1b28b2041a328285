"""A notation for the fixed parts of sentences: dependency trees with alternatives, optional parts and slots.

``(label dependents HEAD dependents)`` is a word with dependents; ``label:word`` a dependent of one word. The head is
the part without a label. A part of speech that differs from the usual one of the label follows a slash
(``why/SCONJ``), alternatives are separated by ``|`` and chosen with equal probability, ``?`` before a part makes it
optional, ``+`` before a word leaves out the space before it. ``{name}`` is filled by the method of that name of the
writer: as the head, or, after a label, as a dependent; the label ``_`` keeps the phrase's own.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from pairsift.demo.draws import pick
from tools.demo_world.language.trees import Node

_PART = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True)
class Frame:
    """A part of a sentence: a word or a slot, with the parts before and after it."""

    label: str
    words: tuple[str, ...] = ()
    slot: str = ""
    speech: str = ""
    optional: bool = False
    before: tuple["Frame", ...] = ()
    after: tuple["Frame", ...] = ()


def read_frame(text: str) -> Frame:
    """Parse one frame."""
    parts = _PART.findall(text)
    frame, stop = _read(parts, 0)
    assert stop == len(parts), f"too many brackets in {text}"
    return frame


def read_kinds(text: str) -> tuple[dict[str, list[Frame]], dict[str, float]]:
    """Parse kinds of sentences: lines ``= kind weight``, then a frame per line; an indented line continues it.

    Returns:
        The frames of each kind, and its weight.
    """
    frames: dict[str, list[Frame]] = {}
    weights: dict[str, float] = {}
    for row in re.split(r"\n(?! )", text.strip()):
        if row.startswith("="):
            _, kind, weight = row.split()
            frames[kind], weights[kind] = [], float(weight)
        else:
            frames[next(reversed(frames))].append(read_frame(" ".join(row.split())))
    return frames, weights


def _read(parts: list[str], start: int) -> tuple[Frame, int]:
    label, number = parts[start + 1], start + 2
    head = ""
    before: list[Frame] = []
    after: list[Frame] = []
    while parts[number] != ")":
        part = parts[number]
        target = after if head else before
        if part in ("(", "?"):
            inner, stop = _read(parts, number + (part == "?"))
            target.append(replace(inner, optional=part == "?"))
            number = stop
            continue
        number += 1
        if ":" in part:
            name, _, word = part.lstrip("?").partition(":")
            target.append(replace(_leaf(name, word), optional=part.startswith("?")))
        else:
            assert not head, f"two heads: {head}, {part} in {' '.join(parts)}"
            head = part
    assert head, f"no head in {' '.join(parts)}"
    return replace(_leaf(label, head), before=tuple(before), after=tuple(after)), number + 1


def _leaf(label: str, word: str) -> Frame:
    if word.startswith("{"):
        return Frame(label, slot=word.strip("{}"))
    word, _, speech = word.partition("/")
    if label == "ROOT" and not speech:  # named, since the label of a second sentence is not "ROOT"
        speech = "VERB"
    return Frame(label, tuple(word.split("|")), speech=speech)


def build(frame: Frame, writer: Any) -> Node:
    """Return the tree of a frame, its slots filled by the methods of `writer`."""
    if frame.slot:
        node: Node = getattr(writer, frame.slot)()
        node.label = node.label if frame.label == "_" else frame.label
    else:
        words = frame.words
        word = words[0] if len(words) == 1 else pick(writer.rng, words)
        node = Node(word.removeprefix("+"), frame.label, frame.speech, glued=word.startswith("+"))
    if frame.before:
        node.before[0:0] = _built(frame.before, writer)
    if frame.after:
        node.after += _built(frame.after, writer)
    return node


def _built(frames: tuple[Frame, ...], writer: Any) -> list[Node]:
    return [build(part, writer) for part in frames if not (part.optional and writer.random() < 0.5)]
