"""Results with what runs leave in their folders, for tests of the report and of trackers."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmark.core.progress import CaptionedImage
from benchmark.core.records import write_record
from benchmark.results.report.certainty import RunFolders
from benchmark.results.result import Result, Scoring
from benchmark.results.run_folder import (
    Example,
    Fractions,
    GalleryPair,
    Histogram,
    Place,
    SelectionSummary,
    write_rows,
    write_selection_summary,
)
from benchmark.results.trackers import RunFacts
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.metric import Metric
from tests.benchmark.results.report.made_results import metric, protocol, result, trained

SCRIPT, IMAGE, END = "<script>alert(1)</script>", '<img src=x onerror="alert(2)">', "a</script><b>dog</b>"
HOSTILE = (SCRIPT, IMAGE, END)
IMAGES = 200  # with scores of their own
PLACES: tuple[Place, ...] = ("top", "kept", "dropped", "bottom")


def jpeg(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (24, 24, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((96, 96)).save(buffer, "JPEG", quality=70)
    return buffer.getvalue()


def measured(name: str, value: float, half: float = 0.03, **more: Any) -> Metric:
    """A metric with an interval of so much on both sides."""
    interval = (value - half, value + half)
    return Metric(name, value, None, 100, "v", interval=interval, **{"unit": "fraction", **more})


def full_result(name: str, quality: float, *, size: int = 200_000, seed: int = 0, **changes: Any) -> Result:
    """A run with both models; its metrics are multiples of `quality`."""
    captions = [measured(name, quality * times) for name, times in (("CIDEr", 1), ("BLEU-4", 0.5))]
    captions.append(Metric("Unique-1", 3.0, None, 100, "v", curve=(3 + quality, 4.0, 2.0), unit="n-grams"))
    models = {
        "captioner": trained(coco=captions),
        "dual_encoder": trained(coco=[measured("text_to_image_R@1", quality / 2)]),
    }
    usual = {"kept": {"concrete": 15, "web_string": 5}, "scoring": Scoring(10 + 90 * quality, 0.0)}
    return result(name, size=size, seed=seed, **{"downstream": models, **usual, **changes})


def summary(seed: int = 0, word: str = "dog") -> SelectionSummary:
    """A selection of a tenth of 1,000 pairs."""
    counts = Histogram((0.0, 1.0, 2.0, 4.0), (500, 400, 100), (0, 20, 80))
    return SelectionSummary(
        counts, (1000, 100), {"words per caption": counts},
        {word: Fractions(0.1, 0.4)},
    )  # fmt: skip


def write_run_folder(
    folder: Path, *, seed: int = 0, texts: Sequence[str] = ("a dog",), pairs: int = 3
) -> None:
    """Write all that the run of `full_result` leaves, with `texts` as its captions, in turn."""
    write_selection_summary(folder, summary(seed, texts[0]))
    write_rows(folder, GalleryPair, [
        GalleryPair(place, f"{n:032x}", text, 1.0 - n / 10, jpeg(1000 * seed + 10 * n + len(place)), text)
        for place in PLACES for n, text in zip(range(pairs), cycle(texts), strict=False)
    ])  # fmt: skip
    write_rows(folder, Example, [Example("coco", str(n), (texts[-1], "a cat"), jpeg(n)) for n in range(2)])
    captioner = folder / "captioner"
    captioner.mkdir()
    rows = [{"image_id": n, "caption": texts[n % len(texts)]} for n in range(3)]
    (captioner / "captions_coco.json").write_text(json.dumps(rows))
    (captioner / "losses.json").write_text(json.dumps([[100 * n, 5 - n / 10] for n in range(1, 20)]))


def hostile_folder(results: Path) -> list[Result]:
    """Two sizes, three seeds of one filter, another protocol, and hostile text wherever text comes from outside."""
    runs = [
        full_result(name, quality, size=size)
        for name, quality in (("random", 0.1), ("clip", 0.3), ("icc", 0.5), ("oracle", 0.6))
        for size in (100_000, 200_000)
    ]
    runs += [full_result("clip", 0.32 + seed / 100, seed=seed) for seed in (1, 2)]
    runs.append(full_result(SCRIPT, 0.2, family=IMAGE, machine=END, versions={END: SCRIPT}))
    runs.append(replace(full_result("random", 0.1), protocol=protocol(f"other {IMAGE}", recipe="longer")))
    runs = [replace(run, run_id=f"run{number}") for number, run in enumerate(runs)]
    for number, run in enumerate(runs):
        folder = results / run.run_id
        folder.mkdir(parents=True)
        write_run_folder(folder, seed=number, texts=HOSTILE)
    return runs


WEB = '<script>alert("x")</script> | **a** [b](c)'  # a caption of the web
CAPTIONS = [CaptionedImage(Image.new("RGB", (96, 64), "blue"), WEB, ("a cat", "one cat"))]


def facts(run_id: str = "demo-clip-200k-seed0-ab", **config: Mapping[str, object]) -> RunFacts:
    names = {"filter_name": "clip", "filter_family": "clip", "pool_name": "demo", "size_name": "200k"}
    of_protocol = {"protocol_name": protocol().name, "protocol_fingerprint": protocol().fingerprint}
    columns = {**names, **of_protocol, "k": 2000}
    return RunFacts(run_id, "run", columns, {"filter": {"_target_": "F"}, "seed": 0, **config})


def flat(colour: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (48, 32), colour).save(stream, "JPEG")
    return stream.getvalue()


def finished_run(results: Path) -> tuple[Result, Path]:
    """A result with its record, subset file, and the folder of what trackers show."""
    metrics = [replace(metric("CIDEr", 0.5), interval=(0.4, 0.6)), metric("SPICE", None, "no models")]
    subset = results / "cache" / "a.npy"
    made = result(
        "clip", downstream={"captioner": trained(coco=metrics)}, kept={"person": 5}, subset=str(subset)
    )
    subset.parent.mkdir(parents=True)
    subset.write_bytes(b"uids")
    write_record(results, made)
    folder = results / made.run_id
    scores = Histogram((0.0, 0.5, 1.0), (30, 10), (0, 4))
    write_selection_summary(folder, SelectionSummary(scores, (40, 4), {}, {}))
    pairs = [
        GalleryPair("kept", "0" * 32, WEB, 0.75, flat("red")),
        GalleryPair("dropped", "1" * 32, "a dog", 0.25, b""),
    ]
    write_rows(folder, GalleryPair, pairs)
    write_rows(folder, Example, [Example("coco", "7", ("a cat",), flat("green"))])
    (folder / "captioner").mkdir()
    rows = [{"image_id": 7, "caption": WEB}, {"image_id": 8, "caption": "another"}]
    (folder / "captioner" / "captions_coco.json").write_text(json.dumps(rows))
    return made, folder


class Folder:
    """Runs in a folder; their per-image scores have a mean and some noise."""

    def __init__(self, path: Path, metric: str = "CIDEr", **more: Any) -> None:
        self.path, self.metric, self.more = path, metric, more
        self.results: list[Result] = []
        self.difficulty = np.random.default_rng(0).normal(0, 0.1, IMAGES)

    def add(self, name: str, means: list[float], *, full: bool = False, **changes: Any) -> None:
        """Add a run per seed: of a captioner, or a `full_result`."""
        for seed, mean in enumerate(means):
            noise = np.random.default_rng([len(self.results), seed]).normal(0, 0.02, IMAGES)
            values = mean + self.difficulty + noise - (self.difficulty + noise).mean()
            models = {"captioner": trained(coco=[metric(self.metric, mean, **self.more)])}
            usual = full_result(name, mean) if full else result(name, downstream=models)
            run = replace(usual, seed=seed, **{"run_id": usual.run_id, **changes})
            run = replace(run, run_id=f"{run.run_id}{seed}")
            kept = ImageScores()
            kept.add("coco", self.metric, range(IMAGES), values.tolist())
            kept.write(self.path / run.run_id / "captioner")
            self.results.append(run)

    @property
    def folders(self) -> RunFolders:
        return RunFolders({run.run_id: self.path / run.run_id for run in self.results})
