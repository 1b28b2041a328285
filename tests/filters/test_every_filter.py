"""A walk over conf/filter: every filter keeps the contract, on ordinary pairs and on the worst of the web."""

import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import save_file

from benchmark.core.batch import CAPTION_EMPTY, IMAGE_UNREADABLE, Batch
from benchmark.core.errors import UserError
from benchmark.core.extras import EXTRAS, install_command
from benchmark.core.uids import encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.run.config import CONF, UNBOUNDED, make_filter, register_resolvers
from benchmark.scoring.score_pool import fit_filter, score_pool
from benchmark.scoring.shard_reader import ShardReader
from benchmark.scoring.shard_work import is_light
from filters.aesthetics import Aesthetics
from filters.base import Composite, Filter
from filters.clip import ClipFeatures
from filters.clip_stroop import ClipStroop
from filters.composite import Ranked, ScoreSum
from filters.cotr import Cotr
from filters.embeddings.cluster_labels import ClusterLabels
from filters.icc.modes import icc
from filters.icc.scorer import DistilledScorer
from filters.lexicon import Lexicon
from filters.llm_rating import LlmRating
from filters.negcliploss import NegClipLoss
from filters.no_filter import NoFilter
from filters.normsim import NormSim
from filters.text_removal import TextRemovedClip
from filters.word_removal import rsc
from tests.demos import demo_model
from tests.extras import has_extra, hide_extra, needs_extra
from tests.filters.bad_pairs import UNREADABLE, bad_rows
from tests.filters.checkpoints import open_clip_model, roberta_scorer
from tests.filters.generators import chat_model, diffusion_model
from tests.filters.ocr.spotters import PlantedText
from tests.filters.wordnet_files import PHOTO, write_synsets, write_wordnet
from tests.pools import numbered_uids, rows, write_metadata, write_pool

CPU = torch.device("cpu")
NAMES = sorted(path.stem for path in (CONF / "filter").glob("*.yaml"))
EXACT = {"column", "normsim", "score_file"}  # in float64
COMBINATORS = {"cascade", "intersect", "rank_sum", "score_sum", "union"}  # cost what their parts cost
DIRECT = {"icc", "vba"}  # need their extra with filter.mode=direct only
LIGHT = {
    "clip", "column", "cotr", "dfn", "image_based", "informativeness", "lexicon", "negcliploss", "no_filter",
    "no_text", "normsim", "oracle", "pacscore", "published", "random", "score_file", "uid_list", "vas",
}  # fmt: skip


def named_extras(name: str) -> set[str]:
    """The extras whose description names the filter."""
    return {extra for extra, of in EXTRAS.items() if re.search(rf"\b{name}\b", of.needed_by)}


FILTERS = [
    pytest.param(name, marks=[needs_extra(extra) for extra in named_extras(name) if name not in DIRECT])
    for name in NAMES
]
COLUMNS = {
    "clip_l14_similarity_score": [0.1, 0.2, 0.3, 0.25],
    "grade": [3, 3, 1, 3],
    "concreteness": [0.9, 0.4, 0.0, 0.8],
    "original_width": [640, 200, 199, 300],
    "original_height": [480, 601, 400, 300],
}


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True, name="cache")
def shared_cache(module_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One cache for the whole file: filters of the same features extract them once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(module_cache))
    return module_cache


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("checkpoints")
    return [
        f"models.icc.checkpoint={roberta_scorer(folder / 'icc')}",
        f"models.clip.model={open_clip_model(folder / 'clip')}",
    ]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    folder = tmp_path_factory.mktemp("pool")
    write_pool(folder, [rows(4)])
    write_metadata(folder / "metadata" / "00000000.parquet", rows(4), **COLUMNS)
    return Pool("p", str(folder))


