import yaml

from benchmark.results.report.leaderboard import FAMILIES
from benchmark.run.config import (
    CONF,
    filter_bounds,
    filter_family,
    filter_settings,
    make_filter,
    resolved,
)
from filters.composite import Cascade
from filters.random import Random
from tests.jobs import compose_config as configured


def test_every_filter_names_a_known_family() -> None:
    settings = {path.stem: yaml.safe_load(path.read_text()) for path in (CONF / "filter").glob("*.yaml")}
    assert [name for name, of in settings.items() if of["family"] not in FAMILIES] == []


def test_a_family_is_no_setting_of_a_filter_or_its_parts() -> None:
    cfg = configured("filter=cascade", "filter@filter.filters.last=random")
    assert cfg.filter.family == filter_family(cfg) == "composite"
    assert "family" not in str(resolved(filter_settings(cfg)))
    made = make_filter(cfg)
    assert isinstance(made, Cascade)
    cfg.filter.family = cfg.filter.filters.first.family = "mine"
    assert make_filter(cfg).key() == made.key()
    without = configured("filter=random", "~filter.family")
    assert isinstance(make_filter(without), Random)
    assert filter_family(without) == ""


def test_bounds_that_change_nothing_are_not_in_a_runs_settings() -> None:
    plain = {"_target_": "filters.complexity_action.ComplexityAction", "parser": "p"}
    usual = configured("filter=complexity_action", "filter.parser=p")
    assert resolved(filter_settings(usual)) == plain | {"minimum": 1, "rank": False}
    usual.filter.minimum, usual.filter.rank = None, True
    assert resolved(filter_settings(usual)) == plain


def test_bounds_change_no_key_of_scores() -> None:
    cfg = configured("filter=cotr", "++filter.minimum=0.5")
    assert filter_settings(cfg).minimum == 0.5
    assert "low_is_good" not in filter_settings(cfg)
    assert filter_bounds(cfg).highest == -0.5
    union = ["filter=union", "filter@filter.filters.a=random", "filter@filter.filters.b=random"]
    plain, bounded = (make_filter(configured(*union, *of)) for of in ([], ["++filter.filters.a.minimum=0.1"]))
    assert plain.key() != bounded.key()
    assert [leaf.display_name for leaf in bounded.leaves()] == ["random", "random"]
    assert [leaf.key() for leaf in bounded.leaves()] == [leaf.key() for leaf in plain.leaves()]
