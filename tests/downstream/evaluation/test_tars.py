"""Evaluation sets in tars, as the hub has them, and reasons why a file cannot be fetched, which leave no file."""

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
import webdataset as wds
from PIL import Image

from benchmark.core import storage
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import State, look, provide
from downstream.evaluation.evaluation_sets import EvaluationSet, webdataset
from downstream.evaluation.tars import local_file
from tests.pools import Row, write_tar
from tests.servers import Behaviour, http_server


def encoded(red: int, kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (red, 0, 0)).save(buffer, kind, lossless=True)
    return buffer.getvalue()


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Three images in two tars."""
    folder = tmp_path / "wds" / "test"
    folder.mkdir(parents=True)
    with wds.ShardWriter(str(folder / "%d.tar"), maxcount=2, verbose=0) as sink:
        for i, (ending, kind) in enumerate((("jpg", "JPEG"), ("webp", "WEBP"), ("jpg", "JPEG"))):
            text = f"one of {i}\n\n two of {i}\n"
            sink.write({"__key__": f"s{i}", ending: encoded(80 * i, kind), "txt": text})
    (folder / "nshards.txt").write_text("2\n")
    return folder.parent


def loaded(url: Path | str) -> EvaluationSet:
    return webdataset("coco", str(url), captioning=True, retrieval=True)


def reds(found: EvaluationSet) -> list[int]:
    return [item.load().getpixel((4, 4))[0] for item in found.items]


def test_webdataset_of_the_hub(shards: Path) -> None:
    found = loaded(shards)
    assert [item.image_id for item in found.items] == ["s0", "s1", "s2"]
    assert [item.references for item in found.items] == [[f"one of {i}", f"two of {i}"] for i in range(3)]
    assert reds(found) == pytest.approx([0, 80, 160], abs=2)
    assert {item.image.path.name for item in found.items} == {"0.tar", "1.tar"}
    with wds.TarWriter(str(shards / "test" / "1.tar")) as sink:
        text = codecs.BOM_UTF8 + b"one of 2\ntwo of 2"
        sink.write({"__key__": "s2", "jpg": encoded(1, "JPEG"), "txt": text})
    (shards / "test" / "nshards.txt").write_bytes(codecs.BOM_UTF8 + b"2")
    assert [item.references for item in loaded(shards).items] == [item.references for item in found.items]


def one_sample(folder: Path, **files: bytes) -> EvaluationSet:
    """The set of a sample, with a hidden file of macOS."""
    hidden = Row("._0", "", "", b"", files={"jpg": b"\0\5", "txt": b"\0\5"})
    sample = Row(files.pop("key", b"0").decode(), "", "", b"", files=files)
    write_tar(folder / "test" / "0.tar", [hidden, sample])
    (folder / "test" / "nshards.txt").write_text("1")
    return loaded(folder)


@pytest.mark.parametrize("ending", ["JPG", "gif", "avif"])
def test_tars_of_evaluation_sets_take_what_pools_take(tmp_path: Path, ending: str) -> None:
    """The image is of another format than its name says."""
    (item,) = one_sample(tmp_path, **{ending: encoded(0, "GIF"), "txt": b"a dog"}).items
    assert (item.references, item.load().size) == (["a dog"], (8, 8))


def test_samples_that_are_not_whole_are_named(tmp_path: Path, shards: Path) -> None:
    """tests/hostile has more of them."""
    image, text = encoded(0, "JPEG"), b"a dog"
    for files, message in (
        ({"key": b"photo.1", "jpg": image, "txt": text}, r"sample photo in .* with one dot in each name"),
        ({"txt": text}, "sample 0 in .* must have one image"),
        ({"jpg": image, "JPG": image, "txt": text}, "sample 0 in .* must have one image"),
    ):
        with pytest.raises(UserError, match=message):
            one_sample(tmp_path / "one", **files)
    # Next to each other: the same image.
    (item,) = one_sample(tmp_path / "two", jpg=image, png=image, txt=text).items
    assert item.references == ["a dog"]
    (shards / "test" / "0.tar").write_bytes((shards / "test" / "1.tar").read_bytes())
    with pytest.raises(UserError, match="2 images have the id s2"):
        loaded(shards)


@pytest.mark.parametrize("count", ["", "two", "-1", "99999"])
def test_a_broken_shard_count_is_an_error(shards: Path, count: str) -> None:
    (shards / "test" / "nshards.txt").write_text(count)
    with pytest.raises(UserError, match="must hold the number of shards"):
        loaded(shards)


def test_a_remote_webdataset_is_looked_at_then_fetched_once(shards: Path) -> None:
    remote, url = fsspec.filesystem("memory"), "memory://sets"
    remote.put(str(shards), "/sets", recursive=True)
    absent = look("coco", lambda: loaded(url))
    size = sum(tar.stat().st_size for tar in shards.rglob("*.tar"))
    assert (absent.state, absent.size) == (State.FIRST_USE, size)
    assert not list(cache_dir().rglob("*.tar"))
    one = provide(lambda: loaded(url))
    remote.rm("/sets", recursive=True)
    assert provide(lambda: loaded(url)) == one
    assert reds(one) == pytest.approx([0, 80, 160], abs=2)
    assert look("coco", lambda: loaded(url)).state is State.PRESENT
    assert look("coco", lambda: loaded("memory://nowhere")).state is State.MISSING


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
        ("http://[set/0.tar", "must be a URL"),
        ("/nowhere/0.tar", "no such file"),
    ],
)
@pytest.mark.usefixtures("behaviour")
def test_a_place_that_has_no_such_file_is_one_line(url: str, reason: str) -> None:
    assert_refused(url, reason)


def test_an_answer_without_the_file_is_one_line(url: str, behaviour: Behaviour) -> None:
    for status, reason in ((403, "access is denied"), (404, "there is no such file"), (500, "answered 500")):
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
