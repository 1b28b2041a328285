"""Leaderboards, one per protocol: which runs share one, and which of them share a row."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from benchmark.core.bounds import NO_BOUNDS
from benchmark.core.paths import portable_paths
from benchmark.results.protocol import QUICK_TRY, Protocol, flat_facts
from benchmark.results.report.frame import frame
from benchmark.results.result import Result, Row

PLANTED = "planted"  # reads the planted grades: a reference, which stays out of the ranks
# The families of filters, which order the rows: each conf/filter/*.yaml names one as `family`.
FAMILIES = (
    "baseline",  # no information about the pair
    "datacomp",  # DataComp's rules: language, size, ImageNet's nouns and images
    "clip",  # similarities and embeddings of CLIP models
    "text",  # syntax and information of the caption
    "text_in_images",  # text that OCR reads in the image
    "concreteness",  # how visual a caption is
    "external",  # scores and selections computed elsewhere
    "composite",  # several filters combined
    PLANTED,
)
REFERENCE = "random"  # the filter that the others have to beat
REFERENCES = (REFERENCE, "no_filter")
MOST = 0.5  # of the pool
REFERENCE_ONLY = " (reference: best planted grade)"
SETTINGS = ("filter", "selector", "captions")  # which distinguish runs of one filter and one protocol
Settings = dict[str, str]


@dataclass(frozen=True)
class Entry:
    """A row: the runs of one filter at one size, over seeds."""

    label: str
    size: int
    runs: list[Result]  # with one run of `same` for each seed that they lack
    # Runs, by their labels, of other filters that made the same selection: the row is theirs too.
    same: dict[str, list[Result]] = field(default_factory=dict)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of its runs in the frame."""
        return frame(self.runs)

    @property
    def competes(self) -> bool:
        """Whether the filter competes: the oracle, which reads the planted grades, is only a reference."""
        return self.runs[0].family != PLANTED

    @property
    def unfiltered(self) -> bool:
        """Whether the row is of a filter without any information about the pair."""
        return any(run.filter in REFERENCES and run.selection.selector == "best" for run in self.all_runs)

    @property
    def name(self) -> str:
        """The label, other filters with the same selection, and the row's role or draw."""
        draw = f" (draw of {self.drawn:.0%})" * (self.drawn > 0)
        return ", ".join([self.label, *self.same]) + REFERENCE_ONLY * (not self.competes) + draw

    @property
    def aside(self) -> bool:
        """Whether the page sets it apart: it does not compete, or is random selection."""
        return not self.competes or self.label == REFERENCE

    @property
    def role(self) -> str:
        """What the row is besides its label: a reference, the baseline, the row of several filters, a draw."""
        rest = self.name.removeprefix(self.label).lstrip(", ")
        return f"{rest} baseline".strip() if self.label == REFERENCE else rest

    @property
    def drawn(self) -> float:
        """The fraction of the pool that has the score of the threshold, so that a random k was kept; 0 up to half."""
        tied = max(run.selection.tied / max(1, run.pairs_read) for run in self.all_runs)
        return tied if tied > MOST else 0.0

    @property
    def all_runs(self) -> list[Result]:
        """The runs of all filters of the row, each once."""
        every = [self.runs, *self.same.values()]
        return list({run.run_id: run for runs in every for run in runs}.values())


@dataclass(frozen=True)
class Leaderboard:
    """The runs of one protocol, which can be compared, as entries."""

    title: str  # the protocol's, with its fingerprint if several have that title
    protocol: Protocol
    entries: list[Entry]
    notes: list[str]  # how the protocol differs from the first leaderboard's, unless only in size
    all_sizes: list[Result]  # these runs, and runs that differ only in size

    @property
    def runs(self) -> list[Result]:
        """All runs."""
        return [run for entry in self.entries for run in entry.all_runs]

    @property
    def protocol_note(self) -> str:
        """The protocol's whole name, its fingerprint, and the number of runs."""
        runs = f"{len(self.runs)} run{'s' * (len(self.runs) != 1)}"
        return f"Protocol: {self.protocol.name} ({self.protocol.fingerprint}), {runs}."


