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
    """Read what `save` wrote. Raises `UserError` when it holds no weights."""
    try:
        return Combination(**{name: float(value) for name, value in json.loads(path.read_text()).items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path} holds no weights a, b, c ({error}); task=icc_build writes it") from None


def fit_combination(vba: Array, sba: Array, concreteness: npt.NDArray[np.float64]) -> Combination:
    """Fit the weights on n annotated captions: is one above or below the median? Those at it have no label.

    Raises `UserError` when the annotations leave fewer than two captions on either side.
    """
    from sklearn.linear_model import LogisticRegression

    median = np.median(concreteness)
    labelled = concreteness != median
    labels = concreteness[labelled] > median
    if min(labels.sum(), (~labels).sum()) < 2:
        raise UserError(
            f"{len(labels)} annotated captions lie off their median grade, on both sides of it at least two are"
            " needed; annotate more, or drop icc.annotations to use the paper's weights"
        )
    # All but unpenalised: the paper's a = 13.2 is out of reach of scikit-learn's usual C = 1, and a little keeps
    # the weights finite where a line separates the labels.
    model = LogisticRegression(C=1e3, max_iter=10_000)
    model.fit(np.stack([vba, sba], axis=1)[labelled], labels)
    (a, b), (c,) = model.coef_[0], model.intercept_
    return Combination(float(a), float(b), float(c))
