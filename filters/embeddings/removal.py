"""Removal of the embeddings that are least similar to the others, step by step (NormSim-2-D, Wang et al. 2024)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from filters.embeddings.corpus import PieceWork, Rows, Subset, chunks

EXACT_ROWS = 8192  # rows that are converted to float64 at a time
MAX_SQUARE = 1.01  # of the length of a unit vector in half precision
ROUNDING = 1e-6  # of a similarity in float32, by the number of rows, with some to spare

Float64s = npt.NDArray[np.float64]


@dataclass
class Removal(PieceWork):
    """The fraction of the rows of (n, d) removed before each row; the least similar go first.

    Every step removes the rows with the lowest x^T S x, where S is the sum of outer products of the remaining rows,
    and then updates S. Among equal rows the last is removed first. Similarities are computed in float64 and rounded,
    so that the order does not depend on the device, on threads or on which rows are computed together. A step needs
    all before it, so this is one piece of work.
    """

    embeddings: Rows  # n unit vectors
    total: Float64s  # their `exact_outer_sum`
    steps: int
    scratch: Path  # folder for intermediate values, 20 bytes per row

    def setup(self, device: torch.device) -> None:
        """Compute on this device."""
        self._device = device

    def __call__(self, piece: int, /) -> Float64s:
        """Return the fractions, (n,)."""
        left = count = len(self.embeddings)
        self.scratch.mkdir(parents=True, exist_ok=True)
        fractions = np.lib.format.open_memmap(self.scratch / "fractions.npy", "w+", np.float64, (count,))
        similarities = _Similarities(self.embeddings, self.total, self.scratch, self._device)
        for goal in np.linspace(count, 0, min(self.steps, count) + 1).astype(int)[1:].tolist():
            leaving = similarities.lowest(left - goal, left)
            fractions[leaving] = (count - left + np.arange(len(leaving))) / count
            similarities.remove(leaving)
            left = goal
        return fractions


class _Similarities:
    """x^T S x of the rows x that remain; few of them are computed again in a step.

    S only shrinks: what was computed is an upper bound. It is too high by at most the Frobenius norms of all that was
    taken from S since then, which gives a lower bound. A row is computed again when this is among the lowest.
    """

    def __init__(self, embeddings: Rows, total: Float64s, scratch: Path, device: torch.device) -> None:
        shape = (len(embeddings),)
        self._embeddings = embeddings
        self._total = torch.from_numpy(total).to(device)
        self._taken = 0.0  # Frobenius norms of all that was taken from S
        # Infinity in both once a row is removed.
        self._upper = np.lib.format.open_memmap(scratch / "upper.npy", "w+", np.float32, shape)
        # Plus `_taken`.
        self._lower = np.lib.format.open_memmap(scratch / "lower.npy", "w+", np.float64, shape)
        for part in chunks(embeddings):
            self._upper[part] = self._lower[part] = _quadratic(embeddings[part], self._total)

    def lowest(self, number: int, left: int) -> npt.NDArray[np.int64]:
        """Return the `number` rows with the lowest similarities among the `left` rows, the lowest first."""
        highest = float(np.partition(self._upper, number - 1)[number - 1])
        limit = highest + self._taken + ROUNDING * left
        rows = np.concatenate(
            [part.start + np.flatnonzero(self._lower[part] <= limit) for part in chunks(self._upper)]
        )
        similarities = _quadratic(Subset(self._embeddings, rows), self._total)
        self._upper[rows] = similarities
        self._lower[rows] = similarities + self._taken
        return rows[np.lexsort((-rows, similarities))[:number]]

    def remove(self, rows: npt.NDArray[np.int64]) -> None:
        """Take rows from S."""
        self._upper[rows] = self._lower[rows] = np.inf
        change = _outer_sum(Subset(self._embeddings, rows), self._total.device)
        self._total = self._total - change
        self._taken += MAX_SQUARE * float(torch.linalg.matrix_norm(change))


def exact_outer_sum(embeddings: Rows) -> Float64s:
    """Return the sum of x x^T over the rows x of (n, d), shape (d, d), computed in float64."""
    return np.asarray(_outer_sum(embeddings, torch.device("cpu")).numpy())


def _outer_sum(embeddings: Rows, device: torch.device) -> torch.Tensor:
    total = torch.zeros((embeddings.shape[1],) * 2, dtype=torch.float64, device=device)
    for part in chunks(embeddings, EXACT_ROWS):
        rows = _float64(embeddings, part, device)
        total += rows.T @ rows
    return total


def _quadratic(embeddings: Rows, matrix: torch.Tensor) -> npt.NDArray[np.float32]:
    """Return x^T M x for each row x of (n, d), shape (n,), computed in float64 on the device of M and rounded."""
    values = np.empty(len(embeddings), np.float32)
    for part in chunks(embeddings, EXACT_ROWS):
        rows = _float64(embeddings, part, matrix.device)
        values[part] = torch.einsum("nd,nd->n", rows @ matrix, rows).float().cpu().numpy()
    return values


def _float64(embeddings: Rows, part: slice, device: torch.device) -> torch.Tensor:
    return torch.tensor(embeddings[part], device=device).double()
