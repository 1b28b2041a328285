"""All GPU work in one command of under 25 minutes: the GPU tests, and the speed of models at their real sizes.

    python -m bench.gpu                       # needs a GPU; writes docs/gpu.json and its table of docs/performance.md
    python -m bench.gpu --device cpu --tiny   # every part with tiny models, which measures nothing and writes nothing

Weights are random (`tests.paper_checkpoints`). Each part runs in a separate process, for its peak of memory.
"""

import argparse
import gc
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.measurement import PAGE, ROOT, measure, write_table
from benchmark.core.devices import default_precision
from benchmark.core.launch import own_cores
from benchmark.core.paths import write_text
from benchmark.results.provenance import provenance

FILE = ROOT / "docs" / "gpu.json"
BEGIN, END = "<!-- gpu: begin -->", "<!-- gpu: end -->"
HEADER = "| work | rate | GPU busy | GPU memory, GiB | |"
LIMIT = 24 * 60.0  # seconds of all parts
SWIN, GPT2 = "microsoft/swin-base-patch4-window7-224-in22k", "gpt2"
VIT, BERT, ICC = "google/vit-base-patch16-224", "bert-base-uncased", "moranyanuka/icc"


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Args:
        work: the work.
        rate: amount of work per second; None if it was not measured.
        unit: unit of the rate, such as ``images/s``.
        busy: fraction of the time that the GPU computed; None if not measured.
        gib: the most memory that torch held on the GPU; None if not measured.
        note: a remark, or the reason for a missing rate.
    """

    work: str
    rate: float | None = None
    unit: str = ""
    busy: float | None = None
    gib: float | None = None
    note: str = ""

    def cells(self) -> str:
        """The row in Markdown."""
        number = "" if self.rate is None else f"{self.rate:{',.0f' if self.rate >= 100 else '.3g'}}"
        busy = "" if self.busy is None else f"{self.busy:.0%}"
        gib = "" if self.gib is None else f"{self.gib:.2f}"
        return f"| {self.work} | {f'{number} {self.unit}'.strip()} | {busy} | {gib} | {self.note} |"


@dataclass(frozen=True)
class Setting:
    """The device of a part, and whether it runs at its real size."""

    device: str
    tiny: bool

    def of(self, real: int, tiny: int) -> int:
        """The real size, or the size of a quick try."""
        return tiny if self.tiny else real

    @property
    def torch_device(self) -> torch.device:
        return torch.device(self.device)

    @property
    def precisions(self) -> tuple[str, ...]:
        """fp32 and bf16, or only fp32 if the GPU does not compute bf16."""
        return ("fp32", "bf16") if default_precision(self.device) == "bf16" else ("fp32",)


def timed(
    work: Callable[[], object], setting: Setting, warm_up: int = 2, times: int = 5
) -> tuple[float, float | None]:
    """Return the seconds of one call, and the most memory that torch held on the GPU, in GiB."""
    on_gpu = setting.device != "cpu"
    for _ in range(setting.of(warm_up, 0)):
        work()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
    times, began = setting.of(times, 1), time.monotonic()
    for _ in range(times):
        work()
    if on_gpu:
        torch.cuda.synchronize()
    seconds = (time.monotonic() - began) / times
    return seconds, torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None


def tried(work: str, measured: Callable[[], Row]) -> Row:
    """Return the row; if the GPU's memory is too small, a row that says so."""
    try:
        return measured()
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return Row(work, note="out of memory")


def tests(setting: Setting) -> Iterator[Row]:
    """All tests of tests/gpu, which must pass."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "tests/gpu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (*_, last) = done.stdout.strip().splitlines() or [done.stderr]
    assert done.returncode == 0, done.stdout[-3000:]
    assert ("skipped" if setting.device == "cpu" else "passed") in last, done.stdout[-3000:]
    yield Row("tests/gpu", note=last.strip("= "))


def clip(setting: Setting) -> Iterator[Row]:
    """Images through CLIP's image towers, decoded by a process per core or in series."""
    from bench.embedding import in_a_pipeline, in_series
    from bench.photos import write_photos
    from pairsift.demo.settings import demo_model

    cores = setting.of(own_cores(), 1)
    images = setting.of(512 * cores, 256)
    models = [f"local-dir:{demo_model('clip')}"] if setting.tiny else ["ViT-B-32", "ViT-L-14"]
    with tempfile.TemporaryDirectory() as folder:
        (tar,) = write_photos(Path(folder), 1, images)
        busy = Path(folder) / "busy.json"
        ways = {f"pipeline of {cores}": (in_a_pipeline, cores), "in series": (in_series,)}
        for model, (how, (function, *more)) in product(models, ways.items()):
            usage = measure(function, tar, model, setting.device, str(busy), *more)
            work = f"CLIP {Path(model).name}, {'fp32' if setting.tiny else 'bf16'}, {how}"
            yield Row(work, images / usage.seconds, "images/s", json.loads(busy.read_text()))


