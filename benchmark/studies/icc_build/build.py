"""Builds ICC from captions: SBA's bridge, reconstructions, scores, distillation in two stages (ICC paper, app. A)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmark.core.batch import Batch
from benchmark.core.paths import atomic_write
from benchmark.core.uids import UID_DTYPE
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.studies.concreteness.rated_texts import RatedTexts
from benchmark.studies.icc_build.captions import write_split
from benchmark.studies.icc_build.reconstruction import read_reconstructions, reconstruct
from benchmark.studies.icc_build.steps import FinishedStep, run_step
from filters.icc.autoencoder import Autoencoder
from filters.icc.combine import Combination, fit_combination
from filters.icc.direct import standardizer_file
from filters.icc.distill import distill
from filters.icc.sba import FrozenParts
from filters.icc.sba_training import train_bridge
from filters.icc.scorer import DistilledScorer
from filters.icc.similarity import Similarity
from filters.icc.standardize import fit_standardizer
from filters.icc.training import Recipe

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Plan:
    """The settings of a build.

    Args:
        captions: returns the captions; called only when they are needed.
        source: the configuration of `captions`, which is part of the fingerprint.
        training_captions: number of captions that SBA's bridge is trained on.
        scoring_captions: number of captions that are reconstructed and distilled.
        frozen: SBA's CLIP and LLM.
        bridge: recipe of SBA's bridge.
        sba: returns the SBA autoencoder for a folder with its bridge.
        vba: the VBA autoencoder.
        similarities: all similarity measures by name.
        chosen: the name of the measure for the score of "sba" and of "vba".
        annotations: rated captions that the combination is fitted on; None for the paper's weights.
        base: hub name or folder of the model to distil into.
        distillation: recipe of all distillations.
    """

    captions: Callable[[], Sequence[str]]
    source: Any
    training_captions: int
    scoring_captions: int
    frozen: FrozenParts
    bridge: Recipe
    sba: Callable[[str], Autoencoder]
    vba: Autoencoder
    similarities: dict[str, Similarity]
    chosen: dict[str, str]
    annotations: RatedTexts | None
    base: str
    distillation: Recipe


class Build:
    """Runs the steps of a plan; every step writes a folder below `root` and takes finished steps as inputs."""

    def __init__(self, plan: Plan, root: Path, engine: Engine, device: torch.device) -> None:
        self.plan = plan
        self.root = root
        self.engine = engine
        self.device = device

    def run(self) -> Path:
        """Run all unfinished steps and return the folder of the final scorer."""
        captions = self._captions()
        bridge = self._bridge(captions)
        autoencoders = {"sba": self.plan.sba(str(bridge.folder)), "vba": self.plan.vba}
        scores = {
            name: self._score(name, self._reconstruct(name, a, captions)) for name, a in autoencoders.items()
        }
        stage_one = {
            name: self._distill(name, step, _column(step.folder / "scores.parquet", "score"))
            for name, step in scores.items()
        }
        labels = self._combine(scores["sba"], stage_one)
        final = self._distill("icc", labels, _column(labels.folder / "labels.parquet", "label"))
        return final.folder / "model"

    def _captions(self) -> FinishedStep:
        plan = self.plan
        counts = (plan.training_captions, plan.scoring_captions)
        return run_step(
            self.root,
            "captions",
            {"source": plan.source, "counts": counts},
            lambda folder: write_split(plan.captions(), *counts, folder),
        )

    def _bridge(self, captions: FinishedStep) -> FinishedStep:
        plan = self.plan
        inputs = {"captions": captions, "frozen": plan.frozen.identity(), "recipe": asdict(plan.bridge)}
        texts = partial(_read_split, captions.folder / "training")
        return run_step(
            self.root,
            "sba/bridge",
            inputs,
            lambda folder: train_bridge(texts(), plan.frozen, plan.bridge, folder, self.device),
        )

    def _reconstruct(self, name: str, autoencoder: Autoencoder, captions: FinishedStep) -> FinishedStep:
        pool = Pool("scoring captions", str(captions.folder / "scoring"))
        return run_step(
            self.root,
            f"{name}/reconstructions",
            {"captions": captions, "autoencoder": autoencoder.identity()},
            lambda folder: reconstruct(pool, autoencoder, self.engine, folder),
        )

    def _score(self, name: str, reconstructions: FinishedStep) -> FinishedStep:
        """Compute every similarity, standardise it by caption length, and use the chosen one as the score."""
        measures = self.plan.similarities
        inputs = {
            "reconstructions": reconstructions,
            "similarities": {m: similarity.identity() for m, similarity in measures.items()},
            "chosen": self.plan.chosen[name],
        }

        def work(folder: Path) -> dict[str, float]:
            reconstructed = read_reconstructions(reconstructions.folder)
            columns: dict[str, Any] = {"uid": reconstructed.uids, "text": reconstructed.texts}
            for measure, similarity in measures.items():
                similarity.setup(self.device)
                columns[measure] = similarity.best(reconstructed.texts, reconstructed.beams)
                standardizer = fit_standardizer(reconstructed.texts, columns[measure])
                standardizer.save(folder / standardizer_file(measure))
                if measure == self.plan.chosen[name]:
                    columns["score"] = standardizer(reconstructed.texts, columns[measure])
            _write(folder / "scores.parquet", columns)
            return {f"mean_{measure}": round(float(columns[measure].mean()), 4) for measure in measures}

        return run_step(self.root, f"{name}/scores", inputs, work)

    def _distill(
        self, name: str, labels: FinishedStep, targets: Callable[[], tuple[list[str], Array]]
    ) -> FinishedStep:
        plan = self.plan
        inputs = {"labels": labels, "base": plan.base, "recipe": asdict(plan.distillation)}
        return run_step(
            self.root,
            f"{name}/distilled",
            inputs,
            lambda folder: distill(*targets(), plan.base, plan.distillation, folder, self.device),
        )

    def _combine(self, captions: FinishedStep, stage_one: dict[str, FinishedStep]) -> FinishedStep:
        """Fit the combination on the scores of the stage-one models, and label the captions with it."""
        annotations = self.plan.annotations
        inputs = {**stage_one, "annotations": annotations.sha256 if annotations else "the paper's weights"}

        def score(name: str, texts: Sequence[str]) -> Array:
            return score_captions(stage_one[name].folder / "model", texts, self.device)

        def work(folder: Path) -> dict[str, float]:
            weights = Combination()
            if annotations:
                rated = annotations.texts
                weights = fit_combination(score("vba", rated), score("sba", rated), annotations.ratings)
            weights.save(folder / "combination.json")
            texts = _read_texts(captions.folder / "scores.parquet")
            sba, vba = score("sba", texts), score("vba", texts)
            columns = {"text": texts, "sba": sba, "vba": vba, "label": weights(vba, sba)}
            _write(folder / "labels.parquet", columns)
            return {name: round(value, 3) for name, value in asdict(weights).items()}

        return run_step(self.root, "icc/combination", inputs, work)


def score_captions(checkpoint: Path, texts: Sequence[str], device: torch.device) -> Array:
    """Return the scores of `texts` by the distilled scorer in `checkpoint`, shape (n,)."""
    scorer = DistilledScorer(str(checkpoint))
    scorer.setup(device)
    size = scorer.batch_size
    parts = [
        scorer.score(Batch(np.zeros(len(part), UID_DTYPE), part))
        for part in (list(texts[start : start + size]) for start in range(0, len(texts), size))
    ]
    return np.concatenate(parts)


def _read_split(folder: Path) -> list[str]:
    """Return the captions that `write_split` wrote to one of its two folders."""
    return [text for path in sorted(folder.glob("metadata/*.parquet")) for text in _read_texts(path)]


def _read_texts(path: Path) -> list[str]:
    texts: list[str] = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return texts


def _column(path: Path, name: str) -> Callable[[], tuple[list[str], Array]]:
    def read() -> tuple[list[str], Array]:
        table = pq.read_table(path, columns=["text", name])
        return table["text"].to_pylist(), table[name].to_numpy().astype(np.float32)

    return read


def _write(path: Path, columns: dict[str, Any]) -> None:
    with atomic_write(path) as temporary:
        pq.write_table(pa.table(columns), temporary)
