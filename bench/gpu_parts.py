"""The work that `python -m bench.gpu` measures: models of the papers at their real sizes, and whole commands.

Every batch is new, with captions as long as real ones: a repeated batch hides the cost of new shapes.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.measurement import ROOT, measure
from benchmark.core.devices import default_precision, resolve_device
from benchmark.core.launch import own_cores

SWIN, GPT2 = "microsoft/swin-base-patch4-window7-224-in22k", "gpt2"
VIT, BERT, ICC = "google/vit-base-patch16-224", "bert-base-uncased", "moranyanuka/icc"
CLIPS = {
    "ViT-B-32": "timm/vit_base_patch32_clip_224.openai",
    "ViT-L-14": "timm/vit_large_patch14_clip_224.openai",
}
# Of 10,000 alt texts of LAION, so many have 0, 1, 2, ... words and marks (GPT-2's pre-tokens), the last 64 or more.
LENGTHS = (
    0, 13, 160, 469, 647, 829, 800, 846, 787, 773, 615, 547, 530, 475, 338, 304, 261, 232, 154, 141,
    128, 118, 101, 79, 77, 57, 50, 45, 30, 33, 17, 33, 29, 18, 25, 12, 17, 12, 8, 6, 8, 6, 4, 9, 10, 6,
    6, 4, 5, 7, 6, 8, 2, 7, 11, 2, 5, 1, 3, 7, 3, 3, 3, 0, 58,
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Args:
        work: the work.
        rate: amount of work per second; None if it was not measured.
        unit: unit of the rate, such as ``images/s``.
        busy: fraction of the time that the GPU computed; None if not measured.
        tflops: the model's products of matrices, 10^12 floating-point operations per second; None if not counted.
        gib: the most memory that torch held on the GPU; None if not measured.
        note: a remark, or the reason for a missing rate.
    """

    work: str
    rate: float | None = None
    unit: str = ""
    busy: float | None = None
    tflops: float | None = None
    gib: float | None = None
    note: str = ""

    def cells(self, peak: float | None = None) -> str:
        """The row in Markdown, with the share of `peak`, the operations per second of one large product."""
        number = "" if self.rate is None else f"{self.rate:{',.0f' if self.rate >= 100 else '.3g'}}"
        busy = "" if self.busy is None else f"{self.busy:.0%}"
        share = "" if self.tflops is None or peak is None else f"{self.tflops / peak:.0%}"
        gib = "" if self.gib is None else f"{self.gib:.2f}"
        return f"| {self.work} | {f'{number} {self.unit}'.strip()} | {busy} | {share} | {gib} | {self.note} |"


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
        return resolve_device(self.device)

    @property
    def precisions(self) -> tuple[str, ...]:
        """fp32, TF32 and bf16; only fp32 if the GPU does not compute bf16."""
        return ("bf16", "tf32", "fp32") if default_precision(self.device) == "bf16" else ("fp32",)


def timed(work: Callable[[Any], object], warm: Sequence[Any], fresh: Sequence[Any]) -> tuple[float, float]:
    """Return the seconds of one call, and the most memory that torch held on the GPU, in GiB.

    With the inputs `warm`, kernels are loaded and memory is allocated; calls with `fresh` are measured.
    """
    on_gpu = torch.cuda.is_available()
    for given in warm:
        work(given)
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
    began = time.monotonic()
    for given in fresh:
        work(given)
    if on_gpu:
        torch.cuda.synchronize()
    seconds = (time.monotonic() - began) / len(fresh)
    return seconds, torch.cuda.max_memory_allocated() / 2**30 if on_gpu else 0.0


def tried(work: str, measured: Callable[[], Row]) -> Row:
    """Return the row; if the GPU's memory is too small, a row that says so."""
    try:
        return measured()
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return Row(work, note="out of memory")


