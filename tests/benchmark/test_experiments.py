"""A walk over conf/experiment and conf/selector: every one composes, and its parts can be made."""

import re
import shlex
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import hydra
import numpy as np
import pytest
import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from benchmark.cli.jobs import job_overrides, planned_sweeps
from benchmark.cli.overrides import normalised
from benchmark.run.config import CONF, filter_bounds, make_filter, register_resolvers
from benchmark.selection.selection import Selector
from downstream.models.clip_scratch import ClipScratch
from downstream.models.dual_encoder import DualEncoder
from filters.base import Composite, Filter, Scores
from filters.clip import Clip
from filters.cotr import Cotr
from filters.no_text import NoText
from filters.text_removal import TextRemovedClip
from filters.word_removal import WordsRemovedClip
from pairsift.studies.published_figures import FOLDER, PublishedTable, published_tables
from tests.pools import numbered_uids
from tests.test_documentation import configured, header_commands

GIVEN = {
    "advise": ["budget=300000,750000"],
    "ds_clip": ["pool.url=/data/yfcc15m"],
    "parrot": ["pool.url=/data/laion2b"],
    "ava": ["pool.url=/data/ava", "models.lstm_captioner.weak_encoder=/data/weak"],
}
PASSES = {"icc_submission": 1, "ds_clip": 32, "parrot": 32}  # over the subset; of others 2M samples are seen
PAPERS = {yaml.safe_load(path.read_text())["paper"]: path.stem for path in FOLDER.glob("*.yaml")}
TABLES = [
    pytest.param(name, table, id=name)
    for table in published_tables()
    if (name := f"{PAPERS[table.paper]}_table{table.number}")
]


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def demo_command(name: str) -> str:
    """The command on the demo in the header of an experiment's file of sweeps, empty without one."""
    commands = header_commands((CONF / "experiment" / f"{name}.yaml").read_text())
    return next((command for command in commands if f"experiment={name} pool=demo" in command), "")


def settings(job: Iterable[str]) -> dict[str, str]:
    return dict(override.lstrip("+").split("=", 1) for override in job)


def group_of(override: str) -> str:
    return re.split(r"[.@=]", override.lstrip("+"))[0]


@cache
def build_models(job: tuple[str, ...]) -> None:
    """Build the models and the selector; several tables have the same."""
    cfg = configured(*job)
    for node in (*cfg.downstream.values(), cfg.selector):
        hydra.utils.instantiate(node, _convert_="all")


@pytest.fixture(autouse=True)
def _folders(monkeypatch: pytest.MonkeyPatch) -> None:
    register_resolvers()
    monkeypatch.setattr(HydraConfig.instance(), "cfg", None)
    for name, folder in (("LAION400M_8M", "/data"), ("REWRITTEN", "rewrite"), ("DESCRIBED", "describe")):
        monkeypatch.setenv(name, folder)


@pytest.mark.parametrize("name", names("experiment"))
def test_every_experiment_builds_its_parts(name: str) -> None:
    given = GIVEN.get(name.partition("_table")[0], [])
    sweeps = [sweep[1:] for sweep in planned_sweeps([f"experiment={name}", *given])]
    listed = [job_overrides(sweep) for sweep in sweeps or [[f"experiment={name}", *given]]]
    for job in {
        tuple(o for o in jobs[0] if group_of(o) not in {"filter", "size", "seed"}) for jobs in listed
    }:
        build_models(job)
    file = CONF / "experiment" / f"{name}.yaml"
    assert file.read_text().splitlines()[1].startswith("# "), "the header says paper and command"
    assert not sweeps or set(OmegaConf.load(file)) <= {"typed", "sweeps"}, "only these are read"
    for jobs in listed if sweeps else []:
        swept = [settings(job) for job in jobs]
        for setting in {"filter", "filter@filter.filters.last"} & swept[0].keys():
            filters = list(dict.fromkeys(job[setting] for job in swept))
            assert set(filters) <= set(names("filter"))
            assert "random" not in filters[1:], "its results stand beside the others' in their tables"


def test_the_demos_grid_has_171_runs() -> None:
    sweeps = planned_sweeps(["experiment=demo_grid"])
    assert sum(len(job_overrides(overrides)) for _, *overrides in sweeps) == 171


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_a_tables_experiment_has_its_rows(name: str, table: PublishedTable) -> None:
    sweeps = planned_sweeps([f"experiment={name}"])
    jobs = [settings(job) for _, *sweep in sweeps for job in job_overrides(sweep)]
    assert sorted(map(row, jobs)) == sorted((published.filter, published.size) for published in table.rows)
    models = {measure.model for measure in table.measures}
    for job in jobs:
        recipe = OmegaConf.load(CONF / "experiment" / f"{job['experiment']}.yaml")
        passes = PASSES.get(name.partition("_table")[0])
        budget = int(job.get("budget", OmegaConf.select(recipe, "budget", default=2_000_000)))
        assert budget == (passes * row(job)[1] if passes else 2_000_000)
        if job["experiment"] == "icc_paper":
            assert {job.get("downstream", "both")} == (models if len(models) == 1 else {"both"})


def row(job: Mapping[str, str]) -> tuple[str, int]:
    """The filter and size as the published table names them."""
    recipe = OmegaConf.load(CONF / "experiment" / f"{job['experiment']}.yaml")
    size = job.get("size") or dict(ChainMap(*recipe.defaults))["override /size"]
    name = job.get("filter@filter.filters.last", job.get("filter", ""))
    if job["experiment"] == "ds_clip":
        labels = [job[key] for key in ("selector.labels.of", "selector.labels.clusters") if key in job]
        captions = job.get("captions.files", "[]").strip("[]")
        name = ":".join([job.get("selector", "cluster_uniform"), *labels])
        name = "+".join([name, *filter(None, captions.split(","))])
    low, high = (
        job.get(f"filter.{bound}", job.get(f"filter.filters.last.{bound}"))
        for bound in ("minimum", "maximum")
    )
    if name == "no_text":
        name = "text_only" if low else "no_text"
    elif low:
        name += f">={float(low)}" if float(low) < 1 else f"={float(low)}"
    elif high:
        name += "=0.0" if float(high) == 0 else "<0.0"
    return name, OmegaConf.load(CONF / "size" / f"{size}.yaml").samples


