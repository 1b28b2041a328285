"""SBA, VBA and ICC as filters: the distilled scorer, or the pipeline it was distilled from.

The direct pipelines reconstruct, compare and standardise (Table 4).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveInt, Precision, SimilarityName, checked
from benchmark.core.uids import UidArray
from benchmark.models.checkpoints import locate_checkpoint
from filters.base import Composite, Filter, Scores
from filters.icc.autoencoder import Autoencoder
from filters.icc.combine import Combination, load_combination
from filters.icc.scorer import DistilledScorer
from filters.icc.similarity import BertScoreSimilarity, EditSimilarity, Similarity
from filters.icc.standardize import Standardizer, load_standardizer, standardizer_file
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck

Mode = Literal["distilled", "direct"]
Settings = dict[str, str | int | float | None]  # constructor arguments of one model
Decoding = dict[str, Any]  # how a pipeline decodes: a part of `icc.decoding`


@checked
def sba(
    mode: Mode,
    checkpoint: str | None,
    precision: Precision,
    build: str | None,
    clip: dict[str, str | None],
    llm: str,
    max_new_tokens: PositiveInt,
    similarity: SimilarityName,
    bertscore: Settings,
    decoding: Decoding | None = None,
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
        decoding: `first_token` of `FrozenParts` and `together` of `SemanticBottleneck`.
    """
    if mode == "distilled":
        return DistilledScorer(_checkpoint("sba", checkpoint, build), precision)
    from filters.icc.sba import FrozenParts, SemanticBottleneck

    if build is None:
        raise UserError(
            "filter.mode=direct of SBA needs a trained bridge; make one with task=icc_build and set"
            " models.icc.build=FOLDER"
        )
    given, bridge = decoding or {}, str(Path(build) / "sba" / "bridge")
    frozen = FrozenParts(clip, llm, given.get("first_token"))
    autoencoder = SemanticBottleneck(
        frozen, bridge, max_new_tokens=max_new_tokens, together=given.get("together")
    )
    measure = measures(bertscore)[similarity]
    return DirectScorer(autoencoder, measure, _standardizer(build, "sba", similarity))


@checked
def vba(
    mode: Mode,
    checkpoint: str | None,
    precision: Precision,
    build: str | None,
    text_to_image: Settings,
    captioner: Settings,
    similarity: SimilarityName,
    bertscore: Settings,
    decoding: Decoding | None = None,
) -> Filter:
    """Return VBA as a filter; without a `build` the direct mode's similarities are not standardised.

    Args:
        mode, checkpoint, precision: as for `sba`.
        build: output folder of task=icc_build.
        text_to_image: arguments of `TextToImage`.
        captioner: arguments of `ImageCaptioner`.
        similarity, bertscore: as for `sba`.
        decoding: `returned` of `ImageCaptioner`.
    """
    if mode == "distilled":
        return DistilledScorer(_checkpoint("vba", checkpoint, build), precision)
    captions = ImageCaptioner(**captioner, **(decoding or {}))  # type: ignore[arg-type]
    autoencoder = VisualBottleneck(TextToImage(**text_to_image), captions)  # type: ignore[arg-type]
    measure = measures(bertscore)[similarity]
    return DirectScorer(autoencoder, measure, _standardizer(build, "vba", similarity) if build else None)


@checked
def icc(
    mode: Mode,
    checkpoint: str | None,
    precision: Precision,
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
    if mode == "distilled":
        return DistilledScorer(_checkpoint("icc", checkpoint, build), precision)
    weights = (
        load_combination(Path(build) / "icc" / "combination" / "combination.json") if build else Combination()
    )
    return DirectICC({name: make() for name, make in pipelines.items()}, weights)


def measures(bertscore: Settings) -> dict[str, Similarity]:
    """Return all similarity measures by name (Table 6)."""
    return {"edit": EditSimilarity(), "bertscore": BertScoreSimilarity(**bertscore)}  # type: ignore[arg-type]


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
    return load_standardizer(locate_checkpoint(build) / name / "scores" / standardizer_file(measure))


class DirectScorer(Filter):
    """Scores captions by how well an autoencoder reconstructs them.

    Args:
        autoencoder: SBA or VBA.
        similarity: compares a caption with its beams, of which the best counts.
        standardizer: removes the effect of caption length; None returns raw similarities.
    """

    needs = frozenset({"text"})

    def __init__(
        self, autoencoder: Autoencoder, similarity: Similarity, standardizer: Standardizer | None
    ) -> None:
        self.autoencoder = autoencoder
        self.similarity = similarity
        self.standardizer = standardizer

    def setup(self, device: Device) -> None:
        """Load all models."""
        self.autoencoder.setup(device)
        self.similarity.setup(device)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 0 to 1."""
        similarities = self.similarity.best(batch.texts, self.autoencoder.reconstruct(batch.texts))
        return self.standardizer(batch.texts, similarities) if self.standardizer else similarities


class DirectICC(Composite):
    """Combines the scores of both pipelines as task=icc_build did.

    Args:
        filters: the pipelines `vba` and `sba`.
        combination: weights of the two.
    """

    def __init__(self, filters: Mapping[str, Filter], combination: Combination) -> None:
        super().__init__({name: filters[name] for name in ("vba", "sba")})
        self.combination = combination

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,), from 0 to 1, from the scores of VBA and SBA, (n,) each."""
        return self.combination(*(np.asarray(column, np.float32) for column in scores))