def captions(count: int, seed: int) -> list[str]:
    """Return captions of words of two letters, single tokens of the tokenizers here, of real lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice(len(LENGTHS), count, p=np.array(LENGTHS) / sum(LENGTHS))
    letters = rng.choice(list(ascii_lowercase), (lengths.sum(), 2)).tolist()
    words = iter(map("".join, letters))
    return [" ".join(next(words) for _ in range(length)) for length in lengths.tolist()]


def peak(setting: Setting) -> Iterator[Row]:
    """The product of two large matrices in bf16: the peak that other rows are compared with."""
    size = setting.of(8192, 256)
    one, other = torch.randn(2, size, size, device=setting.torch_device, dtype=torch.bfloat16)
    seconds, _ = timed(lambda _: one @ other, range(3), range(setting.of(10, 1)))
    tflops = 2 * size**3 / seconds / 1e12
    yield Row(f"product of two {size} x {size} matrices, bf16", tflops, "TFLOP/s", tflops=tflops)


def tests(setting: Setting) -> Iterator[Row]:
    """All tests of tests/gpu, which must pass."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "tests/gpu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (*_, last) = done.stdout.strip().splitlines() or [done.stderr]
    assert done.returncode == 0, done.stdout[-3000:]
    assert ("skipped" if setting.device == "cpu" else "passed") in last, done.stdout[-3000:]
    yield Row("tests/gpu", note=last.strip("= "))


