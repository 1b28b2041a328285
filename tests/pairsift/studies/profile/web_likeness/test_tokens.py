from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from pairsift.studies.profile.web_likeness.tokens import (
    count_kinds,
    has_web_string,
    is_rated,
    read_rated_words,
    split_words,
)


def test_words_are_letters_and_digits_with_inner_apostrophes() -> None:
    text = "The dog's OWN 'Ball', size_4 (12x3cm) — l’été, o' www.a.com"
    found = ["the", "dog's", "own", "ball", "size", "4", "12x3cm", "l’été", "o", "www", "a", "com"]
    assert split_words(text) == found


def test_urls_and_file_names_are_web_strings() -> None:
    assert all(map(has_web_string, ["see www.a", "HTTPS://b", "pic.JPG", "my.jpeg here", "site.com"]))
    assert not any(map(has_web_string, ["a comma.", "the end.command", "jpg", "no.1 dog"]))


def test_a_word_is_rated_without_its_regular_ending() -> None:
    rated = frozenset({"dog", "berry", "box", "bake", "walk"})
    known = ("dog", "dogs", "dog's", "berries", "boxes", "baked", "baking", "walked", "walking")
    assert all(is_rated(word, rated) for word in known)
    assert not any(is_rated(word, rated) for word in ("dogged", "s", "ing", "berrys's", "walker"))


def test_kinds_count_every_occurrence() -> None:
    found = count_kinds(["dogs", "dogs", "x200", "3", "ilva"], frozenset({"dog", "3"}))
    assert dict(found) == {"rated": 2, "digits": 2, "other": 1}


def test_rated_words_are_those_of_the_column_word(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_bytes(b"Word\tBigram\tConc.M\r\nDog\t0\t4.8\r\nzoo animal\t1\t4.9\r\n")
    assert read_rated_words(path) == {"dog", "zoo animal"}
    path.write_text("word,rating\n")
    with pytest.raises(UserError, match=r"profile\.ratings=.* must have a column 'Word'"):
        read_rated_words(path)
