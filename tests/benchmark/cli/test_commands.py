"""What users type, unusual or wrong: it is read as it was meant, or answered in one line with the right spelling."""

import itertools
import re
import shlex
from collections.abc import Sequence
from importlib.metadata import version

import pytest
from omegaconf import OmegaConf

from benchmark.cli.check_settings import check_settings
from benchmark.cli.help_text import EXAMPLES
from benchmark.cli.jobs import job_overrides, planned_sweeps
from benchmark.cli.overrides import GROUPS, normalised
from benchmark.cli.settings import parse_type, setting_types, task_types
from benchmark.core.ranges import PositiveFloat, PositiveInt, requirement
from benchmark.run.config import CONF, register_resolvers, resolved, shipped_names
from tests.command_line import Run
from tests.jobs import compose_config
from tests.test_documentation import check_overrides

HOME = "/home/someone"
# What is typed, and the arguments that Hydra reads.
MEANT = [
    ("size=200000", "size=200k"),
    ("filter.minimum=0.5", "filter.minimum=0.5"),
    ("filter.filters.first.filters.a.rank=true", "++filter.filters.first.filters.a.rank=true"),
    ("size=200_000", "size=200k"),
    ("size=2e5", "size=200k"),
    ("size=200K", "size=200k"),
    ("size=250k", "size.samples=250000"),
    ("size=1.3m", "size.samples=1300000"),
    ("size=100k,250k", "size.samples=100000,250000"),
    ("size=2000k", "size=2m"),
    ("size=200k,all", "size=200k,all"),
    ("size=250k,all", "size.samples=250000,all"),
    ("size=[100k,200k]", "size=100k,200k"),
    ("size=[100k, 200k]", "size=100k,200k"),
    ("size=mine", "size=mine"),
    ("size=10%", "size.samples=10%"),
    ("size=[0.5%, 99.9%,all]", "size.samples=0.5%,99.9%,all"),
    ("size=100%,200k", "size.samples=100%,200000"),
    ("size.samples=50k", "size.samples=50000"),
    ("budget=2m", "budget=2000000"),
    ("budget=[20k, 0.5m]", "budget=20000,500000"),
    ("filter=[random,clip]", "filter=random,clip"),
    ("filter=[icc]", "filter=icc"),
    ("filter=random, clip", "filter=random,clip"),
    ("filter=random , clip size=100k", "filter=random,clip size=100k"),
    ("filter=random, size=100k", "filter=random size=100k"),
    ("--filter=icc", "filter=icc"),
    ("--filter icc --size 250k", "filter=icc size.samples=250000"),
    ("--results-dir out task=report", "results_dir=out task=report"),
    ("seed=[0,1]", "seed=0,1"),
    ("pool.url=~/x", f"pool.url={HOME}/x"),
    ("captions.files=[~/a,~/b]", f"captions.files=[{HOME}/a,{HOME}/b]"),
    ("'pool.url=/data/a (copy)'", "'pool.url=\"/data/a (copy)\"'"),
    ("pool.url=s3://bucket/day=1", "'pool.url=\"s3://bucket/day=1\"'"),
    ("'task.explain=a dog, asleep'", "'task.explain=\"a dog, asleep\"'"),
    ("pool.columns.text=TEXT", "++pool.columns.text=TEXT"),
]
# Functions of Hydra's sweeps, and the values that they list.
SWEEPS = [
    ("size=range(5,20,5)", "size.samples=5,10,15"),
    ("size=choice(5,6)", "size.samples=5,6"),
    ("size=choice(5k,0.5m)", "size.samples=5000,500000"),
    ("size=choice(100k,200k)", "size=100k,200k"),
    ("size=glob(1*k)", "size=100k,1500k,10500k"),
    ("size=sort(7,5,6)", "size.samples=5,6,7"),
    ("size=sort(5,6,reverse=true)", "size.samples=6,5"),
    ("size=tag(a,choice(5,6))", "size.samples=5,6"),
    ("size=shuffle(5,6,7)", "size.samples=5,6,7"),
    ("size=shuffle(range(5,8))", "size.samples=5,6,7"),
    ("size=str(choice(5,6))", "size.samples=5,6"),
    ("size=int(5.0)", "size.samples=5"),
    ("size.samples=range(5,7)", "size.samples=5,6"),
    ("budget=choice(2m,20k)", "budget=2000000,20000"),
    ("seed=range(0,3)", "seed=0,1,2"),
    ("seed=shuffle(0,1,2)", "seed=0,1,2"),
    ("filter=choice(random,clip)", "filter=random,clip"),
]
# Settings of each type.
OF_EACH_TYPE = [
    "seed=7", "budget=2m", "size=10", "validate_every=5", "rescore=true", "captions.weights=[0.5,2]",
    "filter.minimum=0.5", "filter.maximum=null", "downstream.captioner.training.lr=1e-4", "models.captioner.lr=1",
    "downstream.captioner.training.workers=null", "pool.demo.pairs=500", "device=cpu",
]  # fmt: skip
# Hydra's options between settings, and what Hydra reads.
BETWEEN = [
    ("filter=icc --cfg job seed=5", "filter=icc seed=5 --cfg=job"),
    ("filter=icc -c job seed=5", "filter=icc seed=5 --cfg=job"),
    ("-m filter=icc seed=5", "filter=icc seed=5 --multirun"),
    (
        "filter=icc --config-dir a=b seed=5 --resolve --cfg=all",
        "filter=icc seed=5 --cfg=all --config-dir=a=b --resolve",
    ),
    ("--filter icc -i all --seed 5", "filter=icc seed=5 --info=all"),
    ("filter=a, -m b", "filter=a,b --multirun"),
]
# What stays as it is typed: Hydra's own grammar and options.
HYDRAS = [
    "metrics=[bleu,cider]",
    "downstream=[captioner,dual_encoder]",
    "~metrics.spice +evalset.coco.ties=topk",
    "filter@filter.filters.a=random",
    "seed=range(0,3) filter=glob(*)",
    "hydra/launcher=joblib --multirun",
    "filter=icc --cfg=job --config-dir=mine",
    "experiment=demo_grid filter=random,icc size=200k",
    "filter.keep.first=30%",
    "\"task.explain='a, b'\" +task.explain.x=y",
    "task.explain=null task.explain=",
    "pool.url=${x} size={a,b}",
]
# Sentences that Hydra's grammar would take apart.
SENTENCES = [
    "Celebrating 20 years, EGEC shares a declaration",
    "the dog's \"bone\" (it's old): 50% = [half] {more}",
    "one \\ backslash, two \\\\ and one at the end \\",
    'quote after a backslash \\" here',
    "price ${oc.env:HOME} or \\${HOME}",
    "emoji 🙂 and é",
    "-3",
    "'quoted' at one end",
]


