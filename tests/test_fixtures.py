"""What tests share is built once, also by several workers."""

from collections.abc import Callable
from pathlib import Path

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from benchmark.config import CONF


def test_a_shared_folder_is_built_once(build_once: Callable[..., Path]) -> None:
    built: list[Path] = []
    folders = {build_once("of this test", built.append) for _ in range(3)}
    assert folders == set(built)
    assert len(built) == 1
    assert built[0].is_dir()


def test_no_config_sets_the_mode_of_hydra() -> None:
    """`run_main` leaves out the composition that would find it."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        assert hydra.get_mode("config", []) is None
    assert [path for path in CONF.rglob("*.yaml") if "MULTIRUN" in path.read_text()] == []
