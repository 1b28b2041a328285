"""Every test has a cache folder of its own and no network."""

import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["WANDB_MODE"] = "offline"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that is not part of the repository; tests that need it skip without it."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("PAIRSIFT_SHARED_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no shared data in {folder}; set PAIRSIFT_SHARED_DATA")
    return folder
