"""A walk over the configs of trainable models: a training is reused only for the same weights and settings."""

import shutil
from pathlib import Path
from typing import Any

import hydra
import pytest
import torch
from omegaconf import DictConfig, OmegaConf

from benchmark.core import devices
from benchmark.models.checkpoints import revision
from benchmark.run.config import CONF, resolved
from benchmark.run.identity import training_fingerprint
from downstream.models.base import Trainable
from downstream.training.trainer import OF_STREAMS
from tests.jobs import compose_config

GROUP = sorted(path.stem for path in (CONF / "downstream").glob("*.yaml"))


def nodes() -> dict[str, DictConfig]:
    """The settings of every model that is trained, in few compositions: collecting tests waits for them."""
    cfg = compose_config("models=demo", "downstream=[both,lstm_captioner,clip_scratch]")
    return {name: OmegaConf.create(resolved(node)) for name, node in cfg.downstream.items()}


NODES = nodes()
SETTINGS = [
    (name, key)
    for name, node in NODES.items()
    for key, value in OmegaConf.to_container(node).items()  # type: ignore[union-attr]
    if key != "_target_"
]
FOLDERS = [
    (name, key)
    for name, key in SETTINGS
    if isinstance(NODES[name][key], str) and Path(NODES[name][key]).is_dir()
]
SMALL_CHANGES: dict[type, Any] = {int: lambda n: n + 1, float: lambda x: x + 1, bool: lambda b: not b}


def made(name: str, **changes: Any) -> Trainable:
    model: Trainable = hydra.utils.instantiate(OmegaConf.merge(NODES[name], changes), _convert_="all")
    return model


def fingerprint(name: str, **changes: Any) -> str:
    return training_fingerprint(made(name, **changes), "sha", "cpu")


def test_the_walk_meets_all_models_and_checkpoints() -> None:
    assert {*NODES, "both", "lstm_captioner_weak"} == {*GROUP}
    of_folders = {"captioner", "dual_encoder", "clip_scratch", "lstm_captioner"}
    assert {name for name, _ in FOLDERS} >= of_folders


@pytest.mark.parametrize(("name", "key"), FOLDERS)
def test_other_weights_train_again_and_a_moved_folder_does_not(name: str, key: str, tmp_path: Path) -> None:
    before = fingerprint(name)
    moved = shutil.copytree(NODES[name][key], tmp_path / "moved")
    assert fingerprint(name, **{key: str(moved)}) == before
    weights = max(moved.rglob("*.safetensors"))
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    revision.cache_clear()  # kept per process
    assert fingerprint(name, **{key: str(moved)}) != before
    revision.cache_clear()


def other_value(part: str, old: Any) -> Any:
    if old is None:
        return 0.5 if part == "beta2" else 7
    if part in {"warmup_ratio", "beta2", "dropout"}:  # below 1
        return old / 2
    if isinstance(old, str):
        return {"adamw": "lamb", "auto": "bf16"}.get(old, f"{old}_")
    return SMALL_CHANGES[type(old)](old)


@pytest.mark.parametrize(("name", "key"), [pair for pair in SETTINGS if pair not in FOLDERS])
def test_every_setting_counts(name: str, key: str) -> None:
    value, before = resolved(NODES[name][key]), fingerprint(name)
    if not isinstance(value, dict):
        assert fingerprint(name, **{key: other_value(key, value)}) != before
        return
    parts = value.keys() - {
        "_target_",
        "validate_every",
        "workers",
        "compile",
        *(OF_STREAMS if key == "training" else ()),
    }
    for part in parts:
        assert fingerprint(name, **{key: {part: other_value(part, value[part])}}) != before, part


@pytest.mark.parametrize("name", NODES)
def test_some_settings_do_not_count_or_only_for_streams(name: str) -> None:
    ignored = {"compile": True, "validate_every": 100, "workers": 100, "shuffle_mib": 7, "stream_workers": 2}
    assert fingerprint(name, training=ignored) == fingerprint(name)
    if name == "lstm_captioner":  # its features are not of a stream
        return
    streams = [{}, {"source": "stream"}, *({"source": "stream", part: 7} for part in OF_STREAMS - {"source"})]
    assert len({fingerprint(name, training=stream) for stream in streams}) == 4


@pytest.mark.parametrize(("name", "workers"), [("captioner", 1), ("dual_encoder", 0), ("lstm_captioner", 1)])
def test_keys_hold_what_they_always_held(name: str, workers: int) -> None:
    """Settings that came later are absent at their defaults; the number of loader processes is that of old keys."""
    training = made(name).identity()["training"]
    assert set(training) == {
        "samples_seen", "batch_size", "lr", "optimizer", "warmup_ratio", "weight_decay", "max_grad_norm", "seed",
        "checkpoint_every", "workers", "log_every",
    }  # fmt: skip
    assert training["workers"] == workers


def test_the_default_precision_is_that_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    model = {p: made("captioner", training={"precision": p}) for p in ("auto", "fp32", "bf16", "tf32")}
    keys = {}
    for device, native, default in (("cpu", False, "fp32"), ("cuda", True, "bf16"), ("cuda", False, "fp32")):
        monkeypatch.setattr(devices, "_computes_bf16", lambda _, native=native: native)
        key = {precision: training_fingerprint(m, "sha", device) for precision, m in model.items()}
        assert key["auto"] == key[default]
        assert len({key["fp32"], key["bf16"], key["tf32"]}) == 3
        keys[device, native] = key["fp32"], key["bf16"]
    assert keys["cuda", True] == keys["cuda", False]  # GPUs of both kinds may share a cache


@pytest.mark.parametrize("name", list(NODES))
def test_a_model_is_the_same_before_and_after_building(name: str) -> None:
    model = made(name)
    before = model.identity()
    model.build(torch.device("cpu"))
    assert model.identity() == before


def test_the_subset_the_device_and_the_captions_count() -> None:
    model, given = made("captioner"), {"subset": "sha", "device": "cpu", "captions": "one"}
    prints = {training_fingerprint(model, *(given | {part: "cuda"}).values()) for part in given}
    assert len(prints | {training_fingerprint(model, *given.values())}) == 4
