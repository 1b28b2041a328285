"""A step neither stops to read from the device, nor casts a weight twice, however many parts it has."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from benchmark.core import devices, pixel_workers
from benchmark.core.batch import Sample
from downstream import batching
from downstream.models.networks import CaptionLoss, TwoTowers
from downstream.training import embedded_subset, stepper
from downstream.training.stepper import Stepper, checkpoint_activations, make_optimizer, ready_for_steps
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData
from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    same_weights,
    six_steps,
    weights,
)

NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
STOPS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::lift_fresh"}  # the last: torch.tensor(number)
INDEXES = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class Counted(TorchDispatchMode):
    """Counts what a GPU would launch, calls for which the CPU would wait for it, and casts of weights."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.launches = 0
        self.stops = Counter[str]()
        self.casts = Counter[str]()
        # open_clip casts the embeddings of positions itself, in every part.
        self.names = {
            p.data_ptr(): name for name, p in model.named_parameters() if not name.endswith("_embedding")
        }

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, arguments = func._schema.name, func._schema.arguments
        is_view = any(a.alias_info is not None and not a.alias_info.is_write for a in arguments)
        self.launches += not (is_view or name.startswith("aten::empty"))
        by_mask = name in INDEXES and any(i is not None and i.dtype == torch.bool for i in args[1])
        if name in STOPS or by_mask:
            self.stops[name] += 1
        if name == "aten::_to_copy" and args[0].data_ptr() in self.names:
            self.casts[self.names[args[0].data_ptr()]] += 1
        return func(*args, **(kwargs or {}))


def taken(
    kind: str,
    tiny: Checkpoints,
    micro_batch: int | None,
    precision: str = "bf16",
    holds_frozen: bool = True,
    **changes: Any,
) -> Any:
    """Take a step as on a GPU; return what it counted, and the gradients before clipping."""
    model = built(kind, tiny)
    network = CaptionLoss(model.model) if kind == "captioner" else model.model
    network.train()
    if changes:
        checkpoint_activations(network, kind)
    optimizer = make_optimizer(network, "adamw", 1e-3, 0.0)
    optimizer.zero_grad = lambda: None  # type: ignore[method-assign]
    levels = batching.pixel_levels(partial(batching.to_pixels, model.collate.processor), torch.device("cpu"))
    pairs = MemorySubset(CAPTIONS)
    data = TrainingData(pairs, SampleOrder.over(8, 0), model.collate, levels=levels)
    batch = StepBatches(data, 8, 8)[0]
    taker = Stepper(Accelerator(cpu=True), network, optimizer, 1e9, 0, precision, micro_batch, levels)
    exact = weights(model)
    held = precision if holds_frozen else "fp32"
    with ready_for_steps(network, torch.device("cpu"), held, False), Counted(network) as counted:
        assert taker.step(0, 1e-3, batch) is not None
    frozen = [name for name, p in model.model.named_parameters() if not p.requires_grad]
    assert all(torch.equal(model.model.state_dict()[name], exact[name]) for name in frozen)
    return counted, torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "reads_wait", lambda device: True)
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)


@pytest.mark.parametrize(
    ("kind", "launches"), [("captioner", 850), ("uncached", 490), ("unlocked", 740), ("clip_scratch", 670)]
)
def test_a_step_never_waits_and_casts_each_weight_once(
    kind: str, launches: int, without_dropout: Checkpoints
) -> None:
    whole, gradients = taken(kind, without_dropout, None)
    parts, of_parts = taken(kind, without_dropout, 2)
    recomputed, again = taken(kind, without_dropout, 2, checkpointing=True)
    exact = taken(kind, without_dropout, None, "fp32")[1]
    assert [dict(counted.stops) for counted in (whole, parts)] == [{}, {}]
    assert set(whole.casts.values()) == {1}
    assert 0.8 * launches < whole.launches < launches
    assert parts.launches < 4 * whole.launches
    # GradCache embeds all parts without gradients, then each part with them.
    assert set(parts.casts.values()) == {1 if kind == "captioner" else 2}
    assert parts.casts.keys() == whole.casts.keys()
    assert len(whole.casts) > 15
    assert set(recomputed.casts.values()) == set(parts.casts.values())
    assert torch.equal(again, of_parts)
    rounding = (gradients - exact).norm()
    assert 0 < rounding < 0.1 * exact.norm()
    assert (of_parts - exact).norm() < 2 * rounding


def test_frozen_weights_are_cast_once_a_training_to_the_same_bits(without_dropout: Checkpoints) -> None:
    for micro_batch in (None, 2):
        held, gradients = taken("uncached", without_dropout, micro_batch)
        cast, same = taken("uncached", without_dropout, micro_batch, holds_frozen=False)
        assert torch.equal(gradients, same)
        assert not any("image_tower" in name for name in held.casts)
        assert sum("image_tower" in name for name in cast.casts) > 10
        assert held.launches < cast.launches


