"""Reads the lists of words in the text files of this folder."""

from pathlib import Path


def read_word_lists(file: str) -> dict[str, list[str]]:
    """Return the lists of a text file of this folder by their names.

    A list is "name: word word ...", continued on indented lines. "_" means a space within an entry. Lines that start
    with "#" are comments.
    """
    lists: dict[str, list[str]] = {}
    name = ""
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, line = line.split(":", 1)
            lists[name] = []
        lists[name] += [word.replace("_", " ") for word in line.split()]
    return lists
