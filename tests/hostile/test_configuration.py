"""Settings under attack: each is refused by its name in one line, before anything runs or expands."""

import re

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.run.config import CONF, register_resolvers
from tests.benchmark.cli.test_wrong_commands import check_with
from tests.command_line import Run, assert_one_line

# What is typed, and the line that answers it; most take minutes, or all of the memory, where they are parsed.
NOT_PARSED = [
    (["+filter." + ".".join("a" * 200) + "=1"], "error: File name too long: "),
    (["filter.checkpoint=/" + "x" * 300], "error: File name too long: /xxx"),
    (["size=nan"], "size=nan must be a whole number of pairs above 0"),
    (["size=-inf"], "size=-inf must be a whole number of pairs above 0"),
    (["size=1e400"], "size=1e400 must be a whole number of pairs above 0"),
    (["filter=nan"], "filter=nan is unknown"),
]
NAME = "must be a name of at most 60 characters without slashes, not beginning with a dot"
NOT_RIGHT = [
    ("pool.name=../..", f"pool.name=../.. {NAME}"),
    ("pool.name=''", f"pool.name= {NAME}"),
    ("evalset.coco.name=a/b", f"evalset.coco.name=a/b {NAME}"),
    ("task.name=../..", f"task.name=../.. {NAME}"),
    ("+filter._args_=[1]", "there is no setting 'filter._args_'"),
    ("downstream.captioner.training.workers=1000000", "workers=1000000 must be an integer from 0 to 1,024"),
    ("engine.workers=1000000", "engine.workers=1000000 must be an integer from 1 to 1,024, or null"),
    ("+filter.bogus=1", "there is no setting 'filter.bogus'"),
]
CIRCLES = [
    ("seed=${seed}", "seed: Recursive interpolation detected"),
    ("results_dir=a${results_dir}", "results_dir: Recursive interpolation detected"),
]


@pytest.fixture(scope="module")
def default() -> DictConfig:
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", [])


@pytest.mark.parametrize(("typed", "line"), NOT_PARSED, ids=[line[:40] for _, line in NOT_PARSED])
def test_what_would_take_for_ever_is_not_parsed(run: Run, typed: list[str], line: str) -> None:
    done = run(*typed)
    assert_one_line(done, line)
    assert len(done.stderr) < 1_000


@pytest.mark.parametrize(("typed", "line"), NOT_RIGHT)
def test_a_hostile_value_is_refused_by_its_name(default: DictConfig, typed: str, line: str) -> None:
    with pytest.raises(UserError, match=re.escape(line)):
        check_with(default, typed)


def test_a_folder_that_cannot_be_made_is_refused(run: Run) -> None:
    assert_one_line(
        run("hydra.run.dir=/proc/x"), "hydra.run.dir=/proc/x cannot be made (No such file or directory)"
    )


@pytest.mark.parametrize(("typed", "line"), CIRCLES)
def test_a_setting_that_refers_to_itself_is_named(default: DictConfig, typed: str, line: str) -> None:
    with pytest.raises(UserError, match=f"^{line}$"):
        check_with(default, typed)
