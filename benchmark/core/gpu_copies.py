"""Copies to a GPU that overlap with the model's work on earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Copied:
    """A tensor whose copy may still be under way on the GPU, until the event `done`."""

    tensor: torch.Tensor
    done: torch.cuda.Event | None = None

    def get(self) -> torch.Tensor:
        """Return the tensor for the caller's stream, whose later kernels wait for the copy."""
        if self.done is not None:
            import torch

            stream = torch.cuda.current_stream(self.tensor.device)
            stream.wait_event(self.done)
            self.tensor.record_stream(stream)  # its memory is not given away while this stream reads it
        return self.tensor


class Copies:
    """Copies tensors to a device, in a stream of its own on a GPU: kernels of other streams go on meanwhile."""

    def __init__(self, device: torch.device) -> None:
        import torch

        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def begin(self, tensor: torch.Tensor) -> Copied:
        """Begin to copy a tensor, from pinned memory without waiting for the end."""
        import torch

        if self._stream is None:
            return Copied(tensor.to(self._device))
        with torch.cuda.stream(self._stream):
            return Copied(tensor.to(self._device, non_blocking=True), self._stream.record_event())
