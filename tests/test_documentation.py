"""The documentation names what exists: configs, settings, targets, extras, filters, tasks and links."""

import itertools
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from bench import scale
from benchmark.cli.help_text import answer
from benchmark.cli.jobs import planned_sweeps
from benchmark.cli.overrides import normalised
from benchmark.cli.own_parts import name_own_parts
from benchmark.run.config import CONF, register_resolvers
from tests.own_parts import install_own_parts, write_own_parts

ROOT = CONF.parent
TOP = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OVERRIDE = r"[+~\w./]+=\S+"
# `filter=score_file filter.path=FILE`: settings in the middle of a sentence
INLINE = re.compile(rf"(?<!`)`({OVERRIDE}(?: {OVERRIDE})*)`(?!`)")
HEADER = re.compile(r"^#\s+((?:\w+=\S+ )*python -m benchmark .*)$", re.MULTILINE)
# The command that another program starts: `srun ... -- python -m benchmark ...`, `entrypoint: ...` of a manifest
STARTED = re.compile(r"(?:^|[\s'])((?:python|torchrun) (?:\S+ +)*?-m benchmark [^'#\n]*)", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")
HARMLESS = {".", "cd", "export", "git", "hf", "pre-commit"}
LAUNCHERS = {"python", "torchrun"}
STARTERS = {"#!/bin/bash", "apiVersion:", "kubectl", "ray", "sbatch"}
PROGRAMS = HARMLESS | LAUNCHERS | {"make", "pairsift", "pip", "uv"}
VARIABLES = ("LAION400M_8M", "DATACOMP_SMALL", "REWRITTEN", "DESCRIBED")


def shown_commands(text: str) -> list[str]:
    """The commands of a page's blocks, without comments, and those that other programs start there."""
    found = BLOCK.findall(text)
    blocks = [body for language, body in found if language in {"", "bash", "sh"}]
    others = [body for _, body in found if body.split()[0] in STARTERS]
    started = [line.strip() for body in others for line in STARTED.findall(re.sub(r"\\?\n {2,}", " ", body))]
    lines = [b.replace("\\\n", "").splitlines() for b in blocks if b.split()[0] in PROGRAMS]
    return started + [
        line for line in (re.sub(r"(^|\s+)#.*", "", line) for line in itertools.chain(*lines)) if line
    ]


def header_commands(text: str) -> list[str]:
    """The commands in a config's header, with the parts that are optional there in brackets."""
    lines = [re.sub(r"\s+#.*", "", line) for line in HEADER.findall(re.sub(r"\\\n#\s*", "", text))]
    return [re.sub(r" \[([^]]*)\](?= |$)", r" \1", line.removesuffix(" ...")) for line in lines]


def check(command: str) -> None:
    """Raise unless the command would start: it names modules, targets, extras and settings that exist."""
    words = shlex.split(command)
    while words and re.fullmatch(r"\w+=\S*", words[0]):
        del words[0]  # a variable of the environment
    program, *arguments = words
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(arguments) <= set(targets), f"{command}: no such target"
    elif program == "pairsift":
        check_overrides(arguments)
    elif program in {"pip", "uv"}:
        check_extras(" ".join(arguments))
    elif program in LAUNCHERS:
        module = arguments.index("-m") + 1
        assert find_spec(arguments[module]), f"{command}: no such module"
        if arguments[module] == "benchmark":
            check_overrides([a for a in arguments[module + 1 :] if a not in {"-m", "--multirun"}])
    else:
        assert program in HARMLESS, f"{command}: no test knows this program"


def check_extras(requirement: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extras in re.findall(rf"{project['name']}\[([\w,-]+)\]|\.\[([\w,-]+)\]", requirement):
        asked = set("".join(extras).split(","))
        assert asked <= set(project["optional-dependencies"]), f"{requirement}: no such extra"


def check_overrides(arguments: list[str]) -> None:
    """Raise unless all configs and settings that a command names exist."""
    if not answer(arguments):
        given = name_own_parts(normalised(arguments))
        for overrides in [sweep[1:] for sweep in planned_sweeps(given)] or [given]:
            configured(*depended_on(overrides))


def depended_on(overrides: list[str]) -> Iterator[str]:
    """Yield the settings of a command, and the configs that have them or are a user's own.

    Other configs only have to exist, since another test composes each. One value of a sweep is enough.
    """
    parsed = OverridesParser.create().parse_overrides(overrides)
    groups = {
        o.key_or_group.partition(".")[0]
        for o in parsed
        if is_setting(o) or o.package or "." in o.key_or_group
    }
    if groups - set(composed()[0]):  # the default configuration lacks groups of a task
        groups |= {"task", *(o.key_or_group for o in parsed)}
    for o in parsed:
        values = list(o.sweep_string_iterator()) if o.is_sweep_override() else [str(o.value())]
        group, below, _ = o.key_or_group.partition("/")
        own = [v for v in values if not (CONF / group / below / f"{v}.yaml").is_file()]
        if own or o.package or group in groups or (group == "experiment" and groups):
            yield f"{o.get_key_element()}={(own or values)[0]}" if len(values) > 1 else str(o.input_line)


def configured(*overrides: str) -> DictConfig:
    """The configuration of a command; each set of configs is composed once, and the settings are set in a copy."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    settings = [o for o in parsed if is_setting(o)]
    whole, ours = composed(*(str(o.input_line) for o in parsed if o not in settings))
    HydraConfig.instance().set_config(whole)  # for settings such as ${hydra:runtime.choices.filter}
    cfg = ours.copy() if settings else ours
    for o in settings:  # an unknown one is refused, unless it begins with ++
        OmegaConf.update(cfg, o.key_or_group, o.value(), force_add=o.type is OverrideType.FORCE_ADD)
        OmegaConf.select(cfg, o.key_or_group, throw_on_missing=False)  # an unknown name in ${} is refused
    return cfg


@cache
def composed(*choices: str) -> tuple[DictConfig, DictConfig]:
    """The configuration with the node `hydra`, and without it."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        whole = compose("config", list(choices), return_hydra_config=True)
    ours = OmegaConf.masked_copy(whole, [str(key) for key in whole if key != "hydra"])
    OmegaConf.set_struct(ours, True)  # which the copy forgets
    return whole, ours


def is_setting(override: Override) -> bool:
    """Whether it gives a setting of ours a value, and neither chooses a config nor deletes anything."""
    name = override.key_or_group
    chooses = (
        "/" in name or name.startswith("hydra.") or (CONF / name).is_dir() or override.package is not None
    )
    return override.type in {OverrideType.CHANGE, OverrideType.FORCE_ADD} and not chooses


def prepare(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Set up what the documentation asks a user to have: filters of his own, and variables with folders of data."""
    register_resolvers()
    write_own_parts(folder)
    install_own_parts(folder)
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    monkeypatch.syspath_prepend(folder)
    for name in VARIABLES:
        monkeypatch.setenv(name, f"/data/{name.lower()}")


@pytest.fixture(scope="module", autouse=True)
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        prepare(monkeypatch, tmp_path_factory.mktemp("own_parts"))
        yield


COMMANDS = [command for page in PAGES for command in shown_commands(page.read_text())]
HEADERS = [command for path in sorted(CONF.rglob("*.yaml")) for command in header_commands(path.read_text())]
# CONTRIBUTING.md speaks of plug-ins that are still to be written.
SETTINGS = [
    settings for page in PAGES if page.stem != "CONTRIBUTING" for settings in INLINE.findall(page.read_text())
]


@pytest.mark.parametrize("command", dict.fromkeys(COMMANDS))
def test_a_shown_command_would_start(command: str) -> None:
    check(command)


@pytest.mark.slow
@pytest.mark.parametrize("command", dict.fromkeys(c for c in HEADERS if c not in COMMANDS))
def test_a_command_in_a_configs_header_would_start(command: str) -> None:
    check(command)


@cache
def task_settings() -> dict[str, set[str]]:
    files = {path.stem: yaml.safe_load(path.read_text()) for path in (CONF / "task").glob("*.yaml")}
    return {task: set(content.get("task", content)) for task, content in files.items()}


def of_a_command(settings: str) -> list[str]:
    """The settings of a sentence, with a task that has them: which one, the sentence before says."""
    words = shlex.split(settings)
    if not (names := [w.partition("=")[0].removeprefix("task.") for w in words if w.startswith("task.")]):
        return words
    tasks = [task for task, settings_of in task_settings().items() if set(names) <= settings_of]
    assert tasks, f"{settings}: no such setting"
    return [f"task={tasks[0]}", *words]


@pytest.mark.parametrize("sentence", dict.fromkeys(SETTINGS))
def test_settings_named_in_sentences_exist(sentence: str) -> None:
    check_overrides(of_a_command(sentence))


PLANTED = """
python -m benchmark filter=random,clpi size=200k
python -m benchmark filter=icc downstream.samples=1
python -m benchmark task=conkreteness
torchrun -m benchmark experiment=icc_papers
python -m benchmark.nosuch
make nosuch
pip install 'pairsift[nosuch]'
pairsift filter=iccc
pairsift filter=my_filters:Nosuch
nosuch filter=icc
"""
NAMED = r"[Nn]osuch|no such|clpi|iccc|samples|conkreteness|icc_papers|no test knows"


@pytest.mark.parametrize("command", PLANTED.strip().splitlines())
def test_a_planted_mistake_is_found(command: str) -> None:
    with pytest.raises(Exception, match=NAMED):
        check(command)


@pytest.mark.parametrize("group", ["filter", "task"])
def test_the_readmes_table_lists_configs_once(group: str) -> None:
    """Not all: an addition needs no line there, and ``--help`` lists it."""
    rows = (ROOT / "README.md").read_text().split(f"| `{group}=` |")[1].split("\n\n")[0].splitlines()[2:]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert [name for name, times in Counter(listed).items() if times > 1] == []
    assert set(listed) <= {path.stem for path in (CONF / group).glob("*.yaml")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


def test_the_page_of_sizes_follows_from_what_was_measured() -> None:
    assert scale.PAGE.read_text() == scale.page()


def test_citation_and_changelog_have_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["title"].startswith(f"{project['name']}: ")
    assert {name: citation[name] for name in ("authors", "version", "license")}.items() <= project.items()
    titles = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert titles[:2] == ["Unreleased", metadata.version("pairsift")]
