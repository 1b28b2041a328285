"""Training all scale models: only outdated models are trained, and a killed run continues."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tools.scale_models import up_to_date
from tools.scale_models.__main__ import train_one
from tools.scale_models.export import MODELS
from tools.scale_models.loop import Recipe
from tools.scale_models.model_card import read_cards
from tools.scale_models.registry import SCRIPTS, Script

STRENGTH = 1  # a constant of the module that trains, like those of the real ones
RECIPE = Recipe(steps=1, batch=1, lr=1.0)


@dataclass(frozen=True)
class First:
    size: int = 3
    recipe: Recipe = RECIPE


@dataclass(frozen=True)
class Second:
    first: Path = MODELS / "swin"
    recipe: Recipe = field(default=RECIPE)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that trains two tiny models, of which the second starts from the first, in `tmp_path`."""
    trained: list[str] = []

    def train_first(folder: Path, config: Any, device: torch.device) -> None:
        trained.append("swin")
        (folder / "weights").write_text("a" * config.size)

    def train_second(folder: Path, config: Any, device: torch.device) -> None:
        trained.append("vit")
        assert config.first.parent == tmp_path
        (folder / "weights").write_text((config.first / "weights").read_text() + "b")

    def run(config: Any = First(), until: str = "vit", world: str = "") -> list[str]:
        trained.clear()
        scripts = {
            "swin": Script("", "", config, train_first, lambda *_: {}, lambda: world),
            "vit": Script("", "", Second(), train_second, lambda *_: {}, lambda: ""),
        }
        for name, script in scripts.items():
            train_one(name, script, tmp_path, "cpu", torch.get_num_threads(), outdated_only=True)
            if name == until:
                break
        return list(trained)

    return run


def test_models_are_trained_once_and_a_stopped_run_continues(run: Any, tmp_path: Path) -> None:
    assert run(until="swin") == ["swin"]
    (tmp_path / ".vit.killed").mkdir()
    assert run() == ["vit"]
    assert run() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "cards.json", "swin", "vit"]
    assert set(read_cards(tmp_path)) == {"swin", "vit"}


def test_changes_train_a_model_and_what_starts_from_it(run: Any, tmp_path: Path) -> None:
    run()
    assert run(First(size=4)) == ["swin", "vit"]
    (tmp_path / "swin" / "weights").write_text("other")
    assert run(First(size=4)) == ["swin"]  # which gives the same bytes as before
    (tmp_path / "vit" / "weights").unlink()
    assert run(First(size=4)) == ["vit"]
    assert run(replace(First(size=4), recipe=replace(RECIPE, lr=2.0))) == ["swin"]


def test_constants_and_the_world_are_inputs(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setitem(globals(), "STRENGTH", 2)
    assert run() == ["swin", "vit"]
    assert run(world="another") == ["swin"]  # which gives the same bytes as before


def test_every_model_comes_after_its_starting_models(monkeypatch: pytest.MonkeyPatch) -> None:
    order = list(SCRIPTS)
    starts = {name: up_to_date.starting_models(script.config).values() for name, script in SCRIPTS.items()}
    assert starts["pacscore"]
    for name, folders in starts.items():
        for folder in folders:
            assert order.index(folder.relative_to(MODELS).parts[0]) < order.index(name)
    monkeypatch.setattr(up_to_date, "content", str)
    assert len({up_to_date.fingerprint(script, script.config) for script in SCRIPTS.values()}) == len(SCRIPTS)