@pytest.mark.parametrize("number", [3, 4, 5])
def test_images_without_text_are_in_no_subset_by_text(number: int) -> None:
    """CoTR, RSA and RSC are 0 without text; CoTR and RSC too for text that shares no word with the caption."""
    without_text = {NoText: 0.0, Cotr: 0.0, Clip: 0.3, TextRemovedClip: 0.3, WordsRemovedClip: 0.3}
    other_text = without_text | {NoText: -0.9, TextRemovedClip: 0.25}
    kept = []
    for _, *sweep in planned_sweeps([f"experiment=parrot_table{number}", *GIVEN["parrot"]]):
        for job in job_overrides(sweep):
            cfg = configured("experiment=parrot", *(o for o in job if group_of(o) == "filter"))
            scores = score_images(make_filter(cfg), [without_text, other_text])
            blank, other = filter_bounds(cfg).passes(scores)
            assert not blank, job
            kept += [row(settings(job))[0]] * bool(other)
    assert kept == [{3: "cotr=0.0", 4: "rsa>=0.0", 5: "rsc>=0.0"}[number]]


def score_images(scorer: Filter, images: Sequence[Mapping[type[Filter], float]]) -> Scores:
    """Score images of which the scores by the simple filters are given."""
    if isinstance(scorer, Composite):
        uids = numbered_uids(len(images))
        return scorer.combine([score_images(part, images) for part in scorer.filters.values()], uids)
    return np.array([of_image[type(scorer)] for of_image in images], np.float32)


@pytest.mark.parametrize("name", [name for name in names("experiment") if demo_command(name)])
def test_a_tables_experiment_takes_the_demo(name: str) -> None:
    (sweep, *_) = planned_sweeps(normalised(shlex.split(demo_command(name))[3:]))
    configured(*(o for o in job_overrides(sweep[1:])[0] if group_of(o) not in {"filter", "size", "seed"}))
    groups = {"pool": "demo", "models": "demo", "icc": "demo", "evalset": "demo", "embedding": "clip"}
    assert HydraConfig.get().runtime.choices.items() >= groups.items()


@pytest.mark.parametrize("name", ["ds_clip", "parrot"])
def test_a_typed_size_replaces_an_experiments_own(name: str) -> None:
    assert configured(f"experiment={name}", *GIVEN[name], "size=100k").size.samples == 100_000


def test_the_demos_grid_has_every_filter_or_says_why_not() -> None:
    text = (CONF / "experiment" / "demo_grid.yaml").read_text()
    assert [name for name in names("filter") if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("name", names("selector"))
def test_every_selector_can_be_made(name: str) -> None:
    selector = hydra.utils.instantiate(configured(f"selector={name}").selector, _convert_="all")
    assert isinstance(selector, Selector)
    assert (CONF / "selector" / f"{name}.yaml").read_text().startswith("# ")


def test_ds_clip_is_its_papers_recipe() -> None:
    cfg = configured("experiment=ds_clip", *GIVEN["ds_clip"])
    encoder = hydra.utils.instantiate(cfg.downstream.dual_encoder, _convert_="all")
    assert isinstance(encoder, DualEncoder)
    assert list(cfg.downstream) == ["dual_encoder"]
    assert (encoder.locked, encoder.unlocked.projection, encoder.unlocked.pretrained) == (False, 384, False)
    training = encoder.training
    assert training.samples_seen == 32 * cfg.size.samples
    assert (training.batch_size, training.weight_decay, training.warmup_ratio) == (4096, 0.2, 5 / 32)
    assert (training.optimizer, training.lr) == ("lamb", 2.5e-3)
    assert cfg.selector.labels.clusters == 10_000
    assert cfg.filter._target_ == configured("filter=no_filter").filter._target_
    assert (cfg.captions.use, cfg.captions.weights) == ("sum", None)
    assert "imagenet" in cfg.evalset
    assert Path(cfg.pool.url) == Path("/data/yfcc15m")


@pytest.mark.parametrize("architecture", ["RN50", "ViT-B-32"])
def test_parrot_captions_train_a_clip_from_random_weights(architecture: str) -> None:
    given = [] if architecture == "RN50" else [f"downstream.clip_scratch.architecture={architecture}"]
    cfg = configured("experiment=parrot", *GIVEN["parrot"], *given)
    model = hydra.utils.instantiate(cfg.downstream.clip_scratch, _convert_="all")
    assert isinstance(model, ClipScratch)
    assert list(cfg.downstream) == ["clip_scratch"]
    assert model.architecture == architecture
    assert (model.training.samples_seen, model.training.batch_size) == (32 * cfg.size.samples, 4096)


def test_parrot_captions_warm_up_for_2000_steps() -> None:
    for _, *sweep in planned_sweeps(["experiment=parrot_table2", *GIVEN["parrot"]])[-2:]:
        (job,) = job_overrides(sweep)
        training = configured(*job).downstream.clip_scratch.training
        assert training.batch_size == (8192 if "size=12m" in job else 4096)
        rates = hydra.utils.instantiate(training).lr_at
        assert rates(1998) < rates(1999) == training.lr > rates(2001), "2,000 steps of warm-up"