def icc(setting: Setting) -> Iterator[Row]:
    """The released scorer's size, packed or padded, in fp32 and bf16; the model card's batches of 64."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from benchmark.core.batch import Batch
    from benchmark.models.checkpoints import load_model, locate_checkpoint, quiet_transformers
    from filters.icc.packed import PaddedModel
    from filters.icc.scorer import DistilledScorer
    from pairsift.studies.icc.demo_captions import demo_captions
    from tests.pools import numbered_uids

    count, device = setting.of(20_000, 64), setting.torch_device
    texts = demo_captions(setting.of(2000, 64), 0.5).texts
    texts = [texts[number % len(texts)] for number in range(count)]
    scores: dict[str, np.ndarray] = {}

    def ours(precision: str, packed: bool) -> Row:
        scorer = DistilledScorer(ICC, precision)
        scorer.setup(device)
        if not packed:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            model = load_model("AutoModelForSequenceClassification", ICC)
            scorer._model = PaddedModel(model.to(device).eval(), dtype)
        batch = Batch(numbered_uids(count), texts)
        name = f"ICC, {precision}, {'packed' if packed else 'sorted and padded'}"

        def score() -> None:
            scores[name] = scorer.score(batch)

        seconds, gib = timed(score, setting, 1, 3)
        return Row(name, count / seconds, "captions/s", gib=gib, note=difference(name))

    def model_card() -> Row:
        folder = locate_checkpoint(ICC)
        with quiet_transformers():
            model = AutoModelForSequenceClassification.from_pretrained(folder).to(device).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
        name = "ICC, fp32, Hugging Face, batches of 64 padded"

        @torch.inference_mode()
        def score() -> None:
            parts = []
            for start in range(0, count, 64):
                inputs = tokenizer(
                    texts[start : start + 64], padding=True, truncation=True, return_tensors="pt"
                )
                parts.append(model(**inputs.to(device)).logits[:, 0].cpu())
            scores[name] = torch.cat(parts).numpy()

        seconds, gib = timed(score, setting, 1, 1)
        return Row(name, count / seconds, "captions/s", gib=gib)

    def difference(name: str) -> str:
        (first, *_) = scores.values()
        off = float(np.abs(scores[name] - first).max())
        return f"scores differ by at most {off:.1g}, of a deviation of {first.std():.1g}"

    yield tried("ICC, Hugging Face", model_card)
    for precision, packed in product(setting.precisions, (True, False)):
        yield tried(f"ICC, {precision}", partial(ours, precision, packed))


def training_batch(collate: Any, size: int) -> Any:
    """A batch of random images with captions of the demo."""
    from PIL import Image

    from benchmark.core.batch import Sample
    from downstream.training.training_data import TrainingBatch
    from pairsift.studies.icc.demo_captions import demo_captions

    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (224, 224, 3), np.uint8)) for _ in range(16)]
    texts = demo_captions(size, 0.5).texts
    samples = [Sample(f"{row:032x}", text, images[row % 16]) for row, text in enumerate(texts)]
    return TrainingBatch(collate(samples), size, {})


VARIANTS = (
    (None, False),
    (4, False),
    (None, True),
    (4, True),
)  # parts of a batch, and whether activations are kept


def steps(
    name: str, build: Callable[[], tuple[torch.nn.Module, Any]], size: int, setting: Setting
) -> Iterator[Row]:
    """Optimizer steps of a model on one batch, with and without micro-batches and checkpointing."""
    from benchmark.core.distributed import make_accelerator
    from downstream.training.stepper import Stepper, checkpoint_activations, make_optimizer

    def step(work: str, precision: str, parts: int | None, checkpointing: bool) -> Row:
        gc.collect()  # the model before this one
        model, batch = build()
        if checkpointing:
            checkpoint_activations(model, name)
        model = model.to(setting.torch_device).train()
        optimizer = make_optimizer(model, "adamw", 2e-5, 0.0)
        micro_batch = size // parts if parts else None
        accelerator = make_accelerator(setting.torch_device)
        stepper = Stepper(accelerator, model, optimizer, 1.0, 0, precision, micro_batch)
        losses = []

        def once() -> None:
            taken = stepper.step(0, 2e-5, batch)
            assert taken is not None
            losses.append(taken.loss)

        seconds, gib = timed(once, setting)
        assert torch.stack(losses).isfinite().all(), losses
        return Row(work, size / seconds, "samples/s", gib=gib, note=f"{seconds:.3g} s a step")

    for precision, (parts, checkpointing) in product(setting.precisions, VARIANTS):
        if precision == "fp32" and checkpointing:
            continue
        how = f", micro_batch={size // parts}" if parts else ""
        how += ", checkpointing" if checkpointing else ""
        work = f"{name}, batch of {size}, {precision}{how}"
        yield tried(work, partial(step, work, precision, parts, checkpointing))


def captioner(setting: Setting) -> Iterator[Row]:
    """Swin-B + GPT-2 in batches of 100, as in the paper."""
    from downstream.models.captioner import Captioner
    from downstream.models.networks import CaptionCollate, CaptionLoss
    from downstream.training.trainer import TrainConfig

    size = setting.of(100, 4)
    made = Captioner(SWIN, GPT2, TrainConfig(size, batch_size=size, lr=2e-5), 64, 3, 32, size)

    def build() -> tuple[torch.nn.Module, Any]:
        made.build(torch.device("cpu"))
        return CaptionLoss(made.model), training_batch(
            CaptionCollate(made.processor, made.tokenizer, 64), size
        )

    yield from steps("Swin-B + GPT-2", build, size, setting)


def dual_encoder(setting: Setting) -> Iterator[Row]:
    """ViT-B/16 + BERT-base: locked in batches of 128, as in the paper, and both trained in batches of 512."""
    from downstream.models.dual_encoder import DualEncoder, Unlocked
    from downstream.training.trainer import TrainConfig

    for locked, size in ((True, setting.of(128, 4)), (False, setting.of(512, 4))):
        recipe = TrainConfig(size, batch_size=size, lr=2e-5)
        made = DualEncoder(VIT, BERT, recipe, locked, False, 64, size, Unlocked(384, True, False))

        def build(made: DualEncoder = made, size: int = size) -> tuple[torch.nn.Module, Any]:
            made.build(torch.device("cpu"))
            return made.model, training_batch(made.collate, size)

        name = f"ViT-B/16 {'locked ' if locked else ''}+ BERT-base"
        yield from steps(name, build, size, setting)


def corpus(setting: Setting) -> Iterator[Row]:
    """NormSim's removal and k-means of faiss, on embeddings as wide as CLIP ViT-B/32's."""
    import faiss

    from filters.embeddings.clusters import ImageClusters
    from filters.embeddings.removal import Removal, exact_outer_sum

    count, clusters = setting.of(500_000, 500), setting.of(1000, 4)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(clusters, 512)).astype(np.float32)[rng.integers(0, clusters, count)]
    points += 0.5 * rng.normal(size=points.shape).astype(np.float32)
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float16)
    devices = ["cpu"] if setting.device == "cpu" else [setting.device, "cpu"]
    with tempfile.TemporaryDirectory() as folder:
        total = exact_outer_sum(points)
        for device in devices:
            removal = Removal(points, total, setting.of(100, 5), Path(folder) / f"removal-{device}")
            removal.setup(torch.device(device))
            seconds, gib = timed(lambda removal=removal: removal(0), setting, 0, 1)
            work = f"NormSim-2-D of {count:,} pairs on {device}"
            yield Row(work, count / seconds, "pairs/s", gib=None if device == "cpu" else gib)
        for device in devices:
            if device != "cpu" and not faiss.get_num_gpus():
                note = "this faiss has no GPU: install faiss-gpu-cu12 in place of faiss-cpu"
                yield Row(f"k-means on {device}", note=note)
                continue
            kept = Path(folder) / f"means-{device}"
            means = ImageClusters(kept, clusters, None, iterations=20, restarts=1, sample=False)
            gpu = None if device == "cpu" else 0
            seconds, _ = timed(lambda means=means, gpu=gpu: means.fit(points, gpu), setting, 0, 1)
            work = f"k-means of {count:,} pairs, {clusters:,} clusters, 20 iterations, on {device}"
            yield Row(work, count / seconds, "pairs/s")


PARTS: dict[str, Callable[[Setting], Iterator[Row]]] = {
    part.__name__: part for part in (tests, clip, icc, captioner, dual_encoder, corpus)
}


def send_rows(connection: Connection, parts: Sequence[str], setting: Setting) -> None:
    """Send the rows of parts, and None at the end; an error as its text."""
    try:
        for part in parts:
            for row in PARTS[part](setting):
                connection.send(row)
        connection.send(None)
    except Exception:
        connection.send(traceback.format_exc())
        raise


def rows_of(parts: Sequence[str], setting: Setting, seconds: float) -> Iterator[Row | str]:
    """Yield the rows of parts, which another process measures, and then the error, if there was one."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=send_rows, args=(sender, parts, setting))
    process.start()
    sender.close()
    end = time.monotonic() + seconds
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            if (sent := receiver.recv()) is None:
                return
            yield sent
            if isinstance(sent, str):
                return
        yield f"{', '.join(parts)}: not finished in the {LIMIT / 60:.0f} minutes of the whole command"
    except EOFError:
        process.join()
        yield f"{', '.join(parts)}: the process ended with exit code {process.exitcode}"
    finally:
        process.join(5)
        process.kill()


