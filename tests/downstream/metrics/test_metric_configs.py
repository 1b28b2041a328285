"""A walk over conf/metrics: every metric composes by itself, keeps the contract, and is in the default list."""

from functools import cache
from pathlib import Path

import hydra
import pytest
import yaml
from hydra.errors import MissingConfigException
from omegaconf import DictConfig

from benchmark.core.records import read_records
from benchmark.results.result import Result
from benchmark.run.config import CONF, explain
from downstream.metrics import base
from downstream.metrics.base import CaptionMetric
from downstream.metrics.metric import Corpus
from downstream.metrics.suite import score_domains
from downstream.metrics.tokenizer import tokenize_corpus
from tests.jobs import compose_config as composed

FOLDER = CONF / "metrics"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != "default")
ONCE = ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE_L", "CIDEr", "SPICE", "SPICE-1", "Diversity"]
ONCE += ["Unique-1", "Unique-2", "Unique-4", "BERTScore", "Polos", "PAC-S", "RefPAC-S"]
CAPTIONS = {1: "a dog runs", 2: "two cats", 3: "a dog runs"}
CORPORA: dict[str, Corpus] = {}


def made(cfg: DictConfig) -> list[CaptionMetric]:
    return [hydra.utils.instantiate(node, _convert_="all") for node in cfg.metrics.values()]


def test_the_default_is_every_metric_in_the_tables_order() -> None:
    listed = yaml.safe_load((FOLDER / "default.yaml").read_text())["defaults"]
    assert sorted(listed) == NAMES
    assert [name for metric in made(composed()) for name in metric.names] == ONCE


def test_committed_results_have_the_units_of_the_code() -> None:
    kinds = {
        (name, metric.unit_of(name), metric.higher_is_better, name in metric.details)
        for metric in made(composed())
        for name in (*metric.names, *metric.details)
    }
    assert {unit for _, unit, *_ in kinds} == {"fraction", "score", "n-grams"}
    runs = read_records(CONF.parent / "results" / "reference", Result)
    sets = [metrics for run in runs for metrics in run.downstream["captioner"].evaluations.values()]
    assert {(m.name, m.unit, m.higher_is_better, m.detail) for metrics in sets for m in metrics} == kinds


@cache
def tokens_of(corpus: str) -> Corpus:
    return tokenize_corpus(CORPORA[corpus])


def tokenize_once(corpus: Corpus) -> Corpus:
    CORPORA[repr(corpus)] = corpus
    return tokens_of(repr(corpus))


@pytest.fixture
def _tokens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java tokenises equal captions once for all metrics."""
    monkeypatch.setattr(base, "tokenize_corpus", tokenize_once)


@pytest.mark.usefixtures("_tokens_once")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full) if name == "meteor" else name for name in NAMES]
)
def test_a_metric_keeps_the_contract(name: str) -> None:
    package, header = (FOLDER / f"{name}.yaml").read_text().splitlines()[:2]
    assert package == f"# @package metrics.{name}"
    assert header.startswith("# ")
    (metric,) = made(composed(f"metrics={name}"))
    assert isinstance(metric, CaptionMetric)
    references = {image: ["a dog"] for image in CAPTIONS}
    domains = {"all": [1, 2, 3], "one": [2], "none": []}
    scored = score_domains(CAPTIONS, references, domains, [metric])
    for domain, results in scored.items():
        assert tuple(result.name for result in results) == metric.names
        assert {result.count for result in results} == {len(domains[domain])}
        assert not any("\n" in (result.reason or "") for result in results)
        assert {result.version for result in results} == {metric.version()}
    assert {result.reason for result in scored["none"]} == {"there are no images to score"}
    turned = {domain: list(reversed(images)) for domain, images in domains.items()}
    again = score_domains(dict(reversed(CAPTIONS.items())), references, turned, [metric])["all"]
    assert [result.value for result in again] == pytest.approx([result.value for result in scored["all"]])


def test_a_command_chooses_its_metrics() -> None:
    assert list(composed("metrics=[cider,bleu]").metrics) == ["cider", "bleu"]
    assert "spice" not in composed("~metrics.spice").metrics
    assert made(composed("metrics=spice", "metrics.spice.best_reference=false"))[0].names == ("SPICE",)


def test_a_misspelt_metric_is_one_line() -> None:
    with pytest.raises(MissingConfigException) as error:
        composed("metrics=[bleu,cidr]")
    assert explain(error.value).startswith("metrics=cidr is unknown; did you mean 'cider'?")


def test_settings_of_models_reach_their_metrics(tmp_path: Path) -> None:
    overrides = [f"+models.bertscore.baseline_path={tmp_path}", f"+models.polos.encoder={tmp_path}"]
    cfg = composed("metrics=[bertscore,polos]", *overrides)
    assert cfg.metrics.bertscore.baseline_path == cfg.metrics.polos.encoder == str(tmp_path)