@pytest.mark.parametrize(("kind", "ids"), [("captioner", "decoder_input_ids"), ("unlocked", "input_ids")])
def test_captions_on_a_gpu_are_padded_without_a_change_of_the_loss(
    kind: str, ids: str, without_dropout: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = CaptionLoss if kind == "captioner" else TwoTowers
    forward, widths, losses = network.forward, [], []

    def recorded(model: Any, inputs: Any, *given: Any) -> Any:
        widths.append(inputs[ids].shape[-1])
        return forward(model, inputs, *given)

    monkeypatch.setattr(network, "forward", recorded)
    for on_gpu in (True, False):
        monkeypatch.setattr(batching, "reads_wait", lambda device, on_gpu=on_gpu: on_gpu)
        tracker = Recorder()
        pairs = MemorySubset([*CAPTIONS[:7], "a red square on the left on the left"])
        model = make(kind, without_dropout, six_steps(samples_seen=16))
        model.train(pairs, tmp_path / str(on_gpu), torch.device("cpu"), tracker, "f")
        losses.append(tracker.losses())
    assert widths[0] == widths[1] == 16 > widths[2]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("kind", ["captioner", "locked", "uncached", "unlocked", "clip_scratch"])
def test_pixels_travel_as_bytes_and_train_to_the_same_bits(
    kind: str, checkpoints: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_levels, sent = batching.find_levels, []

    def recorded(
        tensor: torch.Tensor, device: torch.device, levels: torch.Tensor | None = None
    ) -> torch.Tensor:
        if tensor.ndim == 4:
            sent.append(tensor.dtype)
        return pixel_workers.to_device(tensor, device, levels)

    for module in (stepper, embedded_subset):
        monkeypatch.setattr(module, "to_device", recorded)
    pairs = MemorySubset(CAPTIONS, broken={2: "image_unreadable"})
    trained = []
    for find in (find_levels, lambda preprocess: None):
        monkeypatch.setattr(batching, "find_levels", find)
        tracker, model = Recorder(), make(kind, checkpoints, six_steps(micro_batch=3, workers=1))
        model.train(pairs, tmp_path / str(len(trained)), torch.device("cpu"), tracker, "f")
        trained.append((tracker.losses(), weights(model)))
    assert sent == [torch.uint8] * (len(sent) // 2) + [torch.float32] * (len(sent) // 2)
    assert sent
    assert trained[0][0] == trained[1][0]
    assert same_weights(trained[0][1], trained[1][1])


class Numbered(MemorySubset):
    """Captions of any words, in the order of the budget."""

    def __getitem__(self, index: int, /) -> Sample:
        return Sample(f"{index:032x}", self.captions[index], draw(CAPTIONS[index % 8]))


@pytest.fixture
def dynamo() -> Iterator[Any]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield torch._dynamo.utils.counters
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("kind", "backend", "micro_batch", "graphs"),
    [
        pytest.param("locked", "eager", None, 2, marks=pytest.mark.slow),
        pytest.param("locked", "inductor", None, 2, marks=[pytest.mark.full, NEEDS_COMPILER]),
        pytest.param("captioner", "aot_eager", None, 3, marks=pytest.mark.full),
        pytest.param("unlocked", "eager", 3, 8, marks=pytest.mark.full),
        pytest.param("clip_scratch", "eager", None, 4, marks=pytest.mark.full),
    ],
)
def test_compiled_networks_train_alike_and_are_compiled_for_all_lengths(
    kind: str,
    backend: str,
    micro_batch: int | None,
    graphs: int,
    checkpoints: Checkpoints,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dynamo: Any,
) -> None:
    monkeypatch.setattr(batching, "reads_wait", lambda device: False)  # nothing is padded to multiples of 8
    monkeypatch.setattr(SampleOrder, "indices", lambda order, start, stop: np.arange(start, stop))
    compile_module = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda network: compile_module(network, backend=backend))
    pairs = Numbered([" ".join(CAPTIONS[0].split()[:1] * (1 + row // 8)) for row in range(20 * 8 - 4)])
    longer = {} if kind == "clip_scratch" else {"max_tokens": 32}

    def trained(folder: str, stop_at: int | None = None, **changes: Any) -> list[float]:
        recipe = six_steps(samples_seen=len(pairs), checkpoint_every=80, micro_batch=micro_batch, **changes)
        model, tracker = make(kind, checkpoints, recipe, **longer), Recorder(stop_at)
        with pytest.raises(KeyboardInterrupt) if stop_at else nullcontext():
            model.train(pairs, tmp_path / folder, torch.device("cpu"), tracker, "f")
        assert not any(module._compiled_call_impl for module in model.model.modules())
        return tracker.losses()

    exact = trained("eager")
    assert not dynamo["stats"]
    assert len(exact) == 20
    assert trained("compiled", 19 * 8, compile=True) == pytest.approx(exact[:19], rel=1e-4)
    assert 0 < dynamo["stats"]["unique_graphs"] <= graphs
    assert not dynamo["graph_break"]
    assert trained("compiled") == pytest.approx(exact[10:], rel=1e-4)  # goes on from the checkpoint
