"""Rewrite: the prompt, where a rewrite ends, and its independence of the batch."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from pairsift.studies.ds_clip.rewrite import PROMPT, Rewrite
from tests.demos import demo_model
from tests.pairsift.studies.ds_clip.tiny_writers import repeating_model

CPU = torch.device("cpu")
EXAMPLES = [[f"o{n}", f"rewrite {n}"] for n in range(7)]


def sample(number: int, text: str) -> Sample:
    return Sample(f"{number:032x}", text, Image.new("RGB", (8, 8)))


def rewrite(folder: Path, **settings: int) -> Rewrite:
    made = Rewrite(str(folder), EXAMPLES, **settings)
    made.setup(CPU)
    return made


def test_the_prompt_has_examples_instruction_and_caption() -> None:
    made = Rewrite("anything", EXAMPLES[:5])
    lines = made.prompt(sample(0, "a  cat\non a mat")).split("\n")
    assert sorted(lines[:5]) == [f"o{n} ==> rewrite {n}" for n in range(5)]
    assert lines[5:] == ["Rewrite this caption in details and no more than 77 words.", "a cat on a mat ==>"]


def test_five_examples_are_sampled_by_uid() -> None:
    made = Rewrite("anything", EXAMPLES)
    first = {made.prompt(sample(n, "a cat")) for n in range(30)}
    assert first == {made.prompt(sample(n, "a cat")) for n in range(30)}
    assert len(first) > 20
    assert {len(set(prompt.split("\n")[:5])) for prompt in first} == {5}
    assert {line for prompt in first for line in prompt.split("\n")[:5]} == {
        f"{o} ==> {r}" for o, r in EXAMPLES
    }


@pytest.mark.parametrize(
    ("following", "positions", "caption", "written"),
    [
        ({"==>": "one", "one": "two", "two": "\n", "\n": "three", "three": "one"}, 1024, "y z", "one two"),
        ({"==>": "one", "one": "one"}, 1024, "x", " ".join(["one"] * 77)),
        ({"==>": "one", "one": "</s>"}, 1024, "x", "one"),
        ({"==>": "\n", "\n": "one", "one": "one"}, 1024, "x", ""),
        # A short context drops examples, not the caption.
        ({"==>": "one", "one": "one"}, 12, "word " * 500, "one one one one one one"),
    ],
    ids=["newline", "77 words", "end token", "empty", "short context"],
)
def test_the_end_of_a_rewrite(
    following: dict[str, str], positions: int, caption: str, written: str, tmp_path: Path
) -> None:
    made = rewrite(repeating_model(tmp_path, following, positions))
    assert made.captions([sample(0, caption), sample(1, "x")]) == [written] * 2


def test_a_rewrite_does_not_depend_on_the_batch_or_order() -> None:
    texts = ["a red ball", "Free Shipping", "", "two small green cats in a kitchen", "hope", "ball " * 90]
    samples = [sample(n, text) for n, text in enumerate(texts)]
    checkpoint = Path(demo_model("llama"))
    together = rewrite(checkpoint, max_new_tokens=16).captions(samples)
    alone = rewrite(checkpoint, max_new_tokens=16, batch_size=1).captions(samples[::-1])
    assert together == alone[::-1]
    assert len(set(together)) > 1
    assert all("\n" not in text and len(text.split()) <= 77 for text in together)


@pytest.mark.parametrize(
    ("examples", "message"),
    [(EXAMPLES[:4], "has 4 pairs"), ([["a"]] * 5, "must be a pair"), ([["a", "b\nc"]] * 5, "must be a pair")],
)
def test_unusable_examples_raise_user_errors(examples: list, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Rewrite("anything", examples)


def test_identity_changes_with_the_examples() -> None:
    checkpoint = demo_model("llama")
    one, other = Rewrite(checkpoint, EXAMPLES), Rewrite(checkpoint, EXAMPLES[:5])
    assert one.key() != other.key()
    assert PROMPT in str(one.identity())
    assert one.key() == Rewrite(checkpoint, EXAMPLES, batch_size=1).key()
