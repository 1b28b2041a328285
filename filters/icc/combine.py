"""SBA and VBA as one score: a logistic regression on annotated captions (ICC paper, appendix A.2 and A.9)."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Combination:
    """sigma(a VBA + b SBA + c). The defaults are the paper's weights, from 244 captions."""

    a: float = 13.2
    b: float = 3.6
    c: float = -9.4

    def __call__(self, vba: Array, sba: Array) -> Array:
        """Return scores of shape (n,), 0 to 1."""
        z = self.a * vba.astype(np.float64) + self.b * sba.astype(np.float64) + self.c
        return np.asarray(1 / (1 + np.exp(-z)), np.float32)

    def save(self, path: Path) -> None:
        """Write the weights as JSON."""
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")


def load_combination(path: Path) -> Combination:
    """Read the weights that `save` wrote. Raises `UserError` when they are missing or invalid."""
    try:
        return Combination(**{name: float(value) for name, value in json.loads(path.read_text()).items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path} must hold the weights a, b, c ({error}); task=icc_build writes it") from None


def fit_combination(vba: Array, sba: Array, concreteness: npt.NDArray[np.float64]) -> Combination:
    """Fit the weights on n annotated captions, labelled by whether they are above or below the median concreteness.

    Captions at the median are left out. Raises `UserError` for fewer than two captions on either side.
    """
    from sklearn.linear_model import LogisticRegression

    median = np.median(concreteness)
    labelled = concreteness != median
    labels = concreteness[labelled] > median
    if min(labels.sum(), (~labels).sum()) < 2:
        raise UserError(
            f"icc.annotations must have at least two captions on either side of the median grade, but only"
            f" {len(labels)} differ from it; annotate more, or set icc.annotations=null to use the paper's weights"
        )
    # Almost no penalty: scikit-learn's default C = 1 cannot reach the paper's a = 13.2; a small penalty keeps the
    # weights finite for separable labels.
    model = LogisticRegression(C=1e3, max_iter=10_000)
    model.fit(np.stack([vba, sba], axis=1)[labelled], labels)
    (a, b), (c,) = model.coef_[0], model.intercept_
    return Combination(float(a), float(b), float(c))