def make_checkpoints(setting: Setting, folder: Path) -> None:
    """Make the checkpoints of the parts, and let their processes find them."""
    from tests.paper_checkpoints import Hub

    Hub(folder / "hub", setting.tiny).add([SWIN, GPT2, VIT, BERT, ICC])
    os.environ |= {
        "HF_HUB_CACHE": str(folder / "hub"),
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def driver() -> str:
    """The version of NVIDIA's driver, or nothing."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


def write_document(file: Path, rows: Sequence[Row], errors: Sequence[str]) -> None:
    """Write the measurements with machine and date, and the errors of failed parts."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    machine = {"gpu": gpu, "driver": driver(), "cuda": torch.version.cuda}
    measured = {"rows": [asdict(row) for row in rows], "errors": list(errors)}
    write_text(file, json.dumps(provenance() | machine | measured, indent=2) + "\n")


def write_page(file: Path = FILE, page: Path = PAGE) -> None:
    """Write the table of docs/gpu.json, if there is one, into docs/performance.md."""
    lines = ["| `make gpu` was not run yet | | | | |"]
    if file.is_file():
        measured = json.loads(file.read_text())
        where = f"{measured['gpu']}, driver {measured['driver']}, CUDA {measured['cuda']}"
        where += f", torch {measured['versions']['torch']}; {measured['finished'][:10]}"
        where += f", commit {(measured['git_commit'] or 'unknown')[:8]}"
        lines = [Row(**row).cells() for row in measured["rows"]]
        lines += [Row(error.strip().splitlines()[-1], note="failed").cells() for error in measured["errors"]]
        lines += [Row(where).cells()]
    write_table(BEGIN, END, HEADER, lines, page)


def main(arguments: Sequence[str]) -> int:
    """Measure all parts; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tiny", action="store_true", help="tiny models: tries the code, measures nothing")
    parser.add_argument("--table", action="store_true", help="only write the table of docs/gpu.json again")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all of them by default"
    )
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"{min(unknown)} must be one of {', '.join(PARTS)}")
    if given.table:
        write_page()
        return 0
    if given.device == "cuda" and not torch.cuda.is_available():
        print(
            "error: make gpu needs a CUDA device, and torch sees none here; nothing was measured",
            file=sys.stderr,
        )
        return 2
    setting = Setting(given.device, given.tiny)
    end, rows, errors = time.monotonic() + LIMIT, [], []
    with tempfile.TemporaryDirectory() as folder:
        make_checkpoints(setting, Path(folder))
        parts = given.parts or list(PARTS)
        # Tiny models share a process, because its imports take longer than they do.
        for group in [parts] if given.tiny else [[part] for part in parts]:
            for row in rows_of(group, setting, end - time.monotonic()):
                if isinstance(row, Row):
                    rows.append(row)
                    print(row.cells(), flush=True)
                else:
                    errors.append(row)
                    print(row, file=sys.stderr, flush=True)
    if given.device == "cuda" and not (given.tiny or given.parts):
        write_document(FILE, rows, errors)
        write_page()
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
