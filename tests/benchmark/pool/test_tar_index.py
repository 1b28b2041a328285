import io
import itertools
import tarfile
from collections import Counter

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
    save_index(tmp_path / "a.arrow", index_tar(tmp_path / "a.tar", {}))
    (members,) = load_index(tmp_path / "a.arrow").members
    data = (tmp_path / "a.tar").read_bytes()
    assert {extension: data[offset : offset + size] for extension, offset, size in members} == sample.files


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "shard_empty"), (b"not a tar at all" * 100, "shard_corrupt")]
)
def test_files_that_are_not_tars_are_counted(tmp_path, content: bytes, reason: str) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    assert read(tmp_path / "a.tar") == ([], Counter({reason: 1}))


def broken(key: str, **files: bytes) -> Row:
    return Row(key, "", "", b"", files=files)


def test_every_unusable_sample_is_counted_under_its_reason(tmp_path) -> None:
    good = rows(2)
    bomb = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(bomb, "PNG")
    bad = [
        broken("b0", jpg=jpeg(0), txt=b"\xff\xfe caption"),
        broken("b1", jpg=jpeg(0), txt=b"  \n"),
        broken("b2", jpg=jpeg(0)),
        broken("b3", txt=b"no image"),
        broken("b4", jpg=jpeg(0)[:300], txt=b"truncated"),
        broken("b5", jpg=b"<html>404</html>", txt=b"not an image"),
        broken("b6", png=bomb.getvalue(), txt=b"a hundred megapixels"),
        broken("b7", jpg=jpeg(0), txt=b"bad json", json=b"{"),
        broken("b8", jpg=jpeg(0), txt=b"bad uid", json=b'{"uid": "12"}'),
        broken("b9", jpg=jpeg(0), json=b'{"caption": "lone \\ud800 surrogate"}'),
        broken("b10", jpg=jpeg(0), txt=b"x" * 1_000_001),
        broken("b11", jpg=b"", txt=b"empty image"),
    ]
    write_tar(tmp_path / "a.tar", [good[0], *bad, good[1]])
    found, drops = read(tmp_path / "a.tar")
    assert found == [s.uid for s in good]
    assert drops == {
        "caption_invalid_utf8": 2,
        "caption_empty": 1,
        "caption_missing": 1,
        "caption_too_long": 1,
        "image_missing": 1,
        "image_unreadable": 3,
        "image_too_large": 1,
        "metadata_invalid": 1,
        "uid_invalid": 1,
    }


def test_drops_are_saved_with_the_index(tmp_path) -> None:
    write_tar(tmp_path / "a.tar", [*rows(2), broken("b", txt=b"no image")])
    save_index(tmp_path / "a.arrow", index_tar(tmp_path / "a.tar", {}))
    assert load_index(tmp_path / "a.arrow").drops == {"image_missing": 1}


def dotted(key: str, number: int) -> Row:
    return broken(key, jpg=jpeg(number), txt=f"caption {number}".encode())


@pytest.mark.parametrize("key", ["photo.{:05d}", "IMG.2021-01-{:02d}", "folder/a.{}"])
def test_each_image_with_dots_in_its_name_is_counted(tmp_path, key: str) -> None:
    write_tar(tmp_path / "a.tar", rows(5) + [dotted(key.format(n), n) for n in range(20)])
    found, drops = read(tmp_path / "a.tar")
    assert (len(found), drops) == (5, {"key_with_dot": 20})


def test_a_dotted_sample_beside_its_key_is_counted(tmp_path) -> None:
    write_tar(
        tmp_path / "a.tar",
        [dotted("photo", 0), dotted("photo.1", 1), broken("photo", **{"seg.png": b"mask"})],
    )
    found, drops = read(tmp_path / "a.tar")
    assert (len(found), drops) == (1, {"key_with_dot": 1})


def test_dots_in_folders_and_hidden_members_are_no_matter(tmp_path) -> None:
    hidden = [broken("._0", jpg=b"\0\5", txt=b"\0\5"), broken(".DS_Store")]
    write_tar(tmp_path / "a.tar", hidden + [dotted(f"v1.2/{n}", n) for n in range(4)])
    found, drops = read(tmp_path / "a.tar")
    assert (len(found), drops) == (4, {})


@pytest.mark.parametrize("order", itertools.permutations(["jpg", "png", "webp", "txt"]))
def test_of_several_images_of_a_key_one_counts(tmp_path, order: tuple[str, ...]) -> None:
    files = {kind: jpeg(number) for number, kind in enumerate(IMAGE_EXTENSIONS)} | {"txt": b"a dog"}
    write_tar(tmp_path / "a.tar", [broken(f"{n}", **{kind: files[kind] for kind in order}) for n in range(3)])
    index, data = index_tar(tmp_path / "a.tar", {}), (tmp_path / "a.tar").read_bytes()
    assert (len(index), index.drops) == (3, {})
    for offset, size, members, extents in zip(
        index.offsets, index.sizes, index.members, index.extents, strict=True
    ):
        assert data[offset : offset + size] == files["jpg"]
        assert {kind: data[start : start + length] for kind, start, length in members} == {
            kind: files[kind] for kind in ("jpg", "txt")
        }
        assert len(extents) == 2


def test_an_image_apart_from_its_key_is_another_sample(tmp_path) -> None:
    earlier, later = broken("0", jpg=jpeg(0), txt=b"a dog"), broken("0", png=jpeg(1), txt=b"a cat")
    write_tar(tmp_path / "a.tar", [earlier, broken("1", jpg=jpeg(2), txt=b"a cow"), later])
    index, data = index_tar(tmp_path / "a.tar", {}), (tmp_path / "a.tar").read_bytes()
    images = [data[offset : offset + size] for offset, size in zip(index.offsets, index.sizes, strict=True)]
    assert dict(zip(index.texts, images, strict=True)) == {
        "a dog": jpeg(0), "a cat": jpeg(1), "a cow": jpeg(2),
    }  # fmt: skip


def test_hidden_members_part_no_images_of_a_key(tmp_path) -> None:
    one, hidden, other = (
        broken("0", png=jpeg(0)),
        broken("._0", jpg=b"\0"),
        broken("0", jpg=jpeg(1), txt=b"a"),
    )
    write_tar(tmp_path / "a.tar", [one, hidden, other])
    index = index_tar(tmp_path / "a.tar", {})
    assert (index.texts, index.sizes.tolist(), index.drops) == (["a"], [len(jpeg(1))], {})


def test_named_files_of_a_key_count_before_others(tmp_path) -> None:
    files = {"jpg": jpeg(0), "img": jpeg(1), "txt": b"alt text", "cap": b"a dog"}
    write_tar(tmp_path / "a.tar", [broken("0", **files)])
    index = index_tar(tmp_path / "a.tar", {"image": "img", "text": "cap"})
    (offset,), (size,) = index.offsets, index.sizes
    assert (index.texts, index.drops) == (["a dog"], {})
    assert (tmp_path / "a.tar").read_bytes()[offset : offset + size] == files["img"]


def test_a_byte_order_mark_is_no_caption(tmp_path) -> None:
    write_tar(
        tmp_path / "a.tar",
        [broken("0", jpg=jpeg(0), txt=b"\xef\xbb\xbfa dog"), broken("1", jpg=jpeg(1), txt=b"\xef\xbb\xbf")],
    )
    index = index_tar(tmp_path / "a.tar", {})
    assert (index.texts, index.drops) == (["a dog"], {"caption_empty": 1})
