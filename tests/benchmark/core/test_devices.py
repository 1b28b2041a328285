import pytest
import torch

from benchmark.core import devices
from benchmark.core.devices import (
    autocast,
    check_precision,
    default_dtype,
    default_precision,
    resolve_device,
    tf32,
)
from benchmark.core.errors import UserError

CPU = torch.device("cpu")


def test_precision_is_what_was_chosen_and_never_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: False)
    with pytest.raises(UserError, match=r"precision=bf16 needs a GPU .* cpu does not: use fp32"):
        autocast("bf16", CPU)
    with autocast("fp32", CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)
    with autocast("bf16", CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


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


def test_tf32_holds_inside_its_context_only() -> None:
    resolve_device("cpu")
    flags = lambda: (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)  # noqa: E731
    assert flags() == (False, False)
    with tf32(True):
        assert flags() == (True, True)
        with tf32(False):
            assert flags() == (False, False)
        assert flags() == (True, True)
    assert flags() == (False, False)
    assert torch.get_float32_matmul_precision() == "highest"  # refused after the newer names


def test_tf32_is_refused_on_a_cpu() -> None:
    with pytest.raises(UserError, match=r"precision=tf32 needs a GPU .* cpu does not: use fp32"):
        autocast("tf32", CPU)