def icc(setting: Setting) -> Iterator[Row]:
    """The released scorer's size with its tokenizer; and the model card's way, in batches of 64."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from benchmark.core.batch import Batch
    from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers
    from filters.icc.scorer import DistilledScorer
    from tests.pools import numbered_uids

    count, device = setting.of(60_000, 64), setting.torch_device
    warm, *fresh = (captions(count, seed) for seed in range(setting.of(4, 2)))
    first: list[np.ndarray] = []

    def ours(precision: str) -> Row:
        scorer = DistilledScorer(ICC, precision)  # type: ignore[arg-type]
        scorer.setup(device)
        scores: list[np.ndarray] = []
        seconds, gib = timed(
            lambda texts: scores.append(scorer.score(Batch(numbered_uids(count), texts))), [warm], fresh
        )
        first.append(scores[1])
        off = float(np.abs(first[0] - scores[1]).max())
        note = f"scores differ by at most {off:.1g}, of a deviation of {first[0].std():.1g}"
        return Row(f"ICC, {precision}", count / seconds, "captions/s", gib=gib, note=note)

    for precision in reversed([name for name in setting.precisions if name != "tf32"]):
        yield tried(f"ICC, {precision}", partial(ours, precision))
    folder = locate_checkpoint(ICC)
    with quiet_transformers():
        model = AutoModelForSequenceClassification.from_pretrained(folder).to(device).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    @torch.inference_mode()
    def by_model_card(texts: list[str]) -> None:
        for start in range(0, len(texts), 64):
            part = tokenizer(texts[start : start + 64], padding=True, truncation=True, return_tensors="pt")
            model(**part.to(device)).logits[:, 0].cpu()

    few = setting.of(10_000, 64)
    seconds, gib = timed(by_model_card, [warm[:640]], [fresh[0][:few]])
    yield Row("ICC, fp32, Hugging Face, batches of 64 padded", few / seconds, "captions/s", gib=gib)


def training_batches(collate: Any, levels: torch.Tensor | None, size: int, count: int) -> list[Any]:
    """Batches of random images with fresh captions, in pinned memory, as the loader hands them over."""
    from PIL import Image

    from benchmark.core.batch import Sample
    from benchmark.core.pixel_workers import to_levels
    from downstream.training.training_data import TrainingBatch

    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (224, 224, 3), np.uint8)) for _ in range(16)]
    batches = []
    for seed in range(count):
        texts = captions(size, seed)
        samples = [Sample(f"{row:032x}", text, images[row % 16]) for row, text in enumerate(texts)]
        inputs = collate(samples)
        inputs["pixel_values"] = to_levels(inputs["pixel_values"], levels)
        if torch.cuda.is_available():
            inputs = {name: tensor.pin_memory() for name, tensor in inputs.items()}
        batches.append(TrainingBatch(inputs, size, {}))
    return batches


def steps(
    name: str,
    build: Callable[[], tuple[torch.nn.Module, Any]],
    size: int,
    setting: Setting,
    compiles: bool = False,
) -> Iterator[Row]:
    """Optimizer steps of a model on fresh batches, whole, in parts, and with activations computed again.

    Or only whole with compiled networks, the first steps apart, which compile.
    """
    from benchmark.core.distributed import make_accelerator
    from downstream.batching import pixel_levels, to_pixels
    from downstream.training.stepper import Stepper, checkpoint_activations, make_optimizer, ready_for_steps

    warm_up, count = setting.of(3, 0), setting.of(8, 1)
    _, collate = build()
    levels = pixel_levels(partial(to_pixels, collate.processor), setting.torch_device)
    batches = training_batches(collate, levels, size, warm_up + count)

    def step(work: str, precision: str, parts: int | None, checkpointing: bool) -> Row:
        gc.collect()  # the model before this one
        model, _ = build()
        if checkpointing:
            checkpoint_activations(model, name)
        model = model.to(setting.torch_device).train()
        optimizer = make_optimizer(model, "adamw", 2e-5, 0.0)
        micro_batch = size // parts if parts else None
        accelerator = make_accelerator(setting.torch_device)
        stepper = Stepper(accelerator, model, optimizer, 1.0, 0, precision, micro_batch, levels)
        losses = []

        def once(batch: Any) -> None:
            taken = stepper.step(0, 2e-5, batch)
            assert taken is not None
            losses.append(taken.loss)

        began = time.monotonic()
        with ready_for_steps(model, accelerator.device, precision, compiles):
            seconds, gib = timed(once, batches[:warm_up], batches[warm_up:])
        first_steps = time.monotonic() - began - seconds * count
        assert torch.stack(losses).isfinite().all(), losses
        with FlopCounterMode(display=False) as counter:
            once(batches[-1])
        tflops, note = counter.get_total_flops() / seconds / 1e12, f"{seconds:.3g} s a step"
        note += f", the first {warm_up} steps {first_steps:.0f} s" if compiles else ""
        return Row(work, size / seconds, "samples/s", tflops=tflops, gib=gib, note=note)

    first, *_ = setting.precisions
    whole = [(precision, None, False) for precision in setting.precisions]
    more = [*whole, (first, 4, False), (first, 4, True)]
    for precision, parts, checkpointing in [(first, None, False)] if compiles else more:
        how = f", micro_batch={size // parts}" if parts else ""
        how += ", checkpointing" if checkpointing else ""
        how += ", compile" if compiles else ""
        work = f"{name}, batch of {size}, {precision}{how}"
        yield tried(work, partial(step, work, precision, parts, checkpointing))


def captioner(setting: Setting, compiles: bool = False) -> Iterator[Row]:
    """Swin-B + GPT-2 in batches of 100, as in the paper."""
    from downstream.models.captioner import Captioner
    from downstream.models.networks import CaptionLoss
    from downstream.training.trainer import TrainConfig

    size = setting.of(100, 4)
    made = Captioner(SWIN, GPT2, TrainConfig(size, batch_size=size, lr=2e-5), 64, 3, 32, size)

    def build() -> tuple[torch.nn.Module, Any]:
        made.build(setting.torch_device)
        return CaptionLoss(made.model), made.collate

    yield from steps("Swin-B + GPT-2", build, size, setting, compiles)


def compiled_captioner(setting: Setting) -> Iterator[Row]:
    """The captioner with compiled networks."""
    yield from captioner(setting, compiles=True)


def dual_encoder(setting: Setting) -> Iterator[Row]:
    """ViT-B/16 + BERT-base: both trained in batches of 512, and locked in batches of 128, as in the paper."""
    from downstream.models.dual_encoder import DualEncoder, Unlocked
    from downstream.training.trainer import TrainConfig

    for locked, size in ((False, setting.of(512, 4)), (True, setting.of(128, 4))):
        recipe = TrainConfig(size, batch_size=size, lr=2e-5)
        made = DualEncoder(VIT, BERT, recipe, locked, False, 64, size, Unlocked(384, True, False))

        def build(made: DualEncoder = made) -> tuple[torch.nn.Module, Any]:
            made.build(setting.torch_device)
            return made.model, made.collate

        name = f"ViT-B/16 {'locked ' if locked else ''}+ BERT-base"
        yield from steps(name, build, size, setting)


def command(work: str, amount: int, unit: str, *arguments: str) -> Row:
    """A whole command with an empty cache, from its start to its last line."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [sys.executable, "-m", "benchmark", *arguments, f"results_dir={folder}/results"]
        environment = os.environ | {"XDG_CACHE_HOME": f"{folder}/cache"}
        began = time.monotonic()
        done = subprocess.run(
            settings, capture_output=True, text=True, check=False, env=environment, cwd=ROOT
        )
        seconds = time.monotonic() - began
    if done.returncode:
        return Row(work, note=f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:200]}")
    return Row(work, amount / seconds, unit, note=f"{seconds:.1f} s in all")


