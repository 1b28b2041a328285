import random
from pathlib import Path

import pytest

from downstream.metrics import java, tokenizer
from downstream.metrics.metric import Corpus, UnavailableError
from tests.downstream.metrics.test_java import fake_java

HOSTILE = {
    "a dog\nruns": "a dog runs",
    "a dog\r\nruns\r": "a dog runs",
    "a\u2028dog\u2029runs\u0085": "a dog runs",
    "a\tdog \x0b\x0c runs": "a dog runs",
    "a\x00dog\x1cruns": "a dog runs",
    "a\ud800dog\udfff😀 runs": "a dog runs",
    "\ufeffA Dog, runs!": "a dog runs",
    "a dog *NL* runs": "a dog * nl * runs",
    "": "",
    "   \n ": "",
    "... , !": "",
    "😀": "",
    "a dog ||| runs": "a dog | | | runs",
    "a dog <a href='": "a dog < a href =",
    "word " * 2000: " ".join(["word"] * 2000),
    "x" * 10_000: "x" * 10_000,
}


def test_hostile_captions_become_words_in_their_own_line():
    captions = [text for i, dirty in enumerate(HOSTILE) for text in (f"neighbour {i}", dirty)]
    expected = [text for i, clean in enumerate(HOSTILE.values()) for text in (f"neighbour {i}", clean)]
    assert tokenizer.tokenize([*captions, "the end"]) == [*expected, "the end"]


def test_random_text_stays_in_its_own_line():
    rng = random.Random(0)
    pieces = [*"\n\r\u2028\u0085\x00\x1e\ud800<>&;#*|\"'`()-.,:/\\ ", "&#10;", "U.S.", "<!--", "1 1/2", "Mr."]
    dirt = [
        "".join(rng.choice([*pieces, chr(rng.randrange(0x110000))]) for _ in range(9)) for _ in range(500)
    ]
    captions = [text for i, dirty in enumerate(dirt) for text in (f"neighbour {i}", dirty)]
    assert tokenizer.tokenize(captions)[::2] == captions[::2]


def test_tokens_are_those_of_pycocoevalcap_itself():
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    captions = [
        "A man's dog isn't (very) big -- is it?",
        '"Two" dogs; 1,000 cats: $5 & up...',
        "e.g. U.S. cats",
    ]
    theirs = PTBTokenizer().tokenize({i: [{"caption": c}] for i, c in enumerate(captions)})
    assert tokenizer.tokenize(captions) == [theirs[i][0] for i in range(len(captions))]


def test_no_captions_need_no_java(monkeypatch):
    monkeypatch.setattr(java, "find_java", lambda: Path("nowhere"))
    assert tokenizer.tokenize([]) == []


def test_a_corpus_is_tokenised_by_image():
    corpus = Corpus({1: "A cat.", "b": ""}, {"b": ["One!", "Two?"], 1: ["A\ncat"], 9: ["unused"]})
    tokens = tokenizer.tokenize_corpus(corpus)
    assert tokens == Corpus({1: "a cat", "b": ""}, {1: ["a cat"], "b": ["one", "two"]})


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("cat >/dev/null; echo a; echo b; echo c; printf d", "gave 4 lines for 2 captions"),
        ("cat >/dev/null; echo 'Error: no main class' >&2; exit 1", "failed: Error: no main class"),
    ],
)
def test_other_answers_are_reasons(tmp_path, monkeypatch, script, reason):
    monkeypatch.setattr(java, "find_java", lambda: fake_java(tmp_path, script))
    with pytest.raises(UnavailableError, match=reason):
        tokenizer.tokenize(["one", "two"])
