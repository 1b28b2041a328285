"""ICC from captions alone: bridge, reconstructions, scores, two stages of distillation (ICC paper, appendix A)."""

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
from benchmark.studies.icc_build.steps import Done, run_step
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
    """What a build is made of.

    `captions` gives the texts when they are needed, and `source` says which they are; `sba` makes SBA from the
    folder of its bridge. `similarities` holds every measure by name, `chosen` the one that each pipeline is scored
    by. Without `annotations` the paper's weights combine the two.
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
    """Runs a plan in a folder, step by step; each step is a method that starts from finished ones."""

    def __init__(self, plan: Plan, root: Path, engine: Engine, device: torch.device) -> None:
        self.plan = plan
        self.root = root
        self.engine = engine
        self.device = device

    def run(self) -> Path:
        """Do all steps that are not done yet; return the folder of the final scorer."""
        captions = self._captions()
        bridge = self._bridge(captions)
        made = {"sba": self.plan.sba(str(bridge.folder)), "vba": self.plan.vba}
        scores = {name: self._score(name, self._reconstruct(name, a, captions)) for name, a in made.items()}
        stage_one = {
            name: self._distill(name, done, _column(done.folder / "scores.parquet", "score"))
            for name, done in scores.items()
        }
        labels = self._combine(scores["sba"], stage_one)
        final = self._distill("icc", labels, _column(labels.folder / "labels.parquet", "label"))
        return final.folder / "model"

    def _captions(self) -> Done:
        plan = self.plan
        counts = (plan.training_captions, plan.scoring_captions)
        return run_step(
            self.root,
            "captions",
            {"source": plan.source, "counts": counts},
            lambda folder: write_split(plan.captions(), *counts, folder),
        )

    def _bridge(self, captions: Done) -> Done:
        plan = self.plan
        inputs = {"captions": captions, "frozen": plan.frozen.identity(), "recipe": asdict(plan.bridge)}
        texts = partial(_texts, captions.folder / "training")
        return run_step(
            self.root,
            "sba/bridge",
            inputs,
            lambda folder: train_bridge(texts(), plan.frozen, plan.bridge, folder, self.device),
        )

    def _reconstruct(self, name: str, autoencoder: Autoencoder, captions: Done) -> Done:
        pool = Pool("scoring captions", str(captions.folder / "scoring"))
        return run_step(
            self.root,
            f"{name}/reconstructions",
            {"captions": captions, "autoencoder": autoencoder.identity()},
            lambda folder: reconstruct(pool, autoencoder, self.engine, folder),
        )

    def _score(self, name: str, reconstructions: Done) -> Done:
        """Compare with every measure, standardise by length, and keep the chosen measure's score."""
        measures = self.plan.similarities
        inputs = {
            "reconstructions": reconstructions,
            "similarities": {m: similarity.identity() for m, similarity in measures.items()},
            "chosen": self.plan.chosen[name],
        }

        def work(folder: Path) -> dict[str, float]:
            made = read_reconstructions(reconstructions.folder)
            columns: dict[str, Any] = {"uid": made.uids, "text": made.texts}
            for measure, similarity in measures.items():
                similarity.setup(self.device)
                columns[measure] = similarity.best(made.texts, made.beams)
                standardizer = fit_standardizer(made.texts, columns[measure])
                standardizer.save(folder / standardizer_file(measure))
                if measure == self.plan.chosen[name]:
                    columns["score"] = standardizer(made.texts, columns[measure])
            _write(folder / "scores.parquet", columns)
            return {f"mean_{measure}": round(float(columns[measure].mean()), 4) for measure in measures}

        return run_step(self.root, f"{name}/scores", inputs, work)

    def _distill(self, name: str, labels: Done, targets: Callable[[], tuple[list[str], Array]]) -> Done:
        plan = self.plan
        inputs = {"labels": labels, "base": plan.base, "recipe": asdict(plan.distillation)}
        return run_step(
            self.root,
            f"{name}/distilled",
            inputs,
            lambda folder: distill(*targets(), plan.base, plan.distillation, folder, self.device),
        )

    def _combine(self, captions: Done, stage_one: dict[str, Done]) -> Done:
        """Fit the weights on stage one's outputs, and label the captions with their combination."""
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
            texts = _texts_of(captions.folder / "scores.parquet")
            sba, vba = score("sba", texts), score("vba", texts)
            columns = {"text": texts, "sba": sba, "vba": vba, "label": weights(vba, sba)}
            _write(folder / "labels.parquet", columns)
            return {name: round(value, 3) for name, value in asdict(weights).items()}

        return run_step(self.root, "icc/combination", inputs, work)


def score_captions(checkpoint: Path, texts: Sequence[str], device: torch.device) -> Array:
    """Return what a distilled scorer gives `texts`, shape (n,)."""
    scorer = DistilledScorer(str(checkpoint))
    scorer.setup(device)
    step = scorer.batch_size
    parts = [
        scorer.score(Batch(np.zeros(len(part), UID_DTYPE), part))
        for part in (list(texts[start : start + step]) for start in range(0, len(texts), step))
    ]
    return np.concatenate(parts)


def _texts(folder: Path) -> list[str]:
    """Return the captions of a set that `write_split` wrote."""
    return [text for path in sorted(folder.glob("metadata/*.parquet")) for text in _texts_of(path)]


def _texts_of(path: Path) -> list[str]:
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
