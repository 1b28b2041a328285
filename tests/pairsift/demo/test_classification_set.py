"""The demo's classification set: reproducible images of the kinds that name its classes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.core.requirements import provide
from pairsift.demo import classification_set
from pairsift.demo.classification_set import ClassesConfig, demo_classes, ensure_classes
from pairsift.demo.vocabulary import IN_KINDS
from tools.demo_world.scenes import single_thing

CONFIG = ClassesConfig(train=2, test=1, image_size=32, jpeg_quality=88)


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.jpg")}


def test_images_are_written_once(cache: Path, monkeypatch, tmp_path: Path) -> None:
    root = ensure_classes(CONFIG)
    assert root.parent == cache / "pairsift" / "demo"
    first = contents(root)
    assert len(first) == len(set(first.values())) == 3 * len(IN_KINDS)
    (root / "test" / "ball" / "mark").touch()
    assert (ensure_classes(CONFIG) / "test" / "ball" / "mark").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert contents(ensure_classes(CONFIG)) == first
    assert contents(ensure_classes(replace(CONFIG, train=3))).items() > first.items()


def test_runs_at_once_draw_the_classes_once(monkeypatch) -> None:
    drawn, draw = [], classification_set.draw_picture
    monkeypatch.setattr(classification_set, "draw_picture", lambda *of: drawn.append(of) or draw(*of))
    config = replace(CONFIG, train=1, image_size=32)
    with ThreadPoolExecutor() as threads:
        assert len(set(threads.map(ensure_classes, [config] * 3))) == 1
    assert len(drawn) == 2 * len(IN_KINDS)


def test_it_loads_as_a_classification_set() -> None:
    dataset = provide(lambda: demo_classes("classes", "accuracy", ["a {label}"], 5, CONFIG))
    assert sorted(dataset.classes) == sorted(IN_KINDS)
    assert dataset.train is not None
    assert (len(dataset.test), len(dataset.train())) == (len(IN_KINDS), 2 * len(IN_KINDS))
    assert dataset.test[0].load().size == (32, 32)


def test_a_scene_has_one_thing_of_the_kind() -> None:
    for kind in IN_KINDS:
        for seed in range(5):
            (thing,) = single_thing(np.random.default_rng(seed), kind).things
            assert (thing.kind, thing.count) == (kind, 1)
            assert thing.radius > 0.1
