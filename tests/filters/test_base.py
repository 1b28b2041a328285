"""What the base of filters adds to a filter's key."""

from pathlib import Path

import numpy as np

from benchmark.core import images
from benchmark.core.batch import Batch
from benchmark.core.requirements import State
from filters import base
from filters.base import Filter, Scores


class ReadsWords(Filter):
    needs = frozenset({"text"})

    def __init__(self, file: Path, needs: str = "text") -> None:
        self.uses = [file]
        self.needs = frozenset({needs})

    def score(self, batch: Batch) -> Scores:
        return np.zeros(len(batch), np.float32)


def test_files_that_a_filter_uses_count_by_their_content(tmp_path: Path) -> None:
    for name, words in {"a": "dog", "copy": "dog", "b": "cat"}.items():
        (tmp_path / name).write_text(words)
    a, copy, b = (ReadsWords(tmp_path / name).key() for name in ("a", "copy", "b"))
    assert a == copy != b
    (missing,) = ReadsWords(tmp_path / "gone").requirements()
    assert missing.state is State.MISSING
    assert missing.detail == f"ReadsWords.uses: {tmp_path / 'gone'} must be a file"


def test_another_decoder_makes_other_keys_of_images_only(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a").touch()
    before = [ReadsWords(tmp_path / "a", needs).key() for needs in ("text", "image")]
    monkeypatch.setattr(base, "DECODER", images.DECODER + 1)
    text, image = (ReadsWords(tmp_path / "a", needs).key() for needs in ("text", "image"))
    assert text == before[0]
    assert image != before[1]