@pytest.fixture(scope="module")
def bad_pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    folder = tmp_path_factory.mktemp("bad_pool")
    pairs = bad_rows()
    unknown = [None] * (len(pairs) - 2)
    columns: dict[str, list[Any]] = {name: values[:2] + unknown for name, values in COLUMNS.items()}
    write_pool(folder, [pairs])
    write_metadata(folder / "metadata" / "00000000.parquet", pairs, **columns)
    return Pool("bad", str(folder))


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a user gives to the filters that need more than a checkpoint of `models`."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "ratings.txt").write_text("Word\tConc.M\nphoto\t4.6\nthing\t2.9\n")
    captions = [f"{row.text},{number / 4}\n" for number, row in enumerate(rows(4))]
    (folder / "scores.csv").write_text("caption,score\n" + "".join(captions))
    (folder / "uids.txt").write_text("".join(f"{row.uid}\n" for row in rows(2)))
    clip = open_clip_model(folder / "clip")
    save_file({"weight": torch.ones(1, 16), "bias": torch.zeros(1)}, folder / "head.safetensors")
    distilled = [f"filter.checkpoint={roberta_scorer(folder / 'distilled')}"]
    np.save(folder / "target.npy", np.eye(2, 16))
    overrides = {
        "aesthetics": [
            f"filter.model={clip}", "filter.pretrained=null", f"filter.head={folder / 'head.safetensors'}",
        ],
        "dfn": [f"filter.model={clip}", "filter.pretrained=null"],
        "image_based": [f"filter.target={folder / 'target.npy'}"],
        "image_based_clip": [f"filter.filters.image_based.target={folder / 'target.npy'}"],
        "sba": distilled,
        "vba": distilled,
        "lexicon": [f"filter.ratings={folder / 'ratings.txt'}"],
        "text_based": [
            f"filter.synsets={write_synsets(folder / 'ids.txt', PHOTO)}",
            f"filter.wordnet={write_wordnet(folder / 'wordnet')}",
        ],
        "score_file": [f"filter.path={folder / 'scores.csv'}"],
        "published": ["filter.name=datacomp/datacomp_1b", f"filter.path={folder / 'uids.txt'}"],
        "uid_list": [f"filter.path={folder / 'uids.txt'}"],
        "llm_rating": [f"filter.model={chat_model(folder / 'chat')}"],
    }  # fmt: skip
    if has_extra("diffusion"):
        diffusion = diffusion_model(folder / "diffusion")
        overrides["ave_clip"] = [f"filter.checkpoint={diffusion}", "filter.images=2", "filter.steps=2"]
    return overrides


def composed(*overrides: str) -> DictConfig:
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


@cache
def every_filter() -> tuple[DictConfig, DictConfig]:
    """A configuration, and all filters, composed as parts of one: to compose forty configs takes twenty seconds."""
    parts = [f"+filter@filter.filters.{name}={name}" for name in NAMES]
    cfg = composed("filter=union", "models=demo", *parts)
    filters = cfg.filter.filters
    cfg.filter = {name: value for name, value in cfg.filter.items() if name in UNBOUNDED}
    return cfg, filters


def config(name: str, *settings: str) -> DictConfig:
    """The configuration of ``filter=NAME models=demo`` with these settings."""
    shared, filters = every_filter()
    cfg = shared.copy()
    cfg.filter = OmegaConf.merge(OmegaConf.create(dict(cfg.filter)), filters[name])
    for setting in OverridesParser.create().parse_overrides(list(settings)):
        OmegaConf.update(cfg, setting.key_or_group, setting.value())
    return cfg


def make(name: str, *overrides: str) -> Filter:
    return make_filter(config(name, *overrides))


@cache
def built(name: str, *overrides: str) -> Filter:
    """The filter for the tests that score with it, with its models."""
    made = make(name, *overrides)
    made.setup(CPU)
    return made


@pytest.mark.parametrize("name", ["icc", "cascade"])
def test_a_filter_is_the_same_alone(name: str) -> None:
    assert config(name) == composed(f"filter={name}", "models=demo")


def test_what_a_filter_demands_it_does_not_inherit() -> None:
    """Over a value of another config in its defaults, `???` has no effect: dfn ran with the pool's CLIP."""
    _, filters = every_filter()
    demanded = {
        (name, key)
        for name in NAMES
        for key in re.findall(r"(?m)^(\w+): \?\?\?", (CONF / "filter" / f"{name}.yaml").read_text())
    }
    assert ("dfn", "pretrained") in demanded
    assert {of for of in demanded if not OmegaConf.is_missing(filters[of[0]], of[1])} == set()


@pytest.mark.parametrize("name", FILTERS)
def test_filter_keeps_the_contract(
    name: str, checkpoints: list[str], given: dict[str, list[str]], pool: Pool
) -> None:
    made = built(name, *checkpoints, *given.get(name, []))
    assert is_light(made) == (name in LIGHT), "whether cached features are scored in one process"
    for part in made.leaves():
        if part.corpus_dependent:
            fit_filter(pool, part, LocalEngine("cpu", 1))
        reader = ShardReader(pool, "cpu")
        (batch,) = reader.batches(pool.shards(part.sources)[0], part, Counter())
        scores = part.score(batch)
        assert scores.shape == (4,)
        assert scores.dtype == (np.float64 if name in EXACT else np.float32)
        assert not np.isnan(scores).all()
        # Twenty steps of drawing multiply what float32 loses in batches of another size.
        within = 1e-4 if name == "ave_clip" else 1e-5
        one_by_one = np.concatenate([part.score(batch.take([i])) for i in range(4)])
        assert one_by_one == pytest.approx(scores, abs=within, nan_ok=True)
        backwards = part.score(batch.take([3, 2, 1, 0]))
        assert backwards[::-1] == pytest.approx(scores, abs=within, nan_ok=True)
    if isinstance(made, Composite):
        scores = np.random.default_rng(0).random((len(made.filters), 50), np.float32)
        combined = made.combine(scores, numbered_uids(50))
        assert combined.shape == (50,)
        assert combined.dtype == (np.float64 if isinstance(made, Ranked | ScoreSum) else np.float32)


