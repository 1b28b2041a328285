"""What users type, unusual or wrong: it is read as it was meant, or answered in one line with the right spelling."""

import copy
import itertools
import os
import re
import shlex
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from benchmark.cli.check_settings import check_settings
from benchmark.cli.help_text import EXAMPLES
from benchmark.cli.jobs import job_overrides, planned_sweeps
from benchmark.cli.overrides import GROUPS, normalised
from benchmark.cli.settings import parse_type, setting_types, task_types
from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveFloat, PositiveInt, requirement
from benchmark.core.uids import read_subset
from benchmark.run.config import CONF, register_resolvers, resolved, shipped_names
from tests.benchmark.cli.test_cli import run_process
from tests.command_line import Run, assert_one_line
from tests.pools import rows, write_metadata, write_pool, write_tar
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
# Refused before Hydra is asked.
NOT_MEANT = [
    (
        "size=null",
        "size=null must be a whole number of pairs above 0, such as 200k, 1.5m or 50000, a percentage such as 10%, or"
        " all",
    ),
    ("size=-5", "size=-5 must be a whole number of pairs above 0"),
    ("size=0", "size=0 must be a whole number of pairs above 0"),
    ("size=1.5", "size=1.5 must be a whole number of pairs above 0"),
    ("size=200,000", "size=000 must be a whole number of pairs above 0"),
    ("size=1e999", "size=1e999 must be a whole number of pairs above 0"),
    ("budget=-1", "budget=-1 must be a whole number of samples above 0, such as 200k, 1.5m or 50000"),
    ("seed=0:2", "seed=0:2 must be an integer from 0 to 2^32 - 1"),
    ("filter=5", "filter=5 is unknown; known: aesthetics"),
    ("pool=null", "pool=null is unknown; known: cc12m"),
    ("=5", "=5 names no setting; write NAME=VALUE"),
    ("icc", "'icc' names no setting; did you mean filter=icc?"),
    ("report", "'report' names no setting; did you mean task=report?"),
    ("help", "`python -m benchmark --help` lists what there is"),
    ("filter", "filter needs a value: filter=NAME"),
    ("results_dir", "'results_dir' names no setting; write NAME=VALUE"),
    ("task.explain=a dog", "put quotes around a value with spaces: 'task.explain=a dog'"),
    ("-x", "'-x' names no setting"),
    ("filter=icc --cfg size=5", "--cfg/-c: invalid choice: 'size=5' (choose from 'job', 'hydra', 'all')"),
    ("filter=icc size=5 --config-dir", "--config-dir/-cd: expected one argument"),
    ("filter=icc -m --cfg job size=5", "--cfg/-c: not allowed with argument --multirun/-m"),
    ("filter=icc --resolve size=5", "--resolve and --package must be with --cfg job"),
    ("size=interval(1,5)", "size=interval(1,5) must be single values, such as range(1,5)"),
    ("seed=interval(1,5)", "seed=interval(1,5) must be single values, such as range(1,5)"),
    ("filter=glob(zzz*)", "filter=glob(zzz*) must be a pattern that names of configs fit"),
    ("size=5,choice(6,7)", "choice(...), range(...) and the like must be the whole value"),
    ("size=choice(mine,5)", "size=mine,5 must be numbers, such as 200k"),
    ("filter=choice(icc,5)", "filter=5 is unknown; known: aesthetics"),
    ("metrics=[default,5]", "metrics=5 is unknown; known: bertscore"),
    ("'size=${oc.env:NOT_SET}'", "size=${oc.env:NOT_SET} must name an environment variable that is set"),
    ("'size=${seed}'", "${seed} is not known yet where configs are chosen"),
    ("'budget=${seed}'", "budget=0 must be a number of samples"),
    (
        "'results_dir=${oc.env:NOT_SET}'",
        "set NOT_SET to the folder or URL of this data, or to another value of results_dir",
    ),
    (
        "metrics=[]",
        "metrics=[] must be the name of a config; `python -m benchmark --help metrics` lists them",
    ),
    ("'downstream=[ ]'", "downstream=[ ] must be the name of a config"),
    ("filter={}", "filter={} must be the name of a config"),
    ("filter=", "filter= must be the name of a config; `python -m benchmark --help filter` lists them"),
    ("filter={a:1}", "filter={a:1} must be the name of a config"),
    (
        "--shell-completion",
        "--shell-completion must be with install=SHELL or uninstall=SHELL: bash, zsh or fish",
    ),
    ("-sc install=csh", "--shell-completion must be with install=SHELL"),
    ("--cfg job --resolve pool=laion400m_8m", "error: set LAION400M_8M to the folder or URL of this data"),
    (
        "--cfg job --resolve 'filter.checkpoint=${no}'",
        "a setting refers to a setting that there is not: ${no}",
    ),
    ("--help filtr", "--help filtr is unknown; did you mean 'filter'?"),
    ("--help filter=iccc", "filter=iccc is unknown; did you mean 'icc'?"),
]
# Refused by Hydra, whose message is replaced.
NOT_COMPOSED = [
    ("filter=iccc", "filter=iccc is unknown; did you mean 'icc'?"),
    (
        "size=200kk",
        "size=200kk must be a number of pairs, such as 250k, a percentage such as 10%, or one of all, 100k, 200k,"
        " 500k, 1m, 1500k, 2m, 3m, 4500k, 7500k, 10500k, 12m",
    ),
    ("size=0%", "size=0% must be a number of pairs, such as 250k, a percentage such as 10%"),
    ("size=120%", "size=120% must be a number of pairs"),
    ("size=abc%", "size=abc% must be a number of pairs"),
    ("'metrics=[bleu,cidr]'", "metrics=cidr is unknown; did you mean 'cider'?"),
    ("hydra/launcher=jobli", "hydra/launcher=jobli is unknown; did you mean 'joblib'?"),
    ("pool=/data/x", "for a folder or URL write pool=img2dataset pool.url=/data/x"),
    ("--config-dir /no/folder", "--config-dir /no/folder must be a folder with configs"),
    ("fliter=icc", "there is no setting 'fliter'; did you mean filter=icc?"),
    ("filter=clip filter.modle=x", "there is no setting 'filter.modle'; did you mean filter.model=x?"),
    ("~filter.seed", "there is no setting 'filter.seed'; `python -m benchmark --cfg job` shows all settings"),
    ("--nosuch", "there is no setting 'nosuch'; `python -m benchmark --cfg job` shows all settings"),
    ("+seed=1", "seed is a setting; write seed=VALUE, no plus"),
    ("+filter=clip", "filter is chosen already; write filter=NAME once, no plus"),
    ("--config-name foo", "there is no config 'foo'; leave --config-name out"),
    ("--cfg job filter=random,clip", "--cfg shows the settings of one run; give filter one value"),
    ("'captions.files=[a'", "captions.files=[a cannot be read; put quotes around special characters"),
    ("filter=random,icc filter.checkpoint=x", "filter=random: there is no setting 'filter.checkpoint'"),
    ("filter=random,clpi", "filter=clpi is unknown; did you mean 'clip'?"),
]
TRAINING = "downstream.captioner.training"
OTHER_TRAINING = "downstream.dual_encoder.training"
# An unknown setting, and the end of the answer: settings that take the value, or why the likeliest one does not.
UNKNOWN = [
    ("filter.min=0.28", "did you mean filter.minimum=0.28?"),
    ("filter.rnk=true", "did you mean filter.rank=true?"),
    ("pool.url=/data/x", "did you mean pool=img2dataset pool.url=/data/x?"),
    ("task=report metric=CIDEr", "did you mean task.columns=CIDEr?"),
    ("fliter=iccc", "did you mean filter=icc?"),
    ("lr=fast", f"{TRAINING}.lr=fast must be a positive number"),
    ("task=select task.shards=3/8", "did you mean task=score task.shards=3/8?"),
    ("metric=CIDEr", "did you mean metrics=cider?"),
    ("filter.rnk=yes", "filter.rank=yes must be true or false"),
    ("filter=cascade filter.filters.first.max=9", "did you mean filter.filters.first.maximum=9?"),
    ("minimum=0.3", "did you mean filter.minimum=0.3?"),
    ("filter.famly=x", "`python -m benchmark --cfg job` shows all settings"),
    ("filter=clip filter.threshold=0.3", "`python -m benchmark --cfg job` shows all settings"),
    ("evalset=hub pool.url=/data/x", "did you mean pool=img2dataset pool.url=/data/x?"),
    ("url=/data/x", "did you mean pool=img2dataset pool.url=/data/x?"),
    ("task.shards=3/8", "did you mean task=score task.shards=3/8?"),
    ("profile.samples=5", "did you mean task=profile profile.samples=5?"),
    (
        "filter=laion2b filter.minimum_side=9",
        "did you mean filter=basic filter.minimum_side=9?",
    ),
    ("'metric=[cider,spice]'", "did you mean metrics=[cider,spice]?"),
    ("fliter=icc", "did you mean filter=icc?"),
    ("fliter=my_filters:NearLength", "did you mean filter=my_filters:NearLength?"),
    ("sizes=300k", "did you mean size=300k?"),
    ("seeds=0", "did you mean seed=0?"),
    ("result_dir=/x", "did you mean results_dir=/x?"),
    ("evalset.limt=100", "did you mean evalset.limit=100?"),
    ("samples_sen=5", f"did you mean {TRAINING}.samples_seen=5 or {OTHER_TRAINING}.samples_seen=5?"),
    (
        "downstream.lstm_captioner.training.lr=1e-4",
        "did you mean downstream=lstm_captioner downstream.lstm_captioner.training.lr=1e-4?",
    ),
    ("output_dir=/x", "`python -m benchmark --cfg job` shows all settings"),
    ("--experimental-rerun /nowhere", "experiment=/nowhere is unknown; known: ava, ava_table1a"),
]
# Wrong values of one setting each.
WRONG_VALUES = [
    ("seed=-1", "seed=-1 must be an integer from 0 to 2^32 - 1"),
    ("filter.minimum=low", "filter.minimum=low must be a number, or null for no bound"),
    ("filter.maximum=nan", "filter.maximum=nan must be a number"),
    ("filter.rank=1", "filter.rank=1 must be true or false"),
    ("seed=one", "seed=one must be an integer"),
    ("budget=much", "budget=much must be a number of samples, such as 2m, 500k or 20000"),
    ("device=mps", "device=mps must be auto, cpu, cuda or cuda:N"),
    ("results_dir=2024", "results_dir=2024 must be one folder or file: write 'results_dir=\"2024\"'"),
    ("validate_every=0", "validate_every=0 must be a positive integer, or null for never"),
    ("captions.columns=x", "captions.columns=x must be a list: write captions.columns=[x]"),
    ("pool.scale=0", "pool.scale=0 must be a positive integer"),
    ("pool.demo.consistency=2", "pool.demo.consistency=2 must be a number from 0 to 1"),
    ("pool.demo.evaluation.coco=0", "pool.demo.evaluation.coco=0 must be a positive integer"),
    ("size.samples=ten", "size.samples=ten must be a positive integer, a percentage such as 10%, or all"),
    ("size.samples=0%", "size.samples=0% must be a positive integer, a percentage such as 10%, or all"),
    ("budget=all", "budget=all must be a number of samples"),
    (f"{TRAINING}.samples_seen=64.5", f"{TRAINING}.samples_seen=64.5 must be a positive integer"),
    (f"{TRAINING}.workers=-1", f"{TRAINING}.workers=-1 must be an integer from 0 to 1,024, or null"),
    (f"{TRAINING}.lr=fast", f"{TRAINING}.lr=fast must be a positive number"),
    (f"{TRAINING}.lr=0", f"{TRAINING}.lr=0 must be a positive number"),
    (f"{TRAINING}.lr=nan", f"{TRAINING}.lr=nan must be a positive number"),
    (f"{TRAINING}.optimizer=sgd", f"{TRAINING}.optimizer=sgd must be adamw or lamb"),
    (f"{TRAINING}.warmup_ratio=1", f"{TRAINING}.warmup_ratio=1 must be a number of at least 0 and below 1"),
    ("models.captioner.lr=-1", "models.captioner.lr=-1 must be a positive number"),
    ("models.clip_scratch.warmup_steps=0", "models.clip_scratch.warmup_steps=0 must be a positive integer"),
    ("icc.similarity.sba=cosine", "icc.similarity.sba=cosine must be edit or bertscore"),
    ("downstream.captioner.max_tokens=0", "downstream.captioner.max_tokens=0 must be a positive integer"),
    ("downstream.captioner.eval_batch_size=0", "downstream.captioner.eval_batch_size=0 must be"),
    ("downstream.captioner=5", "downstream.captioner=5 must be a group of settings"),
    ("+downstream.captioner.locked=true", "there is no setting 'downstream.captioner.locked'; known: beams"),
    ("evalset.coco.captioning=maybe", "evalset.coco.captioning=maybe must be true or false"),
    ("evalset.coco=null", "evalset.coco=null must be a group of settings"),
    ("metrics.bleu=x", "metrics.bleu=x must be a group of settings"),
    ("engine.workers=0", "engine.workers=0 must be an integer from 1 to 1,024, or null"),
    ("+tracker.project=x", "there is no setting 'tracker.project'; it takes none"),
    ("filter.checkpoint=5", "filter.checkpoint=5 must be text, or null: write 'filter.checkpoint=\"5\"'"),
    ("+filter.foo=1", "there is no setting 'filter.foo'; known: build"),
    ("+size.sample=5", "there is no setting 'size.sample'; did you mean 'samples'?"),
    ("+foo=1", "there is no setting 'foo'; known: augmentation"),
    ("+task.output=x", "there is no setting 'task.output'; known: name"),
]
# Wrong beside other settings or on this machine: looked for where all values have the right types.
WRONG_TOGETHER = [
    ("evalset=paper +evalset.coco.ties=top", "evalset.coco.ties=top must be against or topk"),
    ("size.samples=50", "size=50 must be an integer of at least 100, the scale of the pool"),
    (
        f"budget=2m {TRAINING}.samples_seen=5",
        f"budget=2m and {TRAINING}.samples_seen=5 both say how many samples captioner sees; leave one of them",
    ),
    ("budget=50", "budget=50 must be an integer of at least 100, the scale of the pool"),
    ("device=cuda:99", "device=cuda:99 asked for, but torch sees"),
    ("filter.checkpoint=${nosuch}", "filter.checkpoint refers to a setting that there is not: ${nosuch}"),
    ("filter.mode=???", "filter.mode is not given; add filter.mode=VALUE"),
]
NEW_PROCESSES = ["fliter=icc", f"{TRAINING}.lr=fast"]


