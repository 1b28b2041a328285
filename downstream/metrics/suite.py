"""All caption metrics of an evaluation: each computed once for every domain, or absent with its reason."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL import Image

from benchmark.core.errors import UserError, did_you_mean
from benchmark.models.checkpoints import revision
from downstream.metrics.bertscore import BertScoreConfig, bert_score
from downstream.metrics.captions import bleu, cider, rouge_l
from downstream.metrics.clipscore import PacScoreConfig, pac_score
from downstream.metrics.diversity import GRAM_LENGTHS, share_of_differing_pairs, unique_ngrams
from downstream.metrics.java import Java, find_java
from downstream.metrics.meteor import meteor
from downstream.metrics.metric import Corpus, ImageId, Metric, UnavailableError, library
from downstream.metrics.polos import PolosConfig, polos
from downstream.metrics.spice import SpiceScores, spice
from downstream.metrics.tokenizer import clean_corpus, tokenize_corpus

Outcome = float | str  # a value, or the reason why there is none
Table = dict[str, dict[str, Outcome]]  # domain -> metric -> outcome


@dataclass(frozen=True)
class Request:
    """What a scorer is given. The tokens are made when first asked for, and once."""

    corpus: Corpus
    domains: Mapping[str, Sequence[ImageId]]
    config: Mapping[str, Any]
    images: Mapping[ImageId, Image.Image] | None
    device: torch.device

    @cached_property
    def java(self) -> Java:
        """Raises `UnavailableError`."""
        return find_java()

    @cached_property
    def tokens(self) -> Corpus:
        """Raises `UnavailableError`."""
        return tokenize_corpus(self.corpus, self.java)

    @cached_property
    def spice(self) -> SpiceScores:
        """SPICE and, where it is asked for, SPICE-1 of the same run. Raises `UnavailableError`."""
        return spice(self.tokens, self.java, each_reference="SPICE-1" in self.config["metrics"])


def score_captions(
    candidates: Mapping[ImageId, str],
    references: Mapping[ImageId, Sequence[str]],
    config: Mapping[str, Any],
    images: Mapping[ImageId, Image.Image] | None = None,
    device: torch.device | None = None,
) -> list[Metric]:
    """Return the configured metrics of all candidates; see `score_domains`."""
    return score_domains(candidates, references, {"all": list(candidates)}, config, images, device)["all"]


def score_domains(
    candidates: Mapping[ImageId, str],
    references: Mapping[ImageId, Sequence[str]],
    domains: Mapping[str, Sequence[ImageId]],
    config: Mapping[str, Any],
    images: Mapping[ImageId, Image.Image] | None = None,
    device: torch.device | None = None,
) -> dict[str, list[Metric]]:
    """Return the configured metrics of each domain, each as if its images were the whole corpus.

    A domain is any set of images with candidates: NoCaps' in, near, out and entire, or whole evaluation sets
    under ids like ``("coco", 42)``. METEOR takes 6 s to start; all domains share one start.

    Args:
        candidates: one caption per image; any text, an empty one counts as it is.
        references: at least one per image; images without a candidate are ignored.
        domains: image ids by the domain's name.
        config: ``metrics``, a list of names in `SCORERS`; ``bertscore``, ``polos`` and ``pacscore``, the fields of
            `BertScoreConfig`, `PolosConfig` and `PacScoreConfig`.
        images: RGB by image id, for Polos and PAC-S; may decode on access.
        device: where models run, the CPU by default.

    Raises:
        UserError: an unknown metric, or a model that does not fit its config.
        ValueError: a candidate without references, a domain with an unknown image.
    """
    for name in config["metrics"]:
        if name not in SCORERS:
            raise UserError(f"metrics: there is no {name!r}; {did_you_mean(name, SCORERS)}")
    used = {image: candidates[image] for ids in domains.values() for image in ids}
    populated = {domain: ids for domain, ids in domains.items() if ids}
    request = Request(
        clean_corpus(Corpus(used, references)), populated, config, images, device or torch.device("cpu")
    )
    result: dict[str, list[Metric]] = {domain: [] for domain in domains}
    for name in config["metrics"]:
        table = _run(SCORERS[name], request) if populated else {}
        version = SCORERS[name].version(request)
        for domain, ids in domains.items():
            outcomes = table.get(domain) or dict.fromkeys(
                SCORERS[name].metrics, "there are no images to score"
            )
            result[domain] += [_metric(key, outcome, len(ids), version) for key, outcome in outcomes.items()]
    return result


@dataclass(frozen=True)
class Scorer:
    """A function that fills a table with these metrics, and its library's version."""

    metrics: tuple[str, ...]
    fill: Callable[[Request], Table]
    version: Callable[[Request], str]


def _run(scorer: Scorer, request: Request) -> Table:
    """Run a scorer; where it is unavailable, all its metrics are absent. Bugs pass through."""
    try:
        return scorer.fill(request)
    except UnavailableError as error:
        return {domain: dict.fromkeys(scorer.metrics, str(error)) for domain in request.domains}


