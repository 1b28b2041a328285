"""BLEU and METEOR of a corpus, from counts that are summed over its images; neither is a mean over images."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

# METEOR 1.5 for English (Denkowski and Lavie 2014, Table 1): alpha, beta, gamma, delta, weights of the matchers.
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
MATCHERS = {"exact": 1.0, "stem": 0.6, "synonym": 0.8, "paraphrase": 0.6}
_SIDES = ("content", "reference_content", "function", "reference_function")
# A line of the jar's statistics, in its order: lengths in words, words matched by each matcher, chunks, all matches.
METEOR_COUNTS = tuple(
    f"METEOR_{name}"
    for name in (
        "length",
        "reference_length",
        "function_words",
        "reference_function_words",
        *(f"{matcher}_{side}" for matcher in MATCHERS for side in _SIDES),
        "chunks",
        "matches",
        "reference_matches",
    )
)


def score_of_sums(metric: str, sums: Mapping[str, Doubles]) -> Doubles:
    """Return BLEU or METEOR of b corpora, (b,), from the sums of `count_names` over the images of each, (b,)."""
    return meteor_of_sums(sums) if metric == "METEOR" else bleu_of_sums(sums, int(metric.partition("-")[2]))


def bleu_counts(order: int) -> tuple[str, ...]:
    """Return the names of the counts that BLEU of n-grams up to `order` sums over images."""
    grams = [name for n in range(1, order + 1) for name in (f"BLEU_{n}-grams", f"BLEU_{n}-grams_matched")]
    return ("BLEU_length", "BLEU_reference_length", *grams)


COUNTS = {"METEOR": METEOR_COUNTS, **{f"BLEU-{order}": bleu_counts(order) for order in range(1, 5)}}


def count_names(metric: str) -> tuple[str, ...]:
    """Return the names of the counts that `metric` is computed from; none for a metric that is a mean over images."""
    return COUNTS.get(metric, ())


def bleu_of_sums(sums: Mapping[str, Doubles], order: int) -> Doubles:
    """Return BLEU-`order` of summed counts, each (b,), with the constants of pycocoevalcap."""
    precisions = [
        (sums[f"BLEU_{n}-grams_matched"] + 1e-15) / (sums[f"BLEU_{n}-grams"] + 1e-9)
        for n in range(1, order + 1)
    ]
    ratio = (sums["BLEU_length"] + 1e-15) / (sums["BLEU_reference_length"] + 1e-9)
    brevity = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    score: Doubles = np.prod(precisions, axis=0) ** (1 / order) * brevity
    return score


def meteor_of_sums(sums: Mapping[str, Doubles]) -> Doubles:
    """Return METEOR of summed counts, each (b,): equations 1 to 4 of the paper, as the jar computes them."""
    precision, recall = (_fraction_matched(sums, side) for side in ("", "reference_"))
    mean = _ratio(precision * recall, ALPHA * precision + (1 - ALPHA) * recall)
    matches = (sums["METEOR_matches"] + sums["METEOR_reference_matches"]) / 2
    penalty = GAMMA * _ratio(sums["METEOR_chunks"], matches) ** BETA
    return np.asarray(mean * (1 - penalty), float)


def _fraction_matched(sums: Mapping[str, Doubles], side: str) -> Doubles:
    """Return precision (side "") or recall (side "reference_"); content words weigh more than function words."""
    matched = [
        weight
        * (
            DELTA * sums[f"METEOR_{matcher}_{side}content"]
            + (1 - DELTA) * sums[f"METEOR_{matcher}_{side}function"]
        )
        for matcher, weight in MATCHERS.items()
    ]
    function_words = sums[f"METEOR_{side}function_words"]
    content_words = sums[f"METEOR_{side}length"] - function_words
    return _ratio(np.sum(matched, axis=0), DELTA * content_words + (1 - DELTA) * function_words)


def _ratio(numerator: Doubles, denominator: Doubles) -> Doubles:
    """Return the ratio, 0 if the denominator is 0."""
    zeros = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(numerator, denominator, out=zeros, where=np.asarray(denominator) != 0)
