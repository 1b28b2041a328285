"""docs/papers.md: current, complete, and its commands start."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from benchmark.run.config import CONF
from pairsift.studies.published_figures import published_tables, study_tables
from tests.command_line import Run
from tests.test_documentation import COMMANDS as DOCUMENTED
from tests.test_documentation import HEADERS, check, prepare
from tools.papers import PAGE, Entry, Paper, commands, page, papers

PAPERS = papers()
ENTRIES = [(paper, entry) for paper in PAPERS for entry in paper.entries]
COMMANDS = list(dict.fromkeys(command for _, entry in ENTRIES for command in commands(entry)))
ON_DEMO = [overrides for _, entry in ENTRIES for overrides in entry.demo]
# The last table and figure of each paper; DS-CLIP's Table 2 has the parts a to f, AVA-Captions' Table 1 a and b.
NUMBERED = {
    "ICC": {"Table ": 6, "Figure ": 9},
    "ICC, first submission": {"Table ": 6, "Figure ": 7},
    "DS-CLIP": {"Table ": 2, "Figure ": 5},
    "Parrot Captions": {"Table ": 14, "Figure ": 15},
    "AVA-Captions": {"Table ": 2, "Figure ": 6, "Table S": 4, "Figure S": 2},
}


def test_the_page_of_papers_is_current() -> None:
    assert PAGE.read_text() == page(PAPERS), "run `python -m tools.papers`"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.paper)
def test_every_table_and_figure_of_a_paper_is_listed(paper: Paper) -> None:
    expected = {f"{kind}{n}" for kind, last in NUMBERED[paper.paper].items() for n in range(1, last + 1)}
    listed = [entry.item for entry in paper.entries if not entry.item.startswith("Section")]
    assert len(set(listed)) == len(listed)
    assert {re.sub(r"[a-f]$", "", item) for item in listed} == expected


@pytest.mark.parametrize("entry", [entry for _, entry in ENTRIES], ids=lambda entry: entry.item)
def test_an_entry_has_commands_or_says_why_not(entry: Entry) -> None:
    assert entry.real or entry.reason
    assert bool(entry.real) == bool(entry.needs)
    assert bool(entry.demo) == bool(entry.small)
    if entry.real:
        assert bool(entry.demo) != bool(entry.reason), "a small version, or the reason why there is none"
    else:
        assert not entry.demo


def test_every_table_with_recorded_digits_is_listed() -> None:
    listed = {(paper.paper, entry.number) for paper, entry in ENTRIES if entry.is_table}
    assert {(table.paper, table.number) for table in published_tables()} | study_tables().keys() <= listed


@pytest.mark.parametrize("command", COMMANDS)
def test_a_papers_command_names_configs_and_settings(command: str) -> None:
    for override in OverridesParser.create().parse_overrides(shlex.split(command)[3:]):
        name, _, setting = override.key_or_group.partition(".")
        if name == "task" and setting:
            (task,) = re.findall(r"task=(\w+)", command)
            assert setting in yaml.safe_load((CONF / "task" / f"{task}.yaml").read_text())
        elif (CONF / name).is_dir() and not setting and name not in {"size", "metrics"}:
            several = override.is_sweep_override()
            values = list(override.sweep_string_iterator()) if several else [override.value()]
            assert [v for v in values if not (CONF / name / f"{v}.yaml").is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in {*HEADERS, *DOCUMENTED}])
def test_a_papers_command_would_start(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prepare(monkeypatch, tmp_path)
    check(command)


@pytest.mark.full
@pytest.mark.parametrize(
    "overrides", dict.fromkeys(o for o in ON_DEMO if "task=" not in o and "FOLDER" not in o)
)
def test_a_papers_command_can_be_planned_on_the_demo(overrides: str, run: Run, tmp_path: Path) -> None:
    done = run(*shlex.split(overrides), f"results_dir={tmp_path}", "plan=true")
    assert done.returncode == 0, done.stderr
    assert "Nothing was run." in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides", dict.fromkeys(o for o in ON_DEMO if re.search(r"=(icc_[67]|doctor)$", o))
)
def test_a_papers_command_that_takes_seconds_runs(overrides: str, run: Run, tmp_path: Path) -> None:
    """As it is typed; every other figure is drawn on a smaller demo by its own tests."""
    done = run(*shlex.split(overrides), f"results_dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_file() for line in done.stdout.splitlines() if line.startswith("/"))
