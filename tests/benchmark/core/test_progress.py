import itertools
import logging
import re
import tomllib
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from benchmark.core import progress
from benchmark.core.progress import log_to_file

ROOT = Path(__file__).resolve().parents[3]


def test_a_log_file_has_date_and_time_in_each_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("benchmark.some")
    log.setLevel(logging.INFO)
    for line in ("first", "second"):
        with log_to_file(tmp_path / "job.log"):
            log.info(line)
    log.info("outside")
    lines = (tmp_path / "job.log").read_text().splitlines()
    assert [re.sub(r"\d", "0", line) for line in lines] == [
        "0000-00-00 00:00:00 first", "0000-00-00 00:00:00 second",
    ]  # fmt: skip
    assert caplog.messages == ["first", "second", "outside"]


def test_every_package_of_the_wheel_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    packages = set(wheel["only-include"]) - {"conf", "docs"}
    for package in packages:
        monkeypatch.setattr(logging.getLogger(package), "level", logging.WARNING)
    progress.configure_logging()
    assert {logging.getLogger(package).level for package in packages} == {logging.INFO}


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text", "status"),
    [
        (1000, 4000, 100.0, "", "25%, 0:05:00 left (1,000 of 4,000 images, 10 images/s)"),
        (1, 3, 60.0, "9 pairs/s", "33%, 0:02:00 left (1 of 3 images, 9 pairs/s)"),  # slow: 0.02 images/s
        (399, 400, 133.0, "loss 0.5", "99%, 0:00:00 left (399 of 400 images, 3 images/s, loss 0.5)"),
        (400, 400, 50.0, "", "100%, 0:00:00 left (400 of 400 images, 8 images/s)"),
        (0, 400, 50.0, "", "0 of 400 images"),
        (0, 0, 50.0, "CoreNLP, 12 MB", "CoreNLP, 12 MB"),  # of unknown size
        (5, 4, 50.0, "", "5 of 4 images"),  # more came than was expected
    ],
)
def test_a_status_has_per_cent_and_time_left(
    done: int, total: int, seconds: float, text: str, status: str
) -> None:
    assert progress._status(done, total, "images", seconds, text) == status


def test_the_log_gets_a_line_at_most_every_ten_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 4.0, 8.0, 12.0, 16.0, 21.0, 24.0, 34.0])  # at the start, and after each item
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    with caplog.at_level(logging.INFO):
        assert list(progress.tracked("index", "abcdefg", 10, "shards")) == list("abcdefg")
    assert caplog.messages == [
        "index: 30%, 0:00:28 left (3 of 10 shards)",
        "index: 60%, 0:00:16 left (6 of 10 shards)",
        "index: 70%, 0:00:15 left (7 of 10 shards)",
    ]


def test_a_terminal_shows_only_bars_of_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=StringIO(), force_terminal=True, force_interactive=True, width=60, _environ={})
    monkeypatch.setattr(progress, "_console", lambda: screen)
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)

    def count(seconds: float) -> str:
        clock = itertools.count(step=seconds / 4)  # at the start, and after each item
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
        assert list(progress.tracked("a title that is long", range(4), 8, "images")) == [*range(4)]
        return str(cast(StringIO, screen.file).getvalue())

    assert count(1.9) == ""
    shown = count(4.0)
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).split("\n")
    assert lines[-2].endswith(
        "━━━━━╺━━━━ a title that is long: 50%, 0:00:04 left (4 of 8 "
    )  # 60 columns, cut
    assert shown.endswith("\x1b[2K")  # erased
