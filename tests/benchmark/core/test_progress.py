import logging
import re
from pathlib import Path

import pytest

from benchmark.core import progress
from benchmark.core.progress import log_to_file


def test_a_log_file_has_date_and_time_in_each_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("benchmark.some")
    log.setLevel(logging.INFO)
    with log_to_file(tmp_path / "job.log", alone=True):
        log.info("inside")
    with log_to_file(tmp_path / "job.log"):
        log.info("both")
    log.info("outside")
    lines = (tmp_path / "job.log").read_text().splitlines()
    assert [re.sub(r"\d", "0", line) for line in lines] == [
        "0000-00-00 00:00:00 inside", "0000-00-00 00:00:00 both",
    ]  # fmt: skip
    assert caplog.messages == ["both", "outside"]


def test_lines_of_a_bar_without_text_have_no_comma(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_SECONDS", 0.0)
    with caplog.at_level(logging.INFO), progress.progress("index", 3, "shards") as advance:
        advance(1, "")
        advance(1, "9 pairs/s")
    assert caplog.messages == ["index: 1 of 3 shards", "index: 2 of 3 shards, 9 pairs/s"]
