"""What ``--help`` prints: groups of settings and examples; for a group, its configs with their sources and costs."""

import re
import shutil
import textwrap
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from benchmark.cli.own_parts import name_own_parts
from benchmark.core.errors import UserError, did_you_mean
from benchmark.run.config import CONF, shipped_names

HELP = frozenset({"--help", "-h"})
COMMAND = "python -m benchmark"
# Pages of the documentation: in the wheel, else in the checkout.
PAGES = next(path for path in (CONF.parent / "pairsift" / "docs", CONF.parent / "docs") if path.is_dir())
WIDTH = min(shutil.get_terminal_size().columns, 110)

# In the order in which users need them.
GROUPS = {
    "task": "what is done: the whole benchmark, or one stage or study",
    "filter": "scores every pair of the pool; the highest scores within filter.minimum and filter.maximum are kept",
    "size": "how many pairs are kept: a name or any number, such as 250k",
    "pool": "the image-caption pairs to choose from",
    "downstream": "the models that are trained on what is kept",
    "evalset": "the images that trained models are evaluated on",
    "metrics": "what captions are rated by; a list, such as [bleu,cider]",
    "models": "the checkpoints that filters, metrics and trained models start from",
    "selector": "how scores become a selection: the highest ones, or draws over clusters",
    "figure": "a figure of a paper, for task=figure",
    "experiment": "settings of a paper, whole, and lists of sweeps",
    "tracker": "where curves and samples are logged",
    "engine": "where shards are scored: on this machine or on a Ray cluster",
    "embedding": "the image features that selectors cluster",
    "ocr": "what finds and reads text in images",
    "augmentation": "more captions of the selected pairs, for task=augment",
    "icc": "how task=icc_build makes an ICC scorer",
    "training": "the recipe that all trained models share; set with downstream.MODEL.training.NAME=VALUE",
}

EXAMPLES = {
    "filter=icc size=200k": "score the demo pool, keep 200k, train both models, evaluate (the defaults)",
    "filter=random,clip,icc size=100k,200k": "a sweep: six runs",
    "filter=clip size=250k seed=0,1,2": "any number of pairs, three seeds",
    "task=report": "the leaderboard of all results",
    "task=select filter=clip size=200k": "choose only; prints the path of the subset file",
    "pool=img2dataset pool.url=~/my_pool filter=icc size=50k budget=500k evalset=hub": "your own pool, 10 epochs",
    "pool=img2dataset pool.url=~/my_pool filter=icc size=2k budget=20k evalset=hub evalset.limit=100": (
        "a quick look at it, comparable to nothing"
    ),
    "filter=cascade filter.keep.first=30%": "the best 30% by CLIP, ranked by ICC",
    "downstream=captioner downstream.captioner.training.lr=1e-4": "one model, another learning rate",
    "filter=icc tracker=tensorboard validate_every=2000": "curves while it trains",
    "task=doctor": "what can run here, and how to get the rest",
}


def answer(arguments: Sequence[str]) -> str | None:
    """Return what ``--help [GROUP | GROUP=NAME | PAGE]`` or ``--version`` prints; None for any other command.

    Raises `UserError` if the group, config or page does not exist.
    """
    if "--version" in arguments:
        return f"pairsift {version('pairsift')}"
    if not HELP & set(arguments):
        return None
    topics = [argument for argument in arguments if not argument.startswith("-")]
    if not topics:
        return _overview()
    group, _, name = topics[0].partition("=")
    files = PAGES.glob("*.md")
    pages = {path.stem: path for path in files if path.stem not in GROUPS or topics[0].endswith(".md")}
    if page := pages.get(Path(topics[0]).name.removesuffix(".md")):
        return page.read_text(encoding="utf-8").rstrip()
    if group not in GROUPS:
        raise UserError(f"--help {group} is unknown; {did_you_mean(group, [*GROUPS, *pages])}")
    if name:
        from benchmark.cli.setting_help import setting_lines  # with pydantic

        path, found = CONF / group / f"{name}.yaml", name_own_parts(topics[:1])[0].partition("=")[2]
        settings = setting_lines(group, found, WIDTH) if group != "training" else []  # they are of each model
        return "\n".join([*(_header(path) if path.is_file() else []), *settings])
    paths = {name: CONF / group / f"{name}.yaml" for name in sorted(shipped_names(group))}
    configs = {name: "\n".join(_summary(path)) for name, path in paths.items()}
    return f"{group}=NAME: {GROUPS[group]}\n\n{_columns(configs)}"


def _overview() -> str:
    chosen = _listed(CONF / "config.yaml")
    chosen |= _listed(CONF / "pool" / f"{chosen['pool']}.yaml")
    groups = {
        f"{group}=": f"{line} (default: {chosen[group]})" if chosen.get(group) else line
        for group, line in GROUPS.items()
    }
    pages = ", ".join(sorted(path.stem for path in PAGES.glob("*.md")))
    pages = textwrap.indent(textwrap.fill(pages, WIDTH - 4), "    ")
    examples = "\n".join(f"  # {line}\n  {COMMAND} {command}" for command, line in EXAMPLES.items())
    return f"""\
pairsift compares filters of image-caption data: a filter scores a pool, exactly k pairs are kept, models train on
them for a fixed budget, and evaluation sets say which filter chose best.

{COMMAND} NAME=VALUE ...

Groups; each takes the name of a config, and several names with commas between them are a sweep:
{_columns(groups)}

Examples:
{examples}

Read on:
  {COMMAND} --help filter          the configs of a group: what they are, where from, what they cost
  {COMMAND} --help filter=icc      one config, with its settings
  {COMMAND} --cfg job filter=icc   all settings of a command, with their values
  {COMMAND} --hydra-help           options of the configuration library
  {COMMAND} --help own_pool        a page of the documentation (docs/own_pool.md); its pages:
{pages}"""


def _listed(path: Path) -> dict[str, str | None]:
    """Return the configs that the defaults of a file choose, by group."""
    entries = [entry for entry in OmegaConf.load(path).defaults if isinstance(entry, DictConfig)]
    return {str(group).removeprefix("override /"): name for entry in entries for group, name in entry.items()}


def _columns(lines: dict[str, str]) -> str:
    """Return names and texts as two columns; each line of a text is wrapped."""
    indent = max(map(len, lines)) + 4
    rows = []
    for name, text in lines.items():
        wrapped = [part for line in text.split("\n") for part in textwrap.wrap(line, WIDTH - indent)] or [""]
        rows.append(f"  {name:<{indent - 2}}{wrapped[0]}")
        rows += [" " * indent + part for part in wrapped[1:]]
    return "\n".join(rows)


def _summary(path: Path) -> list[str]:
    """Return the first sentence of a config's header, which says what it is and where from, and that of its cost."""
    text = " ".join(line for line in _header(path) if not line.startswith(" "))
    cost = re.search(r"Cost: .*", text)
    return [_sentence(text), *([_sentence(cost[0])] if cost else [])]


def _sentence(text: str) -> str:
    return re.split(r"(?<=\.)(?<!\sal\.)\s+", text, maxsplit=1)[0].removesuffix(".")


def _header(path: Path) -> list[str]:
    """Return the comment lines at the top of a config, without their hash."""
    header = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            header.append(line[2:])
    return header
