from pathlib import Path

import pytest

from tests.filters.checkpoints import open_clip_model


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a small CLIP in a folder that tests only read."""
    folder: Path = tmp_path_factory.mktemp("clip")
    return open_clip_model(folder)
