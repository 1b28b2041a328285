"""Every test has a cache folder of its own, one thread and no network; workers share what is built once."""

import atexit
import gc
import itertools
import multiprocessing
import os
import pickle
import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import OmegaConf

from tests.ci_rules import (
    fail_if_not_installed,
    lacks_pairsift,
    limit_of_processor_time,
    skip_without_pairsift,
    time_imports,
)
from tests.command_line import Done, Run, run_main
from tests.demos import SMALL_DEMO, draw, link

# Before torch is imported, and for the processes that tests start. `make perf` sets its own number of threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENCV_FOR_THREADS_NUM", os.environ["OMP_NUM_THREADS"])
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["WANDB_MODE"] = "offline"
gc.disable()  # until all is imported: a tenth of the time that collection takes

# The engine's processes come from one server; it imports torch once in place of each of them.
multiprocessing.set_forkserver_preload(["torch"])
BuildOnce = Callable[[str, Callable[[Path], object]], Path]


# Modules that take minutes: at the end of the order one of them would run alone.
LONGEST = (
    "test_launched", "test_real_data", "test_results_kept", "test_figures",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long modules first."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()
    gc.set_threshold(100_000, 50)  # a composition makes ten thousand objects: a twentieth of the time


# Else libraries take what is left for leaks. After pytest, which collects garbage twice at its end.
atexit.register(gc.unfreeze)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return skip_without_pairsift(fail_if_not_installed((yield)))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return skip_without_pairsift(fail_if_not_installed((yield)))


def pytest_sessionstart() -> None:
    time_imports()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    with limit_of_processor_time(item):
        return (yield)


FOLDERS = itertools.count()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """As pytest's own, which lists all earlier folders to number a new one: 8 seconds for 1,500 tests."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}-{next(FOLDERS)}", numbered=False)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp(f"cache-{next(FOLDERS)}", numbered=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def _compose_fast() -> Iterator[None]:
    """Hydra reads forty YAML files for each of a thousand compositions; a file that is as it was is parsed once.

    Nor does it make a map of all choices for each of these files, which costs a third of a composition: a default
    that named another choice by `${}` would need it, and would fail without.
    """
    Plugins.instance()  # its search makes the class of the sources anew
    source = SourcesRegistry.instance().types["file"]
    parse, parsed, nothing = source.load_config, {}, OmegaConf.create()

    def load_config(self: ConfigSource, config_path: str) -> ConfigResult:
        path = Path(self.path, self._normalize_file_name(config_path))
        if not path.is_file():
            return parse(self, config_path)
        key = (self.provider, path, path.stat().st_mtime_ns, path.stat().st_size)
        if key not in parsed:
            parsed[key] = pickle.dumps(parse(self, config_path))  # a third of the time of a deep copy
        return pickle.loads(parsed[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "load_config", load_config)
        patch.setattr("hydra._internal.defaults_list._create_interpolation_map", lambda *_: nothing)
        yield


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], cache: Path) -> Run:
    """The command line in this process: a process of its own would spend seconds on importing torch."""

    def call(*arguments: str) -> Done:
        done = Done(run_main(*arguments), *capfd.readouterr())
        if reason := lacks_pairsift(done.stdout + done.stderr):
            pytest.skip(reason)
        return done

    return call


@pytest.fixture(scope="session")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> BuildOnce:
    """Returns a folder by its name; the first worker that asks for it builds it, and all others read it."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def built(name: str, build: Callable[[Path], object]) -> Path:
        folder, finished = session / "built" / name, session / "built" / f"{name}.finished"
        folder.parent.mkdir(exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not finished.exists():
                folder.mkdir(exist_ok=True)  # a build may have skipped the test
                build(folder)
                finished.touch()
        return folder

    return built


@pytest.fixture
def small_demo(build_once: BuildOnce, cache: Path) -> list[str]:
    """The settings of a small demo, which is in this test's cache already."""
    link(build_once("demo", draw), cache)
    return SMALL_DEMO


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that is not part of the repository; tests that need it skip without it."""
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("PAIRSIFT_SHARED_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no shared data in {folder}; set PAIRSIFT_SHARED_DATA")
    return folder
