import pytest
import torch

from benchmark.core import devices
from benchmark.core.devices import (
    autocast,
    check_precision,
    default_dtype,
    default_precision,
    resolve_device,
)
from benchmark.core.errors import UserError

CPU = torch.device("cpu")


def test_bf16_is_refused_where_it_would_be_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: False)
    with pytest.raises(
        UserError, match=r"precision=bf16 needs a GPU .* AVX512-BF16; .* cpu does not: use fp32"
    ):
        autocast("bf16", CPU)
    with autocast("fp32", CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_precision_is_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)
    for precision, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        with autocast(precision, CPU):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


@pytest.mark.parametrize(("native", "precision"), [(True, "bf16"), (False, "fp32")])
def test_a_gpu_computes_bf16_by_default_if_it_can(
    native: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *, including_emulation: native)
    assert default_precision("cuda") == precision
    assert default_dtype(torch.device("cuda")) == {"bf16": torch.bfloat16, "fp32": torch.float32}[precision]
    assert default_precision("cpu") == "fp32"
    assert default_dtype(CPU) == torch.float32


def test_an_unknown_precision_names_the_known_ones() -> None:
    assert [check_precision(name) for name in ("fp32", "bf16")] == ["fp32", "bf16"]
    with pytest.raises(UserError, match="precision=fp16 must be fp32 or bf16"):
        check_precision("fp16")


def test_a_device_that_nothing_here_computes_on_is_refused() -> None:
    assert resolve_device("cpu") == CPU
    for name in ("mps", "cuda:x", "gpu"):
        with pytest.raises(UserError, match=f"device={name} must be auto, cpu, cuda or cuda:N"):
            resolve_device(name)
