"""An evaluation set that cannot be fetched is an error with its reason, whatever went wrong, and leaves no file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.core import storage
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from downstream.evaluation.tars import local_file
from tests.servers import Behaviour, http_server


@pytest.fixture
def behaviour(monkeypatch: pytest.MonkeyPatch) -> Behaviour:
    monkeypatch.setattr(storage, "FIRST_WAIT", 0.01)
    return Behaviour()


@pytest.fixture
def url(tmp_path: Path, behaviour: Behaviour) -> Iterator[str]:
    (tmp_path / "0.tar").write_bytes(bytes(range(256)) * 400)
    with http_server(tmp_path, behaviour) as server:
        yield f"{server}/0.tar"


def assert_refused(url: str, reason: str) -> None:
    with pytest.raises(
        UserError, match=rf"^evaluation set coco: .* cannot be fetched \(.*{reason}.*; "
    ) as error:
        local_file("coco", url)
    assert "\n" not in str(error.value)
    assert not list(cache_dir().rglob("*.tar"))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:9/0.tar", "the connection was refused"),
        ("hf://datasets/some/set/0.tar", "offline mode is enabled"),
        ("memory://nowhere/0.tar", "there is no such file"),
        ("nosuch://set/0.tar", "Protocol not known"),
        ("http://[set/0.tar", "not a URL"),
        ("/nowhere/0.tar", "no such file"),
    ],
)
@pytest.mark.usefixtures("behaviour")
def test_a_place_that_has_no_such_file_is_one_line(url: str, reason: str) -> None:
    assert_refused(url, reason)


@pytest.mark.parametrize(
    ("status", "reason"), [(403, "access is denied"), (404, "there is no such file"), (500, "answered 500")]
)
def test_an_answer_without_the_file_is_one_line(
    url: str, behaviour: Behaviour, status: int, reason: str
) -> None:
    behaviour.status = status
    assert_refused(url, reason)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_stops_in_its_middle_is_fetched_again(
    url: str, behaviour: Behaviour, ranges: bool, tmp_path: Path
) -> None:
    behaviour.ranges, behaviour.drops = ranges, 100
    assert_refused(url, "5 attempts")
    behaviour.drops = len(behaviour.gets) + 2
    assert local_file("coco", url).read_bytes() == (tmp_path / "0.tar").read_bytes()
