"""Bounds of what is typed and of one's own config files: what exceeds them is refused before anything expands it.

A config is trusted, since it names the code that runs; but a script may write any of it.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmark.core.errors import UserError

MAX_CHARACTERS = 4_096  # of a value: the longest path that Linux opens; Python reads integers of 4,300 digits
MAX_NAME = 200  # characters of the name of a setting; Hydra looks for a file of that name
MAX_DEPTH = 20  # lists and mappings in each other; Hydra's and YAML's parsers call themselves for each
MAX_ARGUMENTS = 1_000
MAX_INTEGER = (1 << 63) - 1
MAX_FILE_BYTES = 100_000
MAX_FILE_VALUES = 10_000  # once its aliases are expanded
ONE_LINE = "one line of text without control characters"
MAX_PART = 255  # bytes of a part of a path, of any file system
PROSE = frozenset({"explain", "prompt", "prompts", "templates"})  # settings whose texts are no names or paths


def check_arguments(arguments: Sequence[str]) -> None:
    """Raise `UserError` unless each argument of a command is short enough, and nested little enough, to be parsed."""
    if len(arguments) > MAX_ARGUMENTS:
        raise UserError(f"a command must have at most {MAX_ARGUMENTS:,} arguments, not {len(arguments):,}")
    for argument in arguments:
        name, _, value = argument.partition("=")
        if len(name) > MAX_NAME:
            raise UserError(f"{name[:40]}...: a setting's name must have at most {MAX_NAME} characters")
        if len(value) > MAX_CHARACTERS:
            raise UserError(
                f"{name} must have at most {MAX_CHARACTERS:,} characters, not {len(value):,}; a longer list may stand"
                " in a config of your own (--config-dir)"
            )
        if name not in PROSE and _depth(value) > MAX_DEPTH:
            raise UserError(f"{name} must be nested at most {MAX_DEPTH} deep")


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "[{(") - (character in "]})")
        deepest = max(deepest, depth)
    return deepest


def requirement_of_any(name: str, value: Any) -> str | None:
    """Return what must hold of the value of a setting, whatever its type; None where it does."""
    if isinstance(value, list | dict):
        inner = value.values() if isinstance(value, dict) else value
        return next((found for part in inner if (found := requirement_of_any(name, part))), None)
    if isinstance(value, float) and math.isnan(value):
        return "a number"
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "below 2^63"
    if not isinstance(value, str):
        return None
    if len(value) > MAX_CHARACTERS:
        return f"text of at most {MAX_CHARACTERS:,} characters"
    return None if name.rpartition(".")[2] in PROSE else _requirement_of_name(value)


def _requirement_of_name(text: str) -> str | None:
    """Return what must hold of a name, a path or a URL; None where it does."""
    if not all(map(_is_of_a_line, text)):
        return ONE_LINE
    is_pattern = "://" in text or "{" in text  # of a URL, or of several paths
    too_long = any(len(part.encode(errors="surrogatepass")) > MAX_PART for part in text.split("/"))
    return f"a path whose parts have at most {MAX_PART} bytes" if too_long and not is_pattern else None


def _is_of_a_line(character: str) -> bool:
    return character >= " " and not "\x7f" <= character <= "\x9f" and character not in "\u2028\u2029"


def check_config_dir(arguments: Sequence[str]) -> None:
    """Check the configs in the folder that ``--config-dir`` names, if it is there. Raises `UserError`."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        option, equals, value = argument.partition("=")
        if option in ("--config-dir", "-cd"):
            folder = Path(value if equals else following)
            for pattern in ("*.yaml", "*/*.yaml", "*/*/*.yaml"):  # as deep as hydra/launcher/joblib.yaml
                for file in sorted(folder.glob(pattern)):
                    _check_config(file)


def _check_config(file: Path) -> None:
    """Raise `UserError` unless a config is small, with its aliases expanded too; what is no YAML is left to Hydra."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise UserError(f"config {file} must have at most {MAX_FILE_BYTES:,} bytes")
        for depth, values in _expanded(text):
            if depth > MAX_DEPTH:
                raise UserError(f"config {file} must be nested at most {MAX_DEPTH} deep")
            if values > MAX_FILE_VALUES:
                raise UserError(f"config {file} must have at most {MAX_FILE_VALUES:,} values")
    except (OSError, yaml.YAMLError):
        return


def _expanded(text: bytes) -> Iterator[tuple[int, float]]:
    """Yield, for each value in YAML, how deep it lies and how many values there are with it, aliases expanded."""
    counts = [0.0]  # values in each list or mapping that is open
    anchors: list[str | None] = []  # of these
    sizes: dict[str | None, float] = {}  # of what is closed, by anchor
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            counts.append(1)
        elif isinstance(event, yaml.CollectionEndEvent):
            size = counts.pop()
            sizes[anchors.pop()] = size
            counts[-1] += size
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor] = 1
            counts[-1] += 1
        elif isinstance(event, yaml.AliasEvent):
            counts[-1] += sizes.get(event.anchor, math.inf)  # of itself, while it is open
        yield len(anchors), sum(counts)
