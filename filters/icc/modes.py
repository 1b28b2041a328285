"""SBA, VBA and ICC as filters: the distilled scorer, or the pipeline it was distilled from.

Only the direct mode imports the pipeline and torch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ranges import PositiveInt
from benchmark.models.checkpoints import locate_checkpoint
from filters.base import Filter
from filters.icc.scorer import DistilledScorer

if TYPE_CHECKING:
    from filters.icc.similarity import Similarity
    from filters.icc.standardize import Standardizer

DISTILLED, DIRECT = "distilled", "direct"
Settings = dict[str, str | int | float | None]  # constructor arguments of one model


def sba(
    mode: str,
    checkpoint: str | None,
    precision: str,
    build: str | None,
    clip: dict[str, str | None],
    llm: str,
    max_new_tokens: PositiveInt,
    similarity: str,
    bertscore: Settings,
) -> Filter:
    """Return SBA as a filter.

    Args:
        mode: ``distilled`` or ``direct``.
        checkpoint: folder or hub name of the distilled scorer; by default the build's.
        precision: precision of the distilled scorer.
        build: output folder of task=icc_build; the direct mode needs its bridge.
        clip: `model` and `pretrained` of the text encoder.
        llm: folder or hub name of the language model.
        max_new_tokens: maximum length of a reconstruction.
        similarity: ``edit`` or ``bertscore``.
        bertscore: `model` and `num_layers` of its encoder.
    """
    if _is_distilled(mode):
        return DistilledScorer(_checkpoint("sba", checkpoint, build), precision)
    from filters.icc.direct import DirectScorer
    from filters.icc.sba import FrozenParts, SemanticBottleneck

    if build is None:
        raise UserError(
            "filter.mode=direct of SBA needs a trained bridge; make one with task=icc_build and set"
            " models.icc.build=FOLDER"
        )
    frozen, bridge = FrozenParts(clip, llm), str(Path(build) / "sba" / "bridge")
    autoencoder = SemanticBottleneck(frozen, bridge, max_new_tokens=max_new_tokens)
    measure = choose_measure(similarity, bertscore)
    return DirectScorer(autoencoder, measure, _standardizer(build, "sba", similarity))


def vba(
    mode: str,
    checkpoint: str | None,
    precision: str,
    build: str | None,
    text_to_image: Settings,
    captioner: Settings,
    similarity: str,
    bertscore: Settings,
) -> Filter:
    """Return VBA as a filter; without a `build` the direct mode's similarities are not standardised.

    Args:
        mode: ``distilled`` or ``direct``.
        checkpoint: folder or hub name of the distilled scorer; by default the build's.
        precision: precision of the distilled scorer.
        build: output folder of task=icc_build.
        text_to_image: arguments of `TextToImage`.
        captioner: arguments of `ImageCaptioner`.
        similarity: ``edit`` or ``bertscore``.
        bertscore: `model` and `num_layers` of its encoder.
    """
    if _is_distilled(mode):
        return DistilledScorer(_checkpoint("vba", checkpoint, build), precision)
    from filters.icc.direct import DirectScorer
    from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck

    autoencoder = VisualBottleneck(TextToImage(**text_to_image), ImageCaptioner(**captioner))  # type: ignore[arg-type]
    measure = choose_measure(similarity, bertscore)
    return DirectScorer(autoencoder, measure, _standardizer(build, "vba", similarity) if build else None)


def icc(
    mode: str,
    checkpoint: str | None,
    precision: str,
    build: str | None,
    pipelines: dict[str, Callable[[], Filter]],
) -> Filter:
    """Return ICC as a filter: the final scorer, or the combination of both pipelines before any distillation.

    Args:
        mode: ``distilled`` or ``direct``.
        checkpoint: folder or hub name of the final scorer.
        precision: precision of the final scorer.
        build: output folder of task=icc_build; without one the paper's weights combine the pipelines.
        pipelines: factories of `sba` and `vba` in direct mode.
    """
    if _is_distilled(mode):
        return DistilledScorer(_checkpoint("icc", checkpoint, build), precision)
    from filters.icc.combine import Combination, load_combination
    from filters.icc.direct import DirectICC

    weights = (
        load_combination(Path(build) / "icc" / "combination" / "combination.json") if build else Combination()
    )
    return DirectICC({name: make() for name, make in pipelines.items()}, weights)


def measures(bertscore: Settings) -> dict[str, Similarity]:
    """Return all similarity measures by name (Table 6)."""
    from filters.icc.similarity import BertScoreSimilarity, EditSimilarity

    return {"edit": EditSimilarity(), "bertscore": BertScoreSimilarity(**bertscore)}  # type: ignore[arg-type]


def choose_measure(name: str, bertscore: Settings) -> Similarity:
    """Return the similarity measure `name`. Raises `UserError` for an unknown name."""
    known = measures(bertscore)
    if name not in known:
        raise UserError(f"similarity {name!r} is unknown; {did_you_mean(name, known)}")
    return known[name]


def _is_distilled(mode: str) -> bool:
    if mode not in (DISTILLED, DIRECT):
        raise UserError(f"filter.mode={mode} is unknown; {did_you_mean(mode, (DISTILLED, DIRECT))}")
    return mode == DISTILLED


def _checkpoint(name: str, checkpoint: str | None, build: str | None) -> str:
    """Return the given checkpoint of the distilled scorer, or the build's."""
    if checkpoint is not None:
        return checkpoint
    if build is not None:
        return str(Path(build) / name / "distilled" / "model")
    raise UserError(
        f"filter={name} needs a distilled scorer (the paper's authors released only ICC's); set"
        " filter.checkpoint=FOLDER, or make one with task=icc_build and set models.icc.build=FOLDER"
    )


def _standardizer(build: str, name: str, measure: str) -> Standardizer:
    from filters.icc.direct import standardizer_file
    from filters.icc.standardize import load_standardizer

    return load_standardizer(locate_checkpoint(build) / name / "scores" / standardizer_file(measure))
