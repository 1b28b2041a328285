import pytest
import yaml

from benchmark.results.report.leaderboard import FAMILIES, family_position
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

NAMES = sorted(path.stem for path in (CONF / "filter").glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_filter_names_a_known_family(name: str) -> None:
    text = (CONF / "filter" / f"{name}.yaml").read_text()
    assert yaml.safe_load(text)["family"] in FAMILIES


def test_unknown_families_come_before_the_oracle_only() -> None:
    order = sorted(["", "mine", *FAMILIES], key=family_position)
    assert order == [*FAMILIES[:-1], "", "mine", "planted"]
    assert family_position("upper_bound") == family_position("planted")  # in older records


def test_a_family_is_no_setting_of_a_filter_or_its_parts() -> None:
    cfg = configured("filter=cascade", "filter@filter.filters.last=random")
    assert cfg.filter.family == filter_family(cfg) == "composite"
    assert "family" not in str(resolved(filter_settings(cfg)))
    made = make_filter(cfg)
    assert isinstance(made, Cascade)
    cfg.filter.family = cfg.filter.filters.first.family = "mine"
    assert make_filter(cfg).key() == made.key()


def test_bounds_that_change_nothing_are_not_in_a_runs_settings() -> None:
    plain = {"_target_": "filters.complexity_action.ComplexityAction", "parser": "p"}
    without = ["++filter.minimum=null", "++filter.rank=true", "filter.parser=p"]
    assert resolved(filter_settings(configured("filter=complexity_action", *without))) == plain
    bounded = filter_settings(configured("filter=complexity_action", "filter.parser=p"))
    assert resolved(bounded) == plain | {"minimum": 1, "rank": False}
    measured = filter_settings(configured("filter=cotr", "++filter.minimum=0.5"))
    assert measured.minimum == 0.5
    assert "low_is_good" not in measured
    assert filter_bounds(configured("filter=cotr", "++filter.minimum=0.5")).highest == -0.5


def test_bounds_change_no_key_of_scores() -> None:
    keys = {make_filter(configured("filter=random", f"++filter.minimum={n}")).key() for n in (0.1, 0.2)}
    assert keys == {make_filter(configured("filter=random")).key()}
    union = ["filter=union", "filter@filter.filters.a=random", "filter@filter.filters.b=random"]
    bounded = [*union, "++filter.filters.a.minimum=0.1"]
    assert make_filter(configured(*union)).key() != make_filter(configured(*bounded)).key()
    assert [leaf.display_name for leaf in make_filter(configured(*bounded)).leaves()] == ["random", "random"]


def test_a_filter_without_a_family_can_be_made() -> None:
    cfg = configured("filter=random", "~filter.family")
    assert isinstance(make_filter(cfg), Random)
    assert filter_family(cfg) == ""