def leaderboards(results: Iterable[Result]) -> list[Leaderboard]:
    """Return a leaderboard per protocol; protocols that differ only in size are neighbours, smallest first."""
    protocols = [
        (runs, of_setting)
        for of_setting in by_setting(results)
        for runs in sorted(_grouped(of_setting, "fingerprint"), key=lambda runs: runs[0].k)
    ]
    names = Counter(board_title(runs[0]) for runs, _ in protocols)
    boards = []
    for runs, of_setting in protocols:
        protocol, first, title = runs[0].protocol, protocols[0][0][0].protocol, board_title(runs[0])
        if names[title] > 1:
            title += f" [{protocol.fingerprint}]"
        notes = []
        if protocol.setting != first.setting:
            notes = [f"Not comparable with the first leaderboard: {protocol.differences(first)}."]
        if look := quick_look(runs[0]):
            notes = [f"This is a {look}: it compares with no other protocol and nothing published."]
        boards.append(Leaderboard(title, protocol, group(runs, of_setting), notes, of_setting))
    return boards


def of_protocol(runs: Iterable[Result], protocol: Protocol) -> list[Result]:
    """Return the runs under this protocol: only these can be compared."""
    return [run for run in runs if run.protocol.fingerprint == protocol.fingerprint]


def quick_look(run: Result) -> str:
    """Return to how many evaluation images a quick look was limited, in words; empty for a whole run."""
    words = run.protocol.facts.get(QUICK_TRY, "").split()  # the first N images of each evaluation set
    return f"quick look at {words[2]} images per evaluation set" if words else ""


def is_dry_run(run: Result) -> bool:
    """Tell whether the demo's toy models were trained on another pool than the demo."""
    has_toys = "demo/models/" in json.dumps(run.config.get("downstream"))
    return has_toys and "demo" not in run.config.get("pool", {})


def caveat(run: Result) -> str:
    """Return why the figures of a run are not findings; empty if they are."""
    return ", ".join(filter(None, [quick_look(run), "dry run with toy models" * is_dry_run(run)]))


def board_title(run: Result) -> str:
    """Return the title of the protocol of a run, with its `caveat`."""
    return ": ".join(filter(None, [run.protocol.title.removeprefix(f"{QUICK_TRY}: "), caveat(run)]))


def report_title(boards: Iterable[Leaderboard]) -> str:
    """Return the title of a report, with the `caveat` that all leaderboards share."""
    caveats = {caveat(board.runs[0]) for board in boards}
    return ": ".join(filter(None, ["Leaderboard", caveats.pop() if len(caveats) == 1 else ""]))


def by_setting(results: Iterable[Result]) -> list[list[Result]]:
    """Return the results that differ only in filter, seed and size.

    Settings that differ only in budget, a family, are neighbours. The family with the most runs is first, and in it
    the setting with the most runs; quick looks are last.
    """

    def order(runs: list[Result]) -> tuple[bool, int, str]:
        return runs[0].protocol.is_quick_try, -len(runs), runs[0].protocol.name

    families = sorted(_grouped(results, "family"), key=order)
    return [runs for family in families for runs in sorted(_grouped(family, "setting"), key=order)]


def _grouped(results: Iterable[Result], fact: str) -> list[list[Result]]:
    """Return the results by a property of their protocols."""
    groups = defaultdict[str, list[Result]](list)
    for result in results:
        groups[getattr(result.protocol, fact)].append(result)
    return list(groups.values())


