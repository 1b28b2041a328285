"""The development part of UD English EWT as documents, and an untrained pipeline, for tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.filters.text.parses import document

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


def sentences(path: Path) -> Iterator[tuple[str, "Doc"]]:
    """Yield every sentence's id and gold document; ranges of several words, and empty nodes, are left out."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        rows = [line for line in lines if line[0].isdigit()]
        if rows:
            name = next(line for line in block.splitlines() if line.startswith("# sent_id")).split("= ")[1]
            words, pos, heads, deps = ([row[column] for row in rows] for column in (1, 3, 6, 7))
            yield name, document(words, pos, deps, [int(head) for head in heads])


def embedding(width: int, rows: int, depth: int) -> dict[str, Any]:
    """Return spaCy's own embedding, which its small English pipeline has with 96, 2000 rows and more, and 4."""
    return {
        "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": width, "depth": depth,
        "embed_size": rows, "window_size": 1, "maxout_pieces": 3, "subword_features": True,
    }  # fmt: skip


def pipeline(width: int, rows: int, depth: int, hidden: int) -> "Language":
    """Return an untrained tagger of parts of speech and parser over one embedding."""
    import spacy

    made = spacy.blank("en")
    made.add_pipe("tok2vec", config={"model": embedding(width, rows, depth)})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": width, "upstream": "*"}
    made.add_pipe("morphologizer", config={"model": {"tok2vec": listener}})
    made.add_pipe(
        "parser", config={"model": {"tok2vec": listener, "hidden_width": hidden}, "min_action_freq": 1}
    )
    return made
