"""Rated captions that SBA's and VBA's combination is fitted on (ICC paper, appendix A.2)."""

from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.studies.concreteness.rated_texts import RatedTexts, read_annotations

# SHA-256, first 8 digits, of 40 captions of the concreteness benchmark (appendix A.6): those of its 500 captions with
# the smallest hashes. 50 captions drawn from the benchmark hold one of them with a probability of 0.98.
_FIRST_HASHES = """
    002fde35 0040506c 008b175d 017893a3 018d34e2 01fb4815 026b0c08 02d6f531 03231d5b 03d99692 06bbdb9c 079b3160
    07dd442b 07f52f0f 085a21b9 093daba0 09437864 0999cc2a 09cdc856 0a08a30e 0a4d1930 0a96af33 0abd6aa2 0af9537d
    0b4bd790 0c1bb933 0c986eeb 0cdfbe8a 0ddf9d6a 0ea1773d 0f26e50e 113c2656 121c1787 12f3c4c5 147c447e 157dae1e
    15bb549a 15bfff31 15f8bdb0 15f9077d
"""
BENCHMARK_HASHES = frozenset(_FIRST_HASHES.split())


def annotated_captions(path: str, allow_benchmark: bool = False) -> RatedTexts:
    """Read annotated captions: a CSV with the columns ``caption`` and ``concreteness_annotation``.

    Args:
        path: the file.
        allow_benchmark: accept captions of the concreteness benchmark, on which scorers are compared (Table 3).

    Raises:
        UserError: if the file cannot be read, or holds captions of that benchmark.
    """
    rated = read_annotations(Path(path), setting="icc.annotations.path")
    known = sum(_hash(text) in BENCHMARK_HASHES for text in rated.texts)
    if known and not allow_benchmark:
        raise UserError(
            f"icc.annotations.path={path} holds captions of the concreteness benchmark (Table 3), on which the scorer"
            " would be tested; annotate other captions, or set +icc.annotations.allow_benchmark=true"
        )
    return rated


def _hash(caption: str) -> str:
    return hash_text(" ".join(caption.split()), 8)