def _metric(name: str, outcome: Outcome, count: int, version: str) -> Metric:
    if isinstance(outcome, float) and not math.isfinite(outcome):
        outcome = f"the scorer returned {outcome}"
    value, reason = (None, outcome) if isinstance(outcome, str) else (outcome, None)
    return Metric(name, value, reason, count, version)


def _bleu(request: Request) -> Table:
    return {domain: {**bleu(request.tokens.subset(ids))} for domain, ids in request.domains.items()}


def _meteor(request: Request) -> Table:
    scores = meteor(request.tokens, request.domains, request.java)
    return {domain: {"METEOR": score} for domain, score in scores.items()}


def _cider(request: Request) -> Table:
    table: Table = {}
    for domain, ids in request.domains.items():
        try:
            table[domain] = {"CIDEr": cider(request.tokens.subset(ids))}
        except UnavailableError as error:  # a domain of one image, while the others have more
            table[domain] = {"CIDEr": str(error)}
    return table


def _rouge(request: Request) -> Table:
    return _means("ROUGE_L", rouge_l(request.tokens), request)


def _spice(request: Request) -> Table:
    return _means("SPICE", request.spice.all_references, request)


def _spice_1(request: Request) -> Table:
    return _means("SPICE-1", request.spice.best_reference, request)


def _diversity(request: Request) -> Table:
    return {domain: _diversity_of(request.tokens, ids) for domain, ids in request.domains.items()}


def _diversity_of(tokens: Corpus, ids: Sequence[ImageId]) -> dict[str, Outcome]:
    """Return the share of pairs that differ, and the unique n-grams of a position, the mean over all positions."""
    captions = [tokens.candidates[image] for image in ids]
    row: dict[str, Outcome] = {
        f"Unique-{length}": math.fsum(curve) / len(curve) for length, curve in unique_ngrams(captions).items()
    }
    try:
        return {"Diversity": share_of_differing_pairs(captions)} | row
    except UnavailableError as error:  # a domain of one image
        return {"Diversity": str(error)} | row


def _bert_score(request: Request) -> Table:
    config = BertScoreConfig(**request.config["bertscore"])
    table = _means("BERTScore", bert_score(request.corpus, config, request.device), request)
    # bert-score batches in the order of a set, which differs between processes: so do bits beyond single precision.
    return {domain: {name: _rounded(value) for name, value in row.items()} for domain, row in table.items()}


def _rounded(outcome: Outcome) -> Outcome:
    return outcome if isinstance(outcome, str) else round(outcome, 6)


def _polos(request: Request) -> Table:
    if request.images is None:
        raise UnavailableError("Polos needs the images, and none were given")
    config = PolosConfig(**request.config["polos"])
    return _means("Polos", polos(request.corpus, request.images, config, request.device), request)


def _pac_score(request: Request) -> Table:
    if request.images is None:
        raise UnavailableError("PAC-S needs the images, and none were given")
    config = PacScoreConfig(**request.config["pacscore"])
    plain, referenced = pac_score(request.corpus, request.images, config, request.device)
    without, with_references = _means("PAC-S", plain, request), _means("RefPAC-S", referenced, request)
    return {domain: row | with_references[domain] for domain, row in without.items()}


def _means(name: str, scores: Mapping[ImageId, float], request: Request) -> Table:
    return {
        domain: {name: math.fsum(scores[image] for image in ids) / len(ids)}
        for domain, ids in request.domains.items()
    }


def _coco_version(_: Request) -> str:
    return library("pycocoevalcap")


def _bert_score_version(request: Request) -> str:
    config = BertScoreConfig(**request.config["bertscore"])
    rescaled = " rescaled" if config.baseline_path else ""
    return f"{library('bert-score')}, layer {config.num_layers}{rescaled} of {_revision(config.locate)}"


def _polos_version(request: Request) -> str:
    config = PolosConfig(**request.config["polos"])
    return f"{library('pairsift')}, weights {_revision(lambda: config.locate()[0])}"


def _pac_score_version(request: Request) -> str:
    config = PacScoreConfig(**request.config["pacscore"])
    try:
        weights = config.revision()
    except UnavailableError:
        weights = "none"
    return f"{library('open-clip-torch')}, weights {weights}"


def _revision(locate: Callable[[], Any]) -> str:
    try:
        return revision(locate())
    except UnavailableError:
        return "none"


SCORERS = {
    "BLEU": Scorer(("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4"), _bleu, _coco_version),
    "METEOR": Scorer(("METEOR",), _meteor, _coco_version),
    "ROUGE_L": Scorer(("ROUGE_L",), _rouge, _coco_version),
    "CIDEr": Scorer(("CIDEr",), _cider, _coco_version),
    "SPICE": Scorer(("SPICE",), _spice, _coco_version),
    "SPICE-1": Scorer(("SPICE-1",), _spice_1, _coco_version),
    "Diversity": Scorer(
        ("Diversity", *(f"Unique-{length}" for length in GRAM_LENGTHS)),
        _diversity,
        lambda _: library("pairsift"),
    ),
    "BERTScore": Scorer(("BERTScore",), _bert_score, _bert_score_version),
    "Polos": Scorer(("Polos",), _polos, _polos_version),
    "PAC-S": Scorer(("PAC-S", "RefPAC-S"), _pac_score, _pac_score_version),
}