@pytest.mark.parametrize(("typed", "read"), [*MEANT, *BETWEEN, *((same, same) for same in HYDRAS)])
def test_a_command_is_read_as_it_was_meant(typed: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert normalised(shlex.split(typed)) == shlex.split(read)


@pytest.mark.parametrize(("typed", "values"), SWEEPS)
def test_each_function_of_sweeps_lists_its_values(typed: str, values: str) -> None:
    sweeps = planned_sweeps(normalised([typed]))
    (listed,) = sweeps[0][1:] if sweeps else normalised([typed])  # a single value is no sweep
    name, _, in_order = values.partition("=")
    assert listed.partition("=")[0] == name
    assert sorted(listed.partition("=")[2].split(",")) == sorted(in_order.split(","))
    assert listed == values or "shuffle" in typed or "glob" in typed
    if sweeps:  # which shuffles no more
        assert job_overrides(sweeps[0][1:]) == [
            [f"{name}={value}"] for value in listed.partition("=")[2].split(",")
        ]


@pytest.mark.parametrize("written", ["${oc.env:%s}", "${oc.decode:${oc.env:%s}}"])
def test_a_variable_is_read_as_if_it_was_typed(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    for number, (name, _, value) in enumerate(typed.partition("=") for typed in OF_EACH_TYPE):
        monkeypatch.setenv(f"V{number}", value)
        given.append(f"{name}={written % f'V{number}'}")
    cfg = compose_config(*normalised(given))
    check_settings(cfg, [name.partition("=")[0].lstrip("+") for name in normalised(given)])
    assert resolved(cfg) == resolved(compose_config(*normalised(OF_EACH_TYPE)))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_reaches_the_configuration_unchanged(sentence: str) -> None:
    (argument,) = normalised([f"task.explain={sentence}"])
    cfg = compose_config("task=concreteness", argument)
    assert cfg.task.explain == sentence


def test_urls_reach_the_configuration_unchanged() -> None:
    pattern, signed = "/data/{00000..00003}.tar", "https://h/0.tar?X-Amz-Signature=a&Expires=9"
    cfg = compose_config("pool=img2dataset", *normalised([f"pool.url={pattern}", f"results_dir={signed}"]))
    assert (cfg.pool.url, cfg.results_dir) == (pattern, signed)


def test_a_size_is_the_same_run_by_name_and_by_number() -> None:
    """The settings are equal, hence the run's id."""
    assert resolved(compose_config("size.samples=200000")) == resolved(compose_config())


def test_a_setting_has_the_type_of_its_line_or_of_its_default() -> None:
    types = {task: task_types(task) for task in shipped_names("task")}  # words for no type are refused
    assert types["evaluate"]["captioner"]["beams"] is PositiveInt
    whole = "a positive integer, or null for the whole vocabulary"
    assert requirement(types["text_spotting"]["sample"]) == whole
    with pytest.raises(KeyError, match="a positiv integer"):
        parse_type("a positiv integer, or null")
    assert types["report"]["folders"] == list[str]
    assert types["report"]["full"] is bool
    assert setting_types()["models"]["captioner"]["lr"] is PositiveFloat
    assert setting_types()["models"]["lstm_captioner"]["weak_encoder"] == str | None


def together() -> list[list[str]]:
    """Every shipped config in few compositions: all filters as parts of one, the n-th configs of other groups."""
    groups = {
        group: shipped_names(group) for group in GROUPS if group not in ("filter", "metrics", "training")
    }
    groups["experiment"] = ["ds_clip", "icc_demo", "icc_paper"]  # the others are lists of sweeps
    filters = ["filter=union", *(f"+filter@filter.filters.{name}={name}" for name in shipped_names("filter"))]
    rows = itertools.zip_longest(*([f"{group}={name}" for name in names] for group, names in groups.items()))
    return [filters, *([choice for choice in row if choice] for row in rows)]


@pytest.mark.slow
@pytest.mark.parametrize("choices", together())
def test_every_shipped_config_has_the_right_types(
    choices: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in re.findall(r"oc\.env:(\w+)\}", "".join(path.read_text() for path in CONF.rglob("*.yaml"))):
        monkeypatch.setenv(name, "/data")
    monkeypatch.setenv("PAIRSIFT_SWEEP", "now")
    cfg = compose_config(*choices)
    for name in ("task.output", "task.evalset", "pool.url"):  # without a default
        if OmegaConf.is_missing(OmegaConf.select(cfg, name.split(".")[0]), name.split(".")[1]):
            OmegaConf.update(cfg, name, "x")
    check_settings(cfg)


@pytest.mark.slow
@pytest.mark.parametrize("command", EXAMPLES)
def test_an_example_of_the_help_composes(command: str) -> None:
    register_resolvers()
    check_overrides(shlex.split(command))


def test_help_lists_groups_examples_and_configs(run: Run) -> None:
    overview = run("--help").stdout
    assert [group for group in GROUPS if f"  {group}= " not in overview] == []
    assert f"python -m benchmark {next(iter(EXAMPLES))}\n" in overview
    filters = run("--help", "filter").stdout
    assert [name for name in shipped_names("filter") if f"\n  {name} " not in filters] == []
    summary = (
        "icc ICC (Yanuka et al. 2024): the distilled concreteness scorer; captions only Cost: 50 GPU-hours"
    )
    assert summary in " ".join(filters.split())
    icc = run("--help", "filter=icc").stdout
    assert icc.startswith("ICC (Yanuka et al. 2024)")
    for lines in (
        "filter.minimum=null\n      a number, or null for no bound; lowest value of the paper's measure",
        "filter.mode=distilled\n      distilled or direct\n",
    ):
        assert f"\n  {lines}" in icc
    listed = "  profile.captions=10000\n      a positive integer; number of random captions"
    assert listed in run("--help", "task=profile").stdout
    assert run("--version").stdout == f"pairsift {version('pairsift')}\n"


@pytest.mark.full
@pytest.mark.parametrize("group", ["filter", "task", "downstream", "pool", "metrics", "selector", "evalset"])
def test_help_names_settings_that_are_accepted(run: Run, group: str) -> None:
    """The names and defaults of the listed settings, typed as they are listed, are the same configuration."""
    for name in shipped_names(group):
        listed = re.findall(r"^  ([\w.]+=\S+)$", run("--help", f"{group}={name}").stdout, re.MULTILINE)
        typed = [setting for setting in listed if "${" not in setting]
        if typed:
            cfg = compose_config(f"{group}={name}", *normalised(typed))
            assert cfg == compose_config(f"{group}={name}"), name
