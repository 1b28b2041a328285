import io
import itertools
import tarfile
from collections import Counter
from dataclasses import replace

import pytest
from PIL import Image

from benchmark.core.images import IMAGE_EXTENSIONS
from benchmark.core.uids import decode_uids
from benchmark.pool.tar_index import index_tar, load_index, save_index
from benchmark.pool.tar_reader import read_images
from tests.pools import Row, jpeg, rows, write_tar


def read(path, columns=None):
    index = index_tar(path, columns or {})
    drops = Counter(index.drops)
    batches = list(read_images(path, index, 4, drops))
    return [uid for batch in batches for uid in decode_uids(batch.uids)], drops


def test_the_index_finds_all_members_of_a_sample(tmp_path) -> None:
    (sample,) = rows(1)
    sample.files = sample.members() | {"seg.cls": b"1", "\udcff": b"not UTF-8", "": b"no extension", "é": b""}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.GNU_FORMAT) as tar:
        for extension, content in sample.files.items():
            member = tarfile.TarInfo(f"{sample.key}.{extension}" if extension else sample.key)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    index = replace(index_tar(tmp_path / "a.tar", {}), drops=Counter(image_missing=1))
    save_index(tmp_path / "a.arrow", index)
    loaded = load_index(tmp_path / "a.arrow")
    assert loaded.drops == {"image_missing": 1}
    (members,) = loaded.members
    data = (tmp_path / "a.tar").read_bytes()
    assert {extension: data[offset : offset + size] for extension, offset, size in members} == sample.files


def broken(key: str, **files: bytes) -> Row:
    return Row(key, "", "", b"", files=files)


def dotted(key: str, number: int = 0) -> Row:
    return broken(key, jpg=jpeg(number), txt=f"caption {number}".encode())


def test_every_unusable_sample_is_counted_under_its_reason(tmp_path) -> None:
    good, image = rows(2), jpeg(0)
    bomb = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(bomb, "PNG")
    bad: dict[str, list[dict[str, bytes]]] = {
        "caption_invalid_utf8": [
            {"jpg": image, "txt": b"\xff\xfe caption"},
            {"jpg": image, "json": b'{"caption": "lone \\ud800 surrogate"}'},
        ],
        "caption_empty": [{"jpg": image, "txt": b"  \n"}, {"jpg": image, "txt": b"\xef\xbb\xbf"}],
        "caption_missing": [{"jpg": image}],
        "caption_too_long": [{"jpg": image, "txt": b"x" * 1_000_001}],
        "image_missing": [{"txt": b"no image"}],
        "image_unreadable": [
            {"jpg": image[:300], "txt": b"truncated"},
            {"jpg": b"<html>404</html>", "txt": b"not an image"},
            {"jpg": b"", "txt": b"empty image"},
        ],
        "image_too_large": [{"png": bomb.getvalue(), "txt": b"a hundred megapixels"}],
        "metadata_invalid": [{"jpg": image, "txt": b"bad json", "json": b"{"}],
        "uid_invalid": [{"jpg": image, "txt": b"bad uid", "json": b'{"uid": "12"}'}],
    }
    every = enumerate(files for of_reason in bad.values() for files in of_reason)
    write_tar(tmp_path / "a.tar", [good[0], *(broken(f"b{n}", **files) for n, files in every), good[1]])
    found, drops = read(tmp_path / "a.tar")
    assert found == [s.uid for s in good]
    assert drops == {reason: len(of_reason) for reason, of_reason in bad.items()}


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "shard_empty"), (b"not a tar at all" * 100, "shard_corrupt")]
)
def test_files_that_are_not_tars_are_counted(tmp_path, content: bytes, reason: str) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    assert read(tmp_path / "a.tar") == ([], Counter({reason: 1}))


HIDDEN = [broken("._0", jpg=b"\0\5", txt=b"\0\5"), broken(".DS_Store")]
# Samples, the captions of those that count with the numbers of their images, and drops.
KEYS: dict[str, tuple[list[Row], dict[str, int], dict[str, int]]] = {
    "dots in names": ([dotted(f"photo.{n:05d}", n) for n in range(20)], {}, {"key_with_dot": 20}),
    "dots in names in a folder": ([dotted(f"folder/a.{n}", n) for n in range(9)], {}, {"key_with_dot": 9}),
    "dots in the names of folders": ([*HIDDEN, dotted("v1.2/0", 3)], {"caption 3": 3}, {}),
    "a dotted sample and its key": (
        [dotted("photo", 0), dotted("photo.1", 1), broken("photo", **{"seg.png": b"mask"})],
        {"caption 0": 0},
        {"key_with_dot": 1},
    ),
    "an image apart from its key": (
        [broken("0", jpg=jpeg(0), txt=b"dog"), dotted("1", 2), broken("0", png=jpeg(1), txt=b"cat")],
        {"dog": 0, "caption 2": 2, "cat": 1},
        {},
    ),
    "hidden files between images": (
        [broken("0", png=jpeg(0)), *HIDDEN, dotted("0", 1)],
        {"caption 1": 1},
        {},
    ),
    "a byte order mark": ([broken("0", jpg=jpeg(0), txt=b"\xef\xbb\xbfdog")], {"dog": 0}, {}),
}


def shown(path, columns=None) -> dict[str, bytes]:
    """The image of each caption in an index."""
    index, data = index_tar(path, columns or {}), path.read_bytes()
    places = zip(index.offsets, index.sizes, strict=True)
    return dict(zip(index.texts, [data[offset : offset + size] for offset, size in places], strict=True))


@pytest.mark.parametrize("name", KEYS)
def test_files_of_one_key_are_a_sample(tmp_path, name: str) -> None:
    samples, images, drops = KEYS[name]
    write_tar(tmp_path / "a.tar", samples)
    assert shown(tmp_path / "a.tar") == {text: jpeg(number) for text, number in images.items()}
    assert index_tar(tmp_path / "a.tar", {}).drops == drops


@pytest.mark.parametrize("order", itertools.permutations(["jpg", "png", "txt"]))
def test_of_several_images_of_a_key_one_counts(tmp_path, order: tuple[str, ...]) -> None:
    files = {kind: jpeg(number) for number, kind in enumerate(IMAGE_EXTENSIONS)} | {"txt": b"a dog"}
    write_tar(tmp_path / "a.tar", [broken(f"{n}", **{kind: files[kind] for kind in order}) for n in range(3)])
    index, data = index_tar(tmp_path / "a.tar", {}), (tmp_path / "a.tar").read_bytes()
    assert (len(index), index.drops) == (3, {})
    assert shown(tmp_path / "a.tar") == {"a dog": files["jpg"]}
    for members, extents in zip(index.members, index.extents, strict=True):
        read_back = {kind: data[start : start + length] for kind, start, length in members}
        assert read_back == {kind: files[kind] for kind in ("jpg", "txt")}
        assert len(extents) == 2
    named = broken("0", jpg=jpeg(0), img=jpeg(1), txt=b"alt text", cap=b"a dog")
    write_tar(tmp_path / "a.tar", [named])
    assert shown(tmp_path / "a.tar", {"image": "img", "text": "cap"}) == {"a dog": jpeg(1)}
