"""A walk over conf/task: a task is a config with a header and a function of the job."""

import inspect

import hydra
import pytest
import yaml

from benchmark.run.config import CONF
from benchmark.run.job import Job
from benchmark.run.output import Finished

NAMES = sorted(path.stem for path in (CONF / "task").glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_task_keeps_the_contract(name: str) -> None:
    text = (CONF / "task" / f"{name}.yaml").read_text()
    content = yaml.safe_load(text)
    task = content.get("task", content)
    assert task["name"] == name
    function = hydra.utils.get_method(task["_target_"])
    assert function.__module__.startswith((f"benchmark.run.{name}", "pairsift.studies."))
    signature = inspect.signature(function, eval_str=True)
    parameters = [parameter.annotation for parameter in signature.parameters.values()]
    assert parameters == [Job]
    assert signature.return_annotation in (None, Finished | None)
    assert inspect.getdoc(function), "the docstring says what the task does and prints"
    header = [line for line in text.splitlines() if line.startswith("# ") and "@package" not in line]
    commands = [line for line in header if line.startswith("#   python -m benchmark")]
    assert not header[0].startswith("#  "), "the first line says what the task does"
    assert commands
    assert name == "run" or any(f"task={name}" in command for command in commands)
    readme = (CONF.parent / "README.md").read_text()
    assert any(line.startswith("| `") and f"`{name}`" in line for line in readme.splitlines())


def test_a_task_file_holds_its_own_settings_alone() -> None:
    """What a task adds to `task` has the task's name, so that another task cannot mistake it for its own."""
    for name in NAMES:
        content = yaml.safe_load((CONF / "task" / f"{name}.yaml").read_text())
        if "task" in content:
            assert set(content) - {"defaults"} <= {"task", name}
