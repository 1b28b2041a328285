"""Every test has a cache folder of its own, one thread and no network; workers share what is built once."""

import atexit
import gc
import itertools
import logging
import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.logging import catching_logs
from filelock import FileLock

from tests.ci_rules import (
    fail_if_not_installed,
    lacks_pairsift,
    limit_of_processor_time,
    skip_without_pairsift,
    time_imports,
)
from tests.command_line import Done, Run, run_main
from tests.compositions import remember_compositions
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
    if "open_clip" in sys.modules:
        _read_vocabulary_once(sys.modules["open_clip"].SimpleTokenizer)
    gc.enable()
    gc.freeze()
    gc.set_threshold(100_000, 50)  # a composition makes ten thousand objects: a twentieth of the time


def _read_vocabulary_once(tokenizer: Any) -> None:
    """A tokenizer of CLIP reads and sorts fifty thousand words, in a tenth of a second; tests make a hundred."""
    make, made = tokenizer.__init__, dict[str, dict[str, Any]]()

    def init(self: Any, *given: Any, **options: Any) -> None:
        key = repr((given, options))
        if key not in made:
            make(self, *given, **options)
            made[key] = vars(self)
        vars(self).update(made[key])

    tokenizer.__init__ = init


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


@pytest.fixture(scope="session", autouse=True)
def _catch_logs_fast() -> Iterator[None]:
    """For each test pytest searches two thousand loggers six times for those that do not propagate.

    Here it searches again only if a library has made further loggers.
    """
    loggers, not_propagating = logging.Logger.manager.loggerDict, list[logging.Logger]()
    attach, known = catching_logs.__enter__, 0

    def attached(self: Any) -> Any:
        nonlocal known
        if len(loggers) != known:
            known = len(loggers)
            not_propagating[:] = [
                of for of in loggers.values() if isinstance(of, logging.Logger) and not of.propagate
            ]
        if self.level is not None:
            return attach(self)
        self.attached_loggers += [logging.getLogger(), *not_propagating]
        for logger in self.attached_loggers:
            logger.addHandler(self.handler)
        return self.handler

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catching_logs, "__enter__", attached)
        yield


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
def compositions_remembered() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        remember_compositions(patch)
        yield patch


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