def composed(*overrides: str) -> DictConfig:
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


@pytest.fixture(scope="module")
def default() -> DictConfig:
    return composed()


@pytest.mark.parametrize(("typed", "read"), MEANT)
def test_a_command_is_read_as_it_was_meant(typed: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)
    assert normalised(shlex.split(typed)) == shlex.split(read)


@pytest.mark.parametrize("command", HYDRAS)
def test_what_hydra_reads_stays_as_it_is(command: str) -> None:
    assert normalised(shlex.split(command)) == shlex.split(command)


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
    cfg = composed(*normalised(given))
    check_settings(cfg, [name.partition("=")[0].lstrip("+") for name in normalised(given)])
    assert resolved(cfg) == resolved(composed(*normalised(OF_EACH_TYPE)))


@pytest.mark.parametrize(("typed", "read"), BETWEEN)
def test_an_option_may_be_between_settings(typed: str, read: str) -> None:
    assert normalised(shlex.split(typed)) == shlex.split(read)


def test_the_configuration_is_shown_wherever_it_is_asked_for(run: Run) -> None:
    shown = [run(*typed.split()) for typed in ("seed=3 --cfg job size=5", "--cfg job seed=3 size=5")]
    assert [done.returncode for done in shown] == [0, 0]
    assert shown[0] == shown[1]
    assert "seed: 3\n" in shown[0].stdout
    assert "samples: 5\n" in shown[0].stdout


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_reaches_the_configuration_unchanged(sentence: str) -> None:
    assert composed("task=concreteness", *normalised([f"task.explain={sentence}"])).task.explain == sentence


