"""Captions as Conceptual Captions has them: names replaced by hypernyms, numbers and codes left out, lower case.

CC3M replaces named entities by their type, "actor at the premiere", and drops what no hypernym is known for (Sharma
et al. 2018, section 3). The ICC paper builds its scorer on it (section 2).
"""

import numpy as np

from tools.demo_world.language.trees import GLUED, Node
from tools.demo_world.sampling import Weighted

HYPERNYMS = {
    "person": Weighted({
        "person": 9, "actor": 4, "artist": 3, "football player": 2.5, "politician": 2.5, "pop artist": 2,
        "author": 1.5, "singer": 1.5, "celebrity": 1.5, "film director": 1, "athlete": 1, "tennis player": 1,
        "film character": 1, "businessperson": 0.6, "painter": 0.6, "model": 0.6, "comedian": 0.4, "monarch": 0.4,
        "chef": 0.3,
    }),
    "place": Weighted({
        "city": 6, "country": 3, "town": 2.5, "a city": 2, "tourist attraction": 2, "location": 1.5, "village": 1.5,
        "region": 1, "district": 1, "island": 1, "river": 0.7, "mountain": 0.7, "national park": 0.5, "lake": 0.5,
    }),
    "brand": Weighted({
        "brand": 4, "business": 3, "industry": 1.5, "clothing brand": 1.2, "company": 1.2, "automobile make": 1,
        "beauty brand": 0.6, "food company": 0.5,
    }),
    "model": Weighted({"automobile model": 3, "product line": 1.5, "computer model": 1, "camera": 0.7}),
    "event": Weighted({
        "event": 4, "festival": 3, "sports event": 2, "award": 2, "holiday": 1.5, "tournament": 1.2,
        "conference": 0.8, "fashion show": 0.8, "film festival": 0.8, "football league": 0.6,
    }),
}  # fmt: skip
MARKS = frozenset({",", ".", "!", "?", ":"})  # kept; CC3M sets them off with spaces


def conceptual_text(root: Node, rng: np.random.Generator) -> str:
    """Return the text of a caption's tree with hypernyms for its names and without words that hold digits."""
    words = _words(root, rng)
    kept = [word for i, word in enumerate(words) if word not in MARKS or (i and words[i - 1] not in MARKS)]
    while kept and kept[-1] in MARKS - {".", "!", "?"}:
        kept.pop()
    return " ".join(kept).lower() or "image"


def _words(node: Node, rng: np.random.Generator) -> list[str]:
    if node.entity:
        inside = [HYPERNYMS[node.entity](rng)]
        before = [child for child in node.before if child.label != "compound"]
    else:
        inside, before = _plain(node.word), node.before
    left = [word for child in before for word in _words(child, rng)]
    right = [word for child in node.after for word in _words(child, rng)]
    if (node.label == "prep" and not right) or (not inside and node.label != "ROOT"):
        return []  # leave out numbers, codes, and prepositions without their noun
    return left + inside + right


def _plain(word: str) -> list[str]:
    if any(letter.isdigit() for letter in word) or not (word in MARKS or any(map(str.isalpha, word))):
        return []
    return [word.strip("“”\"'…()[]")] if word not in GLUED else [word]
