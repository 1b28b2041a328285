"""BLEU from the n-gram counts of pycocoevalcap, its ROUGE-L and its CIDEr, on a tokenised corpus."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pycocoevalcap.bleu.bleu_scorer import cook_refs, cook_test
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge

from downstream.metrics.base import CaptionMetric, Request, Table
from downstream.metrics.metric import Corpus, ImageId, UnavailableError


class Bleu(CaptionMetric):
    """BLEU-1 to BLEU-4 (Papineni et al. 2002), fractions, with the closest reference length."""

    names = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4")
    unit = "fraction"
    details = frozenset(names[:3])
    library = "pycocoevalcap"
    reads_tokens = True

    def compute(self, request: Request) -> Table:
        """Return the four corpus scores of each domain; leave the counts that they sum in `of_images`."""
        counts = bleu_counts(request.tokens)
        for image, of_image in counts.items():
            for name, count in of_image.items():
                request.of_images.setdefault(name, {})[image] = count
        return {domain: {**bleu([counts[image] for image in ids])} for domain, ids in request.domains.items()}


class RougeL(CaptionMetric):
    """ROUGE-L (Lin 2004), F with beta 1.2, a fraction."""

    names = ("ROUGE_L",)
    unit = "fraction"
    library = "pycocoevalcap"
    reads_tokens = True

    def compute(self, request: Request) -> Table:
        """Return the mean of each domain's images."""
        return request.means("ROUGE_L", rouge_l(request.tokens))


class Cider(CaptionMetric):
    """CIDEr-D (Vedantam et al. 2015) with the document frequencies of an evaluation set; 10 is a perfect match.

    A part of a set, such as a domain of NoCaps, is scored with the frequencies of the whole set, as on the official
    server (Agrawal et al. 2019): the parts' scores, weighted by their images, average to that of the set. The score
    with only the frequencies of the part's images is ``CIDEr_own_df``.
    """

    names = ("CIDEr",)
    unit = "fraction"  # of a tenth of a perfect match: papers print it times 100
    details = frozenset({"CIDEr_own_df"})
    reads_tokens = True

    def compute(self, request: Request) -> Table:
        """Return the score of each domain; a set of one image has a reason instead, while others have values."""
        wholes = {domain: domain.partition("/")[0] for domain in request.domains}
        sets = {domain: whole if whole in request.domains else domain for domain, whole in wholes.items()}
        of_set = {name: _scores_or_reason(request, name) for name in dict.fromkeys(sets.values())}
        for scores in of_set.values():
            if not isinstance(scores, str):
                request.of_images.setdefault("CIDEr", {}).update(scores)
        table: Table = {}
        for domain, ids in request.domains.items():
            table[domain] = {"CIDEr": _mean_or_reason(of_set[sets[domain]], ids)}
            if domain not in of_set:
                table[domain]["CIDEr_own_df"] = _mean_or_reason(_scores_or_reason(request, domain), ids)
        return table


def bleu(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return BLEU-1 to BLEU-4 of images, fractions, from the `bleu_counts` of each: bit for bit pycocoevalcap's."""
    sums = {name: sum(of_image[name] for of_image in counts) for name in counts[0]}
    ratio = (sums["BLEU_length"] + 1e-15) / (sums["BLEU_reference_length"] + 1e-9)
    brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    scores, precisions = {}, 1.0
    for n in range(1, 5):
        precisions *= (sums[f"BLEU_{n}-grams_matched"] + 1e-15) / (sums[f"BLEU_{n}-grams"] + 1e-9)
        scores[f"BLEU-{n}"] = precisions ** (1 / n) * brevity
    return scores


def bleu_counts(corpus: Corpus) -> dict[ImageId, dict[str, float]]:
    """Return the counts that BLEU sums over images: lengths, n-grams, and n-grams that a reference has too."""
    counts = {}
    for image, candidate in corpus.candidates.items():
        cooked = cook_test(candidate, cook_refs(corpus.references[image]), eff="closest")
        counts[image] = {"BLEU_length": cooked["testlen"], "BLEU_reference_length": cooked["reflen"]}
        for n, (total, matched) in enumerate(zip(cooked["guess"], cooked["correct"], strict=True), start=1):
            counts[image] |= {f"BLEU_{n}-grams": total, f"BLEU_{n}-grams_matched": matched}
    return counts


def rouge_l(corpus: Corpus) -> dict[ImageId, float]:
    """Return each image's ROUGE-L, a fraction; the metric is their mean."""
    return _scores(Rouge(), corpus)


def cider(corpus: Corpus) -> dict[ImageId, float]:
    """Return each image's CIDEr-D with document frequencies of this tokenised corpus; the metric is their mean.

    10 is a perfect match. Raises `UnavailableError` if it is undefined: fewer than two images, references without
    a word.
    """
    if len(corpus.candidates) < 2:
        raise UnavailableError("CIDEr needs at least two images: with one, every n-gram weighs log(1/1) = 0")
    if not any(reference for image in corpus.candidates for reference in corpus.references[image]):
        raise UnavailableError("no reference has a word, so CIDEr has no document frequencies")
    return _scores(CocoCider(), corpus)


def _scores(scorer: Any, corpus: Corpus) -> dict[ImageId, float]:
    """Return the score of each image by a scorer of pycocoevalcap."""
    references = {image: list(corpus.references[image]) for image in corpus.candidates}
    candidates = {image: [caption] for image, caption in corpus.candidates.items()}
    _, scores = scorer.compute_score(references, candidates)
    return dict(zip(corpus.candidates, map(float, scores), strict=True))


def _scores_or_reason(request: Request, domain: str) -> dict[ImageId, float] | str:
    try:
        return cider(request.tokens.subset(request.domains[domain]))
    except UnavailableError as error:
        return str(error)


def _mean_or_reason(scores: dict[ImageId, float] | str, images: Sequence[ImageId]) -> float | str:
    # numpy's mean, as in COCO's evaluation: other means differ in the last bits
    return scores if isinstance(scores, str) else float(np.mean([scores[image] for image in images]))