def _by_settings(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Gather runs by the name of their filter and by their settings."""
    groups = defaultdict[tuple[str, str], list[Result]](list)
    for result in results:
        selector, captions = result.selection.selector, bool(other_captions(result.config))
        parts = [selector] * (selector != "best") + ["other captions"] * captions
        name = ", ".join([result.filter, *parts])
        groups[name, json.dumps(settings_of(result.config, result.selection.config), sort_keys=True)].append(
            result
        )
    return groups


def group(results: Sequence[Result], among: Sequence[Result] | None = None) -> list[Entry]:
    """Gather runs of a protocol that differ only in the seed; order them by size, then by family, then by label.

    Labels are unique `among` these runs, which may have other sizes; by default among `results`.
    """
    groups, known = _by_settings(results), _by_settings(results if among is None else among)
    labelled, entries = Counter[tuple[int, str, str]](), list[Entry]()
    for (name, settings), runs in sorted(groups.items()):
        variants = [json.loads(of_other) for other, of_other in known if other == name]
        full = name + _difference(json.loads(settings), variants)
        cells = defaultdict[tuple[int, str], list[Result]](list)
        for run in sorted(runs, key=lambda run: (run.size, run.seed)):
            cells[run.size, run.protocol.fingerprint].append(run)
        for (size, protocol), of_cell in cells.items():
            labelled[size, protocol, full] += 1
            number = labelled[size, protocol, full]
            entries.append(Entry(full + f" #{number}" * (number > 1), size, of_cell))
    return _merged(sorted(entries, key=lambda e: (e.size, family_position(e.runs[0].family), e.label)))


def _merged(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries, with one entry per selection, named by random, the filter with most runs, or the first."""
    merged: list[Entry] = []
    for entry in entries:
        same = next((i for i, other in enumerate(merged) if _share_selection(entry, other)), None)
        if same is None:
            merged.append(entry)
            continue
        first, second = merged[same], entry
        if (second.label == REFERENCE, len(second.runs)) > (first.label == REFERENCE, len(first.runs)):
            first, second = second, first
        seeds = {run.seed for run in first.runs}
        runs = [*first.runs, *(run for run in second.runs if run.seed not in seeds)]
        merged[same] = replace(first, runs=runs, same=first.same | {second.label: second.runs} | second.same)
    return merged


def _share_selection(one: Entry, other: Entry) -> bool:
    """Whether two entries have a selection in common, no other one of a seed, and train on the same captions."""
    run, another = one.runs[0], other.runs[0]
    if one.size != other.size or run.protocol.fingerprint != another.protocol.fingerprint:
        return False
    if other_captions(run.config) != other_captions(another.config):
        return False
    hashes, others = ({run.seed: run.selection.sha256 for run in entry.runs} for entry in (one, other))
    agree = all(hashes[seed] == others[seed] for seed in hashes.keys() & others.keys())
    return agree and not {*hashes.values()}.isdisjoint(others.values())


def family_position(family: str) -> int:
    """Return the position of a family's rows: unknown families follow the known families, the oracle comes last."""
    known = FAMILIES.index(family) if family in FAMILIES else len(FAMILIES) - 1
    return known + (family == PLANTED)


def other_captions(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of other captions in a run's configuration; empty without any source of them."""
    captions: dict[str, Any] = config.get("captions", {})
    return captions if captions.get("columns") or captions.get("files") else {}


def settings_of(config: Mapping[str, Any], of_filter: Mapping[str, Any]) -> Settings:
    """Return the settings of a run and its filter that are not of its protocol, by their dotted names."""
    chosen = {name: config[name] for name in SETTINGS if name in config}
    chosen["filter"] = asdict(NO_BOUNDS) | dict(of_filter)
    chosen["captions"] = other_captions(config)
    facts = (fact for name, node in chosen.items() for fact in flat_facts(name, node))
    # Only the last part of a path counts: the folder of a checkout or a file does not set runs apart. Files of
    # rows differ by the filter's `content`; other captions have no such hash.
    return {
        name: portable_paths(value) if name.startswith("captions.") else value.rstrip("/").rpartition("/")[2]
        for name, value in facts
    }


def _difference(settings: Settings, variants: Sequence[Settings]) -> str:
    """Return in brackets the settings that differ between runs of one name, if all runs have the setting."""
    shared = set.intersection(*(set(other) for other in variants))
    differing = sorted(key for key in shared if len({other[key] for other in variants}) > 1)
    # An absent bound says nothing if the other is given.
    given = [key for key in differing if settings[key] != "None"] or differing
    text = ", ".join(f"{key.rpartition('.')[2]}={settings[key]}" for key in given)
    return f" ({text})" if text else ""