@pytest.mark.parametrize("name", FILTERS)
def test_broken_pairs_get_a_score_or_a_reason(
    name: str, checkpoints: list[str], given: dict[str, list[str]], bad_pool: Pool
) -> None:
    table = score_pool(bad_pool, built(name, *checkpoints, *given.get(name, [])), LocalEngine("cpu", 1))
    assert table.scores.shape == (len(table.uids),)
    assert not np.isinf(table.scores).any()
    assert table.drops in ({CAPTION_EMPTY: 2}, {CAPTION_EMPTY: 2, IMAGE_UNREADABLE: UNREADABLE})
    usable = encode_uids([row.uid for row in bad_rows()[:-UNREADABLE] if row.text.strip()])
    assert np.isin(usable, table.uids).all()


@pytest.mark.parametrize("name", ["vas", "normsim"])
def test_a_target_is_read_by_workers(name: str, given: dict[str, list[str]]) -> None:
    assert not is_light(make(name, *given["image_based"]))


# Settings that name a file or a folder, of each filter.
FILES = {
    "aesthetics": ["filter.head", "filter.model"], "clip": ["models.clip.model"], "icc": ["models.icc.checkpoint"],
    "complexity_action": ["models.parser"], "image_based": ["filter.target"], "lexicon": ["filter.ratings"],
    "pacscore": ["models.pacscore.checkpoint"], "sba": ["filter.checkpoint"],
    "published": ["filter.path"], "score_file": ["filter.path"],
    "text_based": ["filter.synsets", "filter.wordnet"], "uid_list": ["filter.path"],
    "vas": ["filter.target"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "setting"),
    [pytest.param(p.values[0], of, marks=p.marks) for p in FILTERS for of in FILES.get(str(p.values[0]), [])],
)
def test_files_count_by_content_and_must_be_there(
    name: str, setting: str, checkpoints: list[str], given: dict[str, list[str]], tmp_path: Path
) -> None:
    pacscore = f"{demo_model('pacscore')}/projections.safetensors"
    more = [f"models.parser={demo_model('parser')}", f"models.pacscore.checkpoint={pacscore}"]
    settings = [*checkpoints, *more, *given.get("image_based" if name == "vas" else name, [])]
    values = dict(text.split("=", 1) for text in settings)
    path = Path(values[setting].removeprefix("local-dir:"))

    def key(folder: str, change: bytes = b"") -> str:
        copy = tmp_path / folder / path.name
        if folder != "nowhere":
            copy.parent.mkdir()
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, copy)
            content = max(
                (f for f in [copy, *copy.rglob("*")] if f.is_file()), key=lambda f: f.stat().st_size
            )
            content.write_bytes(content.read_bytes() + change)
        moved = values | {setting: values[setting].replace(str(path), str(copy))}
        return make(name, *(f"{of}={value}" for of, value in moved.items())).key()

    assert key("one") == key("two") != key("changed", b" \n")
    with pytest.raises(UserError, match=f"nowhere/{path.name}"):
        key("nowhere")


def header(name: str, conf: Path = CONF, group: str = "filter") -> str:
    """The comment at the top of a config, as one line."""
    lines = (conf / group / f"{name}.yaml").read_text().splitlines()
    return " ".join(line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))


@pytest.mark.parametrize(("group", "name"), [*(("filter", name) for name in NAMES), ("ocr", "rapidocr")])
def test_header_has_source_cost_and_command(group: str, name: str) -> None:
    check_header(group, name)


def check_header(group: str, name: str, conf: Path = CONF) -> None:
    text = header(name, conf, group)
    assert re.search(rf"python -m benchmark .*\b{group}={name}\b", text)
    if name in COMBINATORS:
        return
    source = r"[A-Z]\w+( et al\.| and [A-Z]\w+) (19|20)\d\d|\b[Nn]o paper\b"
    assert re.search(source, text), f"{name}: authors and year of the paper, or 'no paper'"
    assert re.search(r"Cost: .*?\d (pairs|captions|images)/s|Cost: .*?\d GPU-hours", text)
    if group != "filter":
        return
    bibliography = (CONF.parent / "docs" / "citations.bib").read_text()
    for author, year in re.findall(r"([A-Z][a-z]+) (?:et al\.|and [A-Z]\w+) ((?:19|20)\d\d)", text):
        assert re.search(rf"^@\w+\{{{author.lower()}{year}", bibliography, re.MULTILINE), f"{author} {year}"
    for preprint in re.findall(r"arXiv (\d{4}\.\d{5})", text):
        assert preprint in bibliography