def score_captions(setting: Setting) -> Iterator[Row]:
    """`task=score filter=icc` of a pool without images."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, files = setting.of(200_000, 400), 8
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            rows = range(number * count // files, (number + 1) * count // files)
            uids = [f"{row:032x}" for row in rows]
            urls = [f"https://images.example.org/{uid}.jpg" for uid in uids]
            table = {"uid": uids, "url": urls, "text": captions(len(rows), number)}
            pq.write_table(pa.table(table), Path(folder, f"{number:05d}.parquet"))
        pool = ["pool=img2dataset", f"pool.url={folder}"]
        given = ["task=score", "filter=icc", f"device={setting.device}", *pool]
        yield command(f"task=score filter=icc, {count:,} captions", count, "captions/s", *given)


def demo(setting: Setting) -> Iterator[Row]:
    """`filter=icc size=200k`: the demo drawn, scored, both models trained and evaluated."""
    from tests.demos import SMALL_DEMO, SMALL_RUN

    given = [*SMALL_DEMO, *SMALL_RUN[:-1]] if setting.tiny else ["size=200k"]
    work = "filter=icc size=200k of the demo, its pool drawn first"
    yield command(work, 80_000, "pairs/s", "filter=icc", *given, f"device={setting.device}")


def photos_of(setting: Setting, folder: str) -> int:
    """Write tars of photos with captions; return how many."""
    from bench.photos import write_photos

    tars, images = setting.of(10, 1), setting.of(2000, 32)
    write_photos(Path(folder), tars, images)
    return tars * images


def score_photos(setting: Setting) -> Iterator[Row]:
    """`task=score filter=clip` of photos of 512 x 384 pixels, by two sizes of CLIP in bf16."""
    with tempfile.TemporaryDirectory() as folder:
        count = photos_of(setting, folder)
        for model in CLIPS if not setting.tiny else ["ViT-B-32"]:
            clip = [f"models.clip.model={model}", f"models.clip.precision={setting.precisions[0]}"]
            given = ["task=score", "filter=clip", "pool=img2dataset", f"pool.url={folder}/shards", *clip]
            yield command(f"task=score filter=clip, {model}, {count:,} photos", count, "images/s", *given,
                          f"device={setting.device}")  # fmt: skip


def train_from_tars(setting: Setting) -> Iterator[Row]:
    """`task=train` of both models on samples in tars."""
    with tempfile.TemporaryDirectory() as folder:
        count = photos_of(setting, folder)
        given = ["task=train", "filter=random", f"size={count}", f"budget={count}", "pool=img2dataset"]
        for model in ("captioner", "dual_encoder"):
            work = f"task=train downstream={model}, {count:,} samples from tars"
            yield command(work, count, "samples/s", *given, f"pool.url={folder}/shards", f"downstream={model}",
                          f"device={setting.device}", "evalset=demo")  # fmt: skip


def evaluate(setting: Setting) -> Iterator[Row]:
    """Captions of stored photos by beam search, and embeddings for retrieval, decoding included."""
    from bench.photos import photos
    from downstream.batching import StoredImages
    from downstream.evaluation.evaluation_sets import ImageFile, Item
    from downstream.models.captioner import Captioner
    from downstream.models.dual_encoder import DualEncoder, Unlocked
    from downstream.training.trainer import TrainConfig

    count, device = setting.of(2000, 8), setting.torch_device
    recipe = TrainConfig(64, batch_size=64, lr=2e-5)
    with tempfile.TemporaryDirectory() as folder:
        items = []
        for number, content in enumerate(photos(count)):
            Path(folder, f"{number}.jpg").write_bytes(content)
            items.append(Item(number, ImageFile(Path(folder, f"{number}.jpg")), [""]))
        writer = Captioner(SWIN, GPT2, recipe, 64, 3, 32, setting.of(64, 4))
        writer.build(device)
        seconds, gib = timed(lambda of: writer.caption(StoredImages(of, "caption")), [items[:8]], [items])
        note = "untrained, so that every caption has all 32 tokens"
        yield Row(f"captions of {count:,} photos, 3 beams", count / seconds, "images/s", gib=gib, note=note)
        encoder = DualEncoder(VIT, BERT, recipe, True, True, 64, 128, Unlocked(384, True, False))
        encoder.build(device)
        texts = captions(5 * count, 0)

        def embed(of: list[Item]) -> None:
            encoder.embed_images(StoredImages(of, "embed"))
            encoder.embed_texts(texts)

        seconds, gib = timed(embed, [items[:8]], [items])
        work = f"embed {count:,} photos and {5 * count:,} captions for retrieval"
        yield Row(work, count / seconds, "images/s", gib=gib)


def clip_pipeline(setting: Setting) -> Iterator[Row]:
    """Images through CLIP's image towers, decoded by a process per core, and how long the GPU computes."""
    from bench.embedding import in_a_pipeline
    from bench.photos import write_photos
    from pairsift.demo.settings import demo_model

    cores = setting.of(own_cores(), 1)
    images = setting.of(1024 * cores, 256)
    with tempfile.TemporaryDirectory() as folder:
        (tar,) = write_photos(Path(folder), 1, images)
        busy = Path(folder) / "busy.json"
        for model in [f"local-dir:{demo_model('clip')}"] if setting.tiny else CLIPS:
            usage = measure(in_a_pipeline, tar, model, setting.device, str(busy), cores)
            work = f"CLIP {Path(model).name}, {setting.precisions[0]}, pipeline of {cores}"
            yield Row(work, images / usage.seconds, "images/s", json.loads(busy.read_text()))


