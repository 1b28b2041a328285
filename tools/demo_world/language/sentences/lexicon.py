"""The lexicon of the grade-0 captions: word classes, for all topics and by topic, with Zipf weights."""

from collections.abc import Iterable

from tools.demo_world.language.sentences.common_words import COMMON_WORDS
from tools.demo_world.language.sentences.topic_words import TOPIC_WORDS
from tools.demo_world.sampling import Weighted

Classes = dict[str, Weighted]


def read_classes(text: str) -> dict[str, list[str]]:
    """Parse word classes: lines ``class: word word ...``; an indented line continues the line before."""
    classes: dict[str, list[str]] = {}
    for line in text.strip().splitlines():
        name, colon, words = line.partition(": ") if not line.startswith(" ") else ("", "", line)
        if colon:
            classes[name] = []
        classes[next(reversed(classes))] += words.split()
    return classes


def read_topics(text: str) -> dict[str, dict[str, list[str]]]:
    """Parse topics: each starts with a line ``= topic``, its word classes follow."""
    parts = [part.partition("\n") for part in ("\n" + text.strip()).split("\n= ")[1:]]
    return {name: read_classes(words) for name, _, words in parts}


def _zipf(words: Iterable[str]) -> Weighted:
    """Return the words with weights by rank, shifted by 20, so that all are rarer than function words."""
    return Weighted({word: 1 / (rank + 20) for rank, word in enumerate(words)})


def _weighted(classes: dict[str, list[str]]) -> Classes:
    return {name: _zipf(words) for name, words in classes.items()}


COMMON: Classes = _weighted(read_classes(COMMON_WORDS))
TOPICS: dict[str, Classes] = {name: _weighted(words) for name, words in read_topics(TOPIC_WORDS).items()}
TOPIC = _zipf(TOPICS)
