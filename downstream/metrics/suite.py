"""All caption metrics of an evaluation: each computed once for every domain, or absent with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.pixel_workers import Loadable
from downstream.metrics.base import CaptionMetric, Curve, Outcome, Request, Table
from downstream.metrics.metric import Corpus, ImageId, Metric, ScoresOfImages, UnavailableError, failure
from downstream.metrics.tokenizer import clean_corpus

if TYPE_CHECKING:
    import torch


def score_captions(
    candidates: Mapping[ImageId, str],
    references: Mapping[ImageId, Sequence[str]],
    metrics: Sequence[CaptionMetric],
    images: Mapping[ImageId, Loadable] | None = None,
) -> list[Metric]:
    """Return the metrics of all candidates; see `score_domains`."""
    return score_domains(candidates, references, {"all": list(candidates)}, metrics, images)["all"]


def score_domains(
    candidates: Mapping[ImageId, str],
    references: Mapping[ImageId, Sequence[str]],
    domains: Mapping[str, Sequence[ImageId]],
    metrics: Sequence[CaptionMetric],
    images: Mapping[ImageId, Loadable] | None = None,
    device: torch.device | None = None,
    of_images: ScoresOfImages | None = None,
) -> dict[str, list[Metric]]:
    """Return the metrics of each domain.

    A domain is any set of images with candidates, for example a whole evaluation set under ids like ``("coco", 42)``,
    or a part of one (``nocaps/out-domain`` of ``nocaps``). Each is scored as if its images were the whole corpus;
    only `Cider` takes document frequencies from the whole set. METEOR takes 6 s to start; all domains share one
    start.

    Args:
        candidates: one caption per image; any text, an empty one counts as it is.
        references: at least one per image; images without a candidate are ignored.
        domains: image ids by the domain's name.
        of_images: gets the scores of single images, if metrics have some, and the counts that BLEU sums.

    Raises:
        UserError: a model that does not fit its metric's settings.
        ValueError: a candidate without references.
        KeyError: a domain with an unknown image.
    """
    used = {image: candidates[image] for ids in domains.values() for image in ids}
    populated = {domain: ids for domain, ids in domains.items() if ids}
    corpus = clean_corpus(Corpus(used, references))
    scores = {} if of_images is None else of_images
    request = Request(corpus, populated, images, device or resolve_device("cpu"), scores)
    result: dict[str, list[Metric]] = {domain: [] for domain in domains}
    for metric in metrics:
        table = _compute(metric, request) if populated else {}
        version = metric.version()
        for domain, ids in domains.items():
            outcomes = table.get(domain) or dict.fromkeys(metric.names, "there are no images to score")
            result[domain] += [
                _typed(metric, name, outcome, len(ids), version) for name, outcome in outcomes.items()
            ]
    return result


def _compute(metric: CaptionMetric, request: Request) -> Table:
    """Return the metric's table; if it is unavailable or fails, all its names are absent."""
    try:
        return metric.compute(request)
    except UserError:
        raise
    except UnavailableError as error:
        reason = str(error)
    except Exception as error:
        reason = failure(", ".join(metric.names), error)
    return {domain: dict.fromkeys(metric.names, reason) for domain in request.domains}


def _typed(metric: CaptionMetric, name: str, outcome: Outcome, count: int, version: str) -> Metric:
    curve = outcome.points if isinstance(outcome, Curve) else ()
    value = outcome.mean if isinstance(outcome, Curve) else outcome
    if not isinstance(value, str) and not abs(value) <= Metric.LARGEST:
        value, curve = f"the scorer returned {value}", ()
    result = (None, value) if isinstance(value, str) else (value, None)
    kind = (metric.unit_of(name), metric.higher_is_better, name in metric.details)
    return Metric(name, result[0], result[1], count, version, curve, None, *kind)