def corpus(setting: Setting) -> Iterator[Row]:
    """NormSim's removal and k-means of faiss, on embeddings as wide as CLIP ViT-B/32's."""
    from filters.embeddings.clusters import ImageClusters
    from filters.embeddings.removal import Removal, exact_outer_sum

    count, clusters = setting.of(500_000, 500), setting.of(1000, 4)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(clusters, 512)).astype(np.float32)[rng.integers(0, clusters, count)]
    points += 0.5 * rng.normal(size=points.shape).astype(np.float32)
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float16)
    with tempfile.TemporaryDirectory() as folder:
        removal = Removal(points, exact_outer_sum(points), setting.of(100, 5), Path(folder) / "removal")
        removal.setup(setting.torch_device)
        seconds, gib = timed(lambda _: removal(0), [], [0])
        yield Row(f"NormSim-2-D of {count:,} pairs", count / seconds, "pairs/s", gib=gib)
        try:
            import faiss
        except ImportError:
            yield Row("k-means", note="not measured: faiss is not installed")
            return
        if setting.device != "cpu" and not faiss.get_num_gpus():
            note = "this faiss has no GPU: install faiss-gpu-cu12 in place of faiss-cpu"
            yield Row("k-means", note=note)
            return
        means = ImageClusters(Path(folder) / "means", clusters, None, iterations=20, restarts=1, sample=False)
        gpu = None if setting.device == "cpu" else 0
        seconds, _ = timed(lambda _: means.fit(points, gpu), [], [0])
        work = f"k-means of {count:,} pairs, {clusters:,} clusters, 20 iterations"
        yield Row(work, count / seconds, "pairs/s")


# The most useful parts first: when the time ends, the rest is missing.
PARTS: dict[str, Callable[[Setting], Iterator[Row]]] = {
    part.__name__: part
    for part in (
        peak, tests, icc, captioner, dual_encoder, score_captions, score_photos, evaluate, train_from_tars, demo,
        clip_pipeline, corpus, compiled_captioner,
    )
}  # fmt: skip
