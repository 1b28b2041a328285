"""What tests share is built once, also by several workers."""

from collections.abc import Callable
from pathlib import Path


def test_a_shared_folder_is_built_once(build_once: Callable[..., Path]) -> None:
    built: list[Path] = []
    folders = {build_once("of this test", built.append) for _ in range(3)}
    assert folders == set(built)
    assert len(built) == 1
    assert built[0].is_dir()
