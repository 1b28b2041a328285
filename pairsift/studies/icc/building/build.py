"""Builds ICC from captions: SBA's bridge, reconstructions, scores, distillation in two stages (ICC paper, app. A)."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmark.core.cached_files import intact
from benchmark.core.paths import atomic_write
from benchmark.core.progress import progress
from benchmark.core.temporaries import whole_files
from benchmark.core.uids import decode_uids
from benchmark.engine.base import Engine
from benchmark.models.checkpoints import locate_checkpoint, revision
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from filters.icc.autoencoder import Autoencoder
from filters.icc.combine import Combination, fit_combination
from filters.icc.sba import FrozenParts
from filters.icc.scorer import DistilledScorer
from filters.icc.similarity import Similarity
from filters.icc.standardize import fit_standardizer, standardizer_file
from pairsift.studies.icc.building.bridge_training import train_bridge
from pairsift.studies.icc.building.captions import CaptionSets, write_split
from pairsift.studies.icc.building.steps import FinishedStep, Steps
from pairsift.studies.icc.building.training import Recipe, distill
from pairsift.studies.icc.concreteness.evaluation import score_texts
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Plan:
    """The settings of a build."""

    # Returns the captions, whose content decides whether finished steps are used again.
    captions: Callable[[], CaptionSets]
    # Number of captions that SBA's bridge is trained on; see `write_split` for None.
    training_captions: int | None
    # Number of captions that are reconstructed and distilled; see `write_split` for None.
    scoring_captions: int | None
    frozen: FrozenParts
    bridge: Recipe
    bridge_max_tokens: int  # maximum tokens of a caption in that training
    sba: Callable[[str], Autoencoder]  # returns the SBA autoencoder for a folder with its bridge
    vba: Autoencoder
    similarities: dict[str, Similarity]
    chosen: dict[str, str]  # the name of the measure for the score of "sba" and of "vba"
    mu: float  # the mean of the standardised logits, see `fit_standardizer`
    # Rated captions that the combination is fitted on; None for the paper's weights.
    annotations: RatedTexts | None
    base: str  # hub name or folder of the model to distil into
    distillation: Recipe


class Build:
    """Runs the steps of a plan; every step writes a folder below `root` and takes finished steps as inputs.

    All processes of a launch run it together: trainings are spread over them, reconstructions over the engine.
    """

    def __init__(self, plan: Plan, root: Path, engine: Engine, device: torch.device) -> None:
        self.plan = plan
        self.steps = Steps(root, device)
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
        stage_one = {n: self._distill(n, step, "scores.parquet", "score") for n, step in scores.items()}
        labels = self._combine(scores["sba"], stage_one)
        final = self._distill("icc", labels, "labels.parquet", "label")
        return final.folder / "model"

    def _captions(self) -> FinishedStep:
        plan = self.plan
        counts = (plan.training_captions, plan.scoring_captions)
        captions = plan.captions()
        inputs = {"captions": captions.sha256(), "counts": counts}
        return self.steps.run("captions", inputs, lambda folder: write_split(captions, *counts, folder))

    def _bridge(self, captions: FinishedStep) -> FinishedStep:
        plan = self.plan
        inputs = {
            "captions": captions,
            "frozen": plan.frozen.identity(),
            "recipe": plan.bridge.identity(),
            "max_tokens": plan.bridge_max_tokens,
            "format": "BOS, vector, caption, end",
        }

        def work(folder: Path) -> dict[str, float]:
            files = whole_files(captions.folder / "training" / "metadata", "*.parquet")
            texts = [text for path in files for text in _read_texts(path)]
            return train_bridge(texts, plan.frozen, plan.bridge, plan.bridge_max_tokens, folder, self.device)

        return self.steps.run("sba/bridge", inputs, work, spread=True)

    def _reconstruct(self, name: str, autoencoder: Autoencoder, captions: FinishedStep) -> FinishedStep:
        pool = Pool("scoring captions", str(captions.folder / "scoring"))
        return self.steps.run(
            f"{name}/reconstructions",
            {"captions": captions, "autoencoder": autoencoder.identity()},
            # Models are loaded into a copy, which the step frees.
            lambda folder: reconstruct(pool, deepcopy(autoencoder), self.engine, folder),
        )

    def _score(self, name: str, reconstructions: FinishedStep) -> FinishedStep:
        """Compute every similarity, standardise it by caption length, and use the chosen one as the score."""
        measures = self.plan.similarities
        inputs = {
            "reconstructions": reconstructions,
            "similarities": {m: similarity.identity() for m, similarity in measures.items()},
            "chosen": self.plan.chosen[name],
            **({"mu": mu} if (mu := self.plan.mu) else {}),
        }

        def work(folder: Path) -> dict[str, float]:
            parts = whole_files(reconstructions.folder, "*.parquet")
            columns: dict[str, Any] = pa.concat_tables(map(pq.read_table, parts)).to_pydict()
            texts, beams = columns["text"], columns.pop("reconstructions")
            for measure, similarity in deepcopy(measures).items():
                similarity.setup(self.device)
                columns[measure] = similarity.best(texts, beams)
                standardizer = fit_standardizer(texts, columns[measure], mu=mu)
                standardizer.save(folder / standardizer_file(measure))
                if measure == self.plan.chosen[name]:
                    columns["score"] = standardizer(texts, columns[measure])
            _write(folder / "scores.parquet", columns)
            return {f"mean_{measure}": round(float(columns[measure].mean()), 4) for measure in measures}

        return self.steps.run(f"{name}/scores", inputs, work)

    def _distill(self, name: str, labels: FinishedStep, file: str, column: str) -> FinishedStep:
        plan = self.plan

        def work(folder: Path) -> dict[str, float]:
            table = pq.read_table(labels.folder / file, columns=["text", column])
            texts, targets = table["text"].to_pylist(), table[column].to_numpy().astype(np.float32)
            return distill(texts, targets, plan.base, plan.distillation, folder, self.device)

        base = revision(locate_checkpoint(plan.base))
        inputs = {"labels": labels, "base": base, "recipe": plan.distillation.identity()}
        return self.steps.run(f"{name}/distilled", inputs, work, spread=True)

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

        return self.steps.run("icc/combination", inputs, work)


def score_captions(checkpoint: Path, texts: Sequence[str], device: torch.device) -> Array:
    """Return the scores of `texts` by the distilled scorer in `checkpoint`, shape (n,)."""
    scorer = DistilledScorer(str(checkpoint))
    scorer.setup(device)
    return np.asarray(score_texts(scorer, list(texts)), np.float32)


def _read_texts(path: Path) -> list[str]:
    texts: list[str] = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return texts


def _write(path: Path, columns: dict[str, Any]) -> None:
    with atomic_write(path) as temporary:
        pq.write_table(pa.table(columns), temporary)


TEXT = frozenset({"text"})


class ReconstructShard:
    """Reconstructs the captions of a shard and writes its file at once, so an interrupted run repeats at most one."""

    light = False

    def __init__(self, captions: Pool, autoencoder: Autoencoder, folder: Path) -> None:
        self.captions = captions
        self.autoencoder = autoencoder
        self.folder = folder

    def setup(self, device: str) -> None:
        """Load the models."""
        self.autoencoder.setup(torch.device(device))

    def __call__(self, shard: Shard) -> int:
        """Write the reconstructions of one shard; return its number of captions."""
        uids: list[str] = []
        texts: list[str] = []
        beams: list[list[str]] = []
        for batch in self.captions.batches(shard, TEXT, self.autoencoder.batch_size, Counter()):
            uids += decode_uids(batch.uids)
            texts += batch.texts
            beams += self.autoencoder.reconstruct(batch.texts)
        with atomic_write(self.folder / f"{shard.name}.parquet") as temporary:
            pq.write_table(pa.table({"uid": uids, "text": texts, "reconstructions": beams}), temporary)
        return len(uids)


def reconstruct(captions: Pool, autoencoder: Autoencoder, engine: Engine, folder: Path) -> dict[str, float]:
    """Write the reconstructions of all captions to `folder`, one file per shard; existing files are kept."""
    shards = [s for s in captions.shards(TEXT) if not intact(folder / f"{s.name}.parquet")]
    started, done = time.monotonic(), 0
    with progress(f"reconstruct {folder.parent.name}", len(shards), "shards") as advance:
        for count in engine.run(ReconstructShard(captions, autoencoder, folder), shards):
            done += count
            advance(1, f"{done / (time.monotonic() - started):.1f} captions/s")
    return {"captions_per_second": round(done / (time.monotonic() - started), 2)}
