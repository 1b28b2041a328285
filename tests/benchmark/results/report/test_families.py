import pytest
import yaml

from benchmark.results.report.leaderboard import FAMILIES, family_position
from benchmark.run.config import (
    CONF,
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


def test_a_filter_without_a_family_can_be_made() -> None:
    cfg = configured("filter=random", "~filter.family")
    assert isinstance(make_filter(cfg), Random)
    assert filter_family(cfg) == ""