def test_urls_reach_the_configuration_unchanged() -> None:
    pattern, signed = "/data/{00000..00003}.tar", "https://h/0.tar?X-Amz-Signature=a&Expires=9"
    cfg = composed("pool=img2dataset", *normalised([f"pool.url={pattern}", f"results_dir={signed}"]))
    assert (cfg.pool.url, cfg.results_dir) == (pattern, signed)


@pytest.mark.parametrize(("typed", "line"), NOT_MEANT)
def test_what_cannot_be_meant_is_answered(run: Run, typed: str, line: str) -> None:
    assert_one_line(run(*shlex.split(typed)), line)


def check_with(default: DictConfig, *typed: str) -> None:
    """Check the settings that are typed."""
    cfg = copy.deepcopy(default)
    overrides = list(map(OverridesParser.create().parse_override, typed))
    for override in overrides:
        OmegaConf.update(cfg, override.key_or_group, override.value(), merge=False, force_add=True)
    check_settings(cfg, [override.key_or_group for override in overrides])


def separate_settings(values: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The same values in lists in which no setting stands twice: one walk finds all that is wrong of a list."""
    lists: list[dict[str, tuple[str, str]]] = []
    for value in values:
        name = value[0].lstrip("+").partition("=")[0]
        free = (given for given in lists if not any(_nested(name, other) for other in given))
        target = next(free, None)
        if target is None:
            lists.append(target := {})
        target[name] = value
    return [list(given.values()) for given in lists]


def _nested(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


@pytest.mark.parametrize("values", separate_settings(WRONG_VALUES))
def test_each_wrong_value_is_refused_by_its_name(
    default: DictConfig, values: Sequence[tuple[str, str]]
) -> None:
    with pytest.raises(UserError) as refused:
        check_with(default, *(typed for typed, _ in values))
    problems = str(refused.value).split("; ")
    assert [line for _, line in values if line not in str(refused.value)] == []
    assert len([problem for problem in problems if " must be " in problem]) <= len(values)


@pytest.mark.parametrize(("typed", "line"), WRONG_TOGETHER)
def test_a_value_that_does_not_fit_is_refused(run: Run, typed: str, line: str) -> None:
    assert_one_line(run(*typed.split()), line)


@pytest.mark.parametrize(
    ("typed", "hint"), [*UNKNOWN[:8], *(pytest.param(*row, marks=pytest.mark.slow) for row in UNKNOWN[8:])]
)
def test_only_settings_that_take_the_value_are_suggested(run: Run, typed: str, hint: str) -> None:
    done = run(*shlex.split(typed))
    assert_one_line(done, f"; {hint}")
    assert "did you mean" not in hint or done.stderr.endswith(f"; {hint}\n")


def test_a_size_is_the_same_run_by_name_and_by_number(default: DictConfig) -> None:
    """The settings are equal, hence the run's id."""
    assert resolved(composed("size.samples=200000")) == resolved(default)


def test_unusual_spellings_make_real_runs(run: Run, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "a (copy)", [rows(30)])
    select = ["task=select", "--pool", "img2dataset", f"pool.url={pool}"]
    done = run(*select, "filter=[random]", "size=4,", "6")
    assert done.returncode == 0, done.stderr
    assert [len(read_subset(Path(path))) for path in done.stdout.split()] == [4, 6]


def test_a_setting_has_the_type_of_its_line_or_of_its_default() -> None:
    types = {
        task: task_types(task) for task in shipped_names("task")
    }  # of all tasks, as words for no type are refused
    assert types["evaluate"]["captioner"]["beams"] is PositiveInt
    assert (
        requirement(types["text_spotting"]["sample"])
        == "a positive integer, or null for the whole vocabulary"
    )
    with pytest.raises(KeyError, match="a positiv integer"):
        parse_type("a positiv integer, or null")
    assert types["report"]["folders"] == list[str]
    assert types["report"]["full"] is bool
    assert setting_types()["models"]["captioner"]["lr"] is PositiveFloat
    assert setting_types()["models"]["lstm_captioner"]["weak_encoder"] == str | None


def test_settings_of_a_task_from_elsewhere_are_its_own_matter(default: DictConfig) -> None:
    check_with(default, "task.name=mine", "+task.depth=x", "+mine.width=y", "+models.mine.lr=x")


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
    cfg = composed(*choices)
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
    lines = " ".join(filters.split())
    assert (
        "icc ICC (Yanuka et al. 2024): the distilled concreteness scorer; captions only Cost: 50 GPU-hours"
        in lines
    )
    icc = run("--help", "filter=icc").stdout
    assert icc.startswith("ICC (Yanuka et al. 2024)")
    assert (
        "\n  filter.minimum=null\n      a number, or null for no bound; lowest value of the paper's measure"
        in icc
    )
    assert "\n  filter.mode=distilled\n      distilled or direct\n" in icc
    assert (
        "  profile.captions=10000\n      a positive integer; number of random captions"
        in run("--help", "task=profile").stdout
    )
    assert run("--version").stdout == f"pairsift {version('pairsift')}\n"


@pytest.mark.slow
@pytest.mark.parametrize("group", ["filter", "task", "downstream", "pool", "metrics", "selector", "evalset"])
def test_help_names_settings_that_are_accepted(run: Run, group: str) -> None:
    """The names and defaults of the listed settings, typed as they are listed, are the same configuration."""
    for name in shipped_names(group):
        listed = re.findall(r"^  ([\w.]+=\S+)$", run("--help", f"{group}={name}").stdout, re.MULTILINE)
        typed = [setting for setting in listed if "${" not in setting]
        if typed:
            cfg = composed(f"{group}={name}", *normalised(typed))
            assert cfg == composed(f"{group}={name}"), name


@pytest.mark.slow
def test_each_wrong_command_is_answered_within_seconds(run: Run) -> None:
    for typed, line in [*NOT_COMPOSED, *WRONG_VALUES[::9]]:
        started = time.process_time()
        assert_one_line(run(*shlex.split(typed)), line)
        assert time.process_time() - started < 3, typed


@pytest.mark.slow
@pytest.mark.parametrize("typed", NEW_PROCESSES)
def test_a_new_process_answers_within_seconds(typed: str) -> None:
    before = os.times()
    done = run_process(*shlex.split(typed))
    after = os.times()
    assert_one_line(done, "")
    assert after.children_user + after.children_system - before.children_user - before.children_system < 3


SELECT = "task=select pool=img2dataset filter=random size.samples=2"
# A wrong command, and where its line says what to type: a whole command, settings, or the last setting's value.
REMEDIES = [
    (f"{SELECT} pool.url=it's/pool", r"special characters: (.*)"),
    (f"{SELECT} pool.url=pool pool.nsfw=[UNLIKELY]", r"set (pool\.nsfw=\[\]) to keep"),
    (f"{SELECT} pool.url=pool pool.columns.text=texts", r"did you mean '(text)'"),
    (f"{SELECT} pool.url=tars size.samples=9", r"choose (size=\d)"),
    (f"{SELECT} pool.url=pool device=cuda:99", r"use (device=cpu)"),
    (f"{SELECT} pool.url=pool fliter=random", r"did you mean (\S+)\?"),
    (f"{SELECT} pool.url=pool pool.nfsw=[]", r"did you mean (\S+)\?"),
    (f"{SELECT} pool.url=pool filter=rnadom", r"did you mean '(\w+)'"),
    (f"{SELECT} pool.url=pool +filter=random", r"write (filter=)NAME once"),
    (f"{SELECT} pool.url=pool filter=uid_list", r"add (filter\.path=)VALUE"),
    (
        "filter=random pool=img2dataset pool.url=pool size.samples=2 plan=true task=report",
        r"for task=score, (select)",
    ),
    ("task=select filter=random size.samples=2 pool=./tars", r"write (pool=img2dataset pool\.url=\S+)"),
    (f"{SELECT} pool.url=pool filter", r"`(python -m benchmark --help filter)`"),
    (f"{SELECT} pool.url=pool pool.demo.pairs=5", r"`(python -m benchmark --cfg job)`"),
    ("task=profile pool=img2dataset pool.url=long", r"add (profile\.images=false)"),
    ("task=report results_dir=none", r"run `(python -m benchmark filter=random,clip)`"),
    (f"{SELECT} pool.url=pool filter=no_text", r"with (task=export) filter=icc"),
]
TYPED = {
    "filter=": "filter=random",
    "filter.path=": "filter.path=uids.txt",
    "task=export": "task=export filter=random",
}  # NAME and VALUE are the user's


@pytest.mark.parametrize(("wrong", "remedy"), REMEDIES)
def test_a_remedy_works_as_it_is_typed(
    run: Run, small_demo: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, remedy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("it's/pool", "pool"):
        write_metadata(tmp_path / folder / "a.parquet", rows(5))
    write_metadata(tmp_path / "long" / "a.parquet", rows(250))
    write_tar(tmp_path / "tars" / "0.tar", rows(5))
    (tmp_path / "uids.txt").write_text("".join(f"{row.uid}\n" for row in rows(5)))
    command = shlex.split(wrong.replace("'", "\\'"))
    done = run(*command)
    assert done.returncode == 2
    found = re.search(remedy, done.stderr)
    assert found, done.stderr
    typed = shlex.split(TYPED.get(found[1], found[1]))
    done = run(*retyped(command, typed, small_demo))
    assert done.returncode == 0, done.stderr


def retyped(command: Sequence[str], typed: Sequence[str], small_demo: Sequence[str]) -> list[str]:
    """Return a command with what is typed in place of its last setting, or of its settings of the same names."""
    *others, last = command
    if typed[0] == "python":
        whole = "filter=random,clip" in typed  # runs the demo for minutes: here a plan of a small one
        return [*typed[3:], *([*small_demo, "plan=true"] if whole else [])]
    if "=" not in typed[0]:
        return [*others, f"{last.partition('=')[0]}={typed[0]}"]
    names = {setting.partition("=")[0] for setting in typed}
    unknown = last.partition("=")[0] in ("fliter", "pool.nfsw", "+filter")
    kept = others if unknown else command
    return [*(setting for setting in kept if setting.partition("=")[0] not in names), *typed]
