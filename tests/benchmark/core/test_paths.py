import pytest

from benchmark.core.paths import CHECKOUT, portable_paths


def test_records_do_not_say_where_the_checkout_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert portable_paths(f"local-dir:{CHECKOUT}/conf/x") == "local-dir:conf/x"
    assert portable_paths("unzip x -d /home/someone/.cache/y") == "unzip x -d ~/.cache/y"
    assert portable_paths("/data/home/someone/x") == "/data/home/someone/x"
    assert portable_paths("/home/someoneelse/x") == "/home/someoneelse/x"


def test_a_home_that_is_the_root_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert portable_paths("/data/x") == "/data/x"
