"""The registry of published scores and selections: a YAML file per publisher, with all that it takes to read them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.keyed_rows import Kind
from benchmark.core.ranges import Fraction
from filters.score_file import FromRows, ScoreFile
from filters.uid_list import UidList


@dataclass(frozen=True)
class Entry:
    """Published scores, or without a column a published list of pairs."""

    paper: str
    path: str  # of the hub
    revision: str | None  # commit that it is pinned to
    pool: str  # whose pairs they are
    license: str
    commercial: bool | None  # whether the licence allows commercial use, None if that is not known
    coverage: str  # as published
    bytes: int | None  # of the download
    looked_up: str  # what of this is known, and from where
    key: Kind | None = None
    column: str | list[str] = field(default_factory=list)
    weights: list[float] | None = None  # negative where low is good
    standardized: bool = True  # see `ScoreFile`

    @property
    def address(self) -> str:
        """The path at its revision."""
        owner_and_name = "/".join(self.path.split("/")[:5])
        pin = f"@{self.revision}" if self.revision else ""
        return f"{owner_and_name}{pin}{self.path.removeprefix(owner_and_name)}"

    @property
    def terms(self) -> str:
        """Its source and licence as a sentence."""
        use = {
            True: "",
            False: "; it forbids commercial use",
            None: "; whether it allows commercial use is not known",
        }
        return f"{self.path}: licence {self.license}{use[self.commercial]} ({self.paper})"


@cache
def registry() -> dict[str, Entry]:
    """Return all entries by their names, such as ``flyt/dfn_base``."""
    found: dict[str, Entry] = {}
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        shared = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, own in shared.pop("entries").items():
            found[f"{file.stem}/{name}"] = TypeAdapter(Entry).validate_python(shared | own)
    return found


def published(
    name: str,
    path: str | Sequence[str] | None = None,
    key: Kind | None = None,
    coverage: Fraction | None = None,
) -> FromRows:
    """Return published scores or a published list as a filter.

    Args:
        name: name of an entry.
        path: your copy of its files, in place of the hub's.
        key: what tells pairs apart, in place of the entry's.
        coverage: see `ScoreFile`.
    """
    if name not in registry():
        raise UserError(f"filter.name={name} is not published here; {did_you_mean(name, registry())}")
    entry = registry()[name]
    source, key = entry.address if path is None else path, key or entry.key
    made: FromRows = UidList(source, key)
    if entry.column:
        made = ScoreFile(source, entry.column, key, entry.weights, coverage, entry.standardized)
    elif coverage is not None:
        raise UserError(f"filter.coverage is for scores, and filter.name={name} is a list; leave it out")
    made.published(entry.terms, entry.bytes)
    return made


def terms_of(settings: Any) -> list[str]:
    """Return the licences of the published scores and lists among the settings of a filter and its parts."""
    if isinstance(settings, list):
        return [terms for part in settings for terms in terms_of(part)]
    if not isinstance(settings, dict):
        return []
    target = f"{published.__module__}.{published.__qualname__}"
    own = [registry()[settings["name"]].terms] if settings.get("_target_") == target else []
    return own + [terms for part in settings.values() for terms in terms_of(part)]