@pytest.mark.parametrize(
    ("name", "parts"),
    [("cascade", ("first", "last")), *((name, ("a", "b")) for name in sorted(COMBINATORS - {"cascade"}))],
)
def test_other_filters_take_the_places_of_a_composites_parts(name: str, parts: tuple[str, str]) -> None:
    made = make_filter(composed(f"filter={name}", *(f"filter@filter.filters.{of}=no_filter" for of in parts)))
    assert isinstance(made, Composite)
    assert [type(made.filters[of]) for of in parts] == [NoFilter] * 2


def refers_to_clip(name: str) -> bool:
    return bool(re.search(r"models\.(clip|pacscore)\b", (CONF / "filter" / f"{name}.yaml").read_text()))


@pytest.mark.parametrize("name", [of for of in FILTERS if refers_to_clip(str(of.values[0]))])
def test_the_precision_of_clip_is_part_of_the_key(
    name: str, checkpoints: list[str], given: dict[str, list[str]]
) -> None:
    cfg = config(name, *checkpoints, *given.get(name, []))
    keys = [built(name, *checkpoints, *given.get(name, [])).key()]
    for precision in ("fp32", "bf16"):
        OmegaConf.update(cfg, "models.clip.precision", precision)
        keys.append(make_filter(cfg).key())
    assert keys[0] == keys[1] != keys[2]


def test_the_oracle_ranks_by_grade_then_concreteness() -> None:
    columns = {"grade": np.array([3, 0, 3]), "concreteness": np.array([0.5, 0.9, 0.6], np.float32)}
    scores = built("oracle").score(Batch(numbered_uids(3), [""] * 3, columns=columns))
    assert scores.argsort().tolist() == [1, 0, 2]


@pytest.mark.parametrize("name", FILTERS)
def test_filter_names_the_extra_that_it_needs_when_made(
    name: str, checkpoints: list[str], given: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = [*checkpoints, *given.get(name, []), *["filter.mode=direct"] * (name in DIRECT)]
    for extra in named_extras(name):
        with monkeypatch.context() as hidden:
            hide_extra(extra, hidden)
            with pytest.raises(InstantiationException, match=re.escape(install_command(extra))):
                make(name, *overrides)
    needed = {module for extra in named_extras(name) for module in EXTRAS[extra].modules}
    for module in {module for extra in EXTRAS.values() for module in extra.modules} - needed:
        monkeypatch.setitem(sys.modules, module, None)
    make(name, *overrides)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: TextRemovedClip("m", None, PlantedText({}), area="every"),
            "area=every must be detected or all or co",
        ),
        (
            lambda: TextRemovedClip("m", None, PlantedText({}), fill="inpant"),
            "fill=inpant must be surround or inpaint",
        ),
        (lambda: rsc("m", None, PlantedText({}), "lines", False), "rsc: area=lines must be words or co"),
        (lambda: LlmRating("m", n=4), "n=4 must be 3 or 5 or 10"),
        (lambda: NegClipLoss("m", None, 0, 1, 0.01), "loss_batch=0 must be a positive integer"),
        (lambda: NegClipLoss("m", None, 1, 0, 0.01), "partitions=0 must be a positive integer"),
        (lambda: NegClipLoss("m", None, 1, 1, 0.001), "temperature=0.001 must be at least"),
        (lambda: NormSim("m", None, 3, None, 1), "must be 2 or inf"),
        (lambda: NormSim("m", None, math.inf, None, 1), r"needs filter\.target"),
        (lambda: NormSim("m", None, 2, None, 0), "steps=0 must be a positive integer"),
        (lambda: ClipStroop("m", None, []), r"filter\.prompts must be sentences, each with one slot"),
        (lambda: ClipStroop("m", None, ["no slot"]), "each with one slot"),
        (lambda: ClipStroop("m", None, ["[*] and [*]"]), "each with one slot"),
        (lambda: ClipStroop("m", None, ["I see [*]", " [*] "]), "each with one slot"),
        (lambda: Aesthetics("m", None, None), r"needs filter.head=FILE; get sac\+logos"),
        (lambda: Lexicon(None), r"needs filter\.ratings=FILE"),
        (lambda: Cotr(PlantedText({}), "fuzy"), "Cotr: match=fuzy must be exact or fuzzy"),
        (lambda: DistilledScorer("m", "int4"), "precision=int4 must be auto, fp32 or bf16"),
        (lambda: ClusterLabels(ClipFeatures("m"), "caption", 3, 0), "of=caption must be image or text"),
        (lambda: ClusterLabels(ClipFeatures("m"), "image", 0, 0), "clusters=0 must be an integer from 1 to"),
        (lambda: icc("distiled", None, "auto", None, {}), "icc: mode=distiled must be distilled or direct"),
    ],
)
def test_constructors_refuse_values_outside_their_types(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()
