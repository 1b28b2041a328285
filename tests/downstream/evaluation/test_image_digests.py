import hashlib
import os
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from downstream.evaluation.image_files import ImageDigest, ImageFile, digest_images
from tests.pools import jpeg


def test_images_in_files_and_tars_are_hashed_alike(tmp_path: Path) -> None:
    image = jpeg(0)
    (tmp_path / "a.jpg").write_bytes(image)
    (tmp_path / "b.tar").write_bytes(b"header " + image + b" more")
    digest = ImageDigest(len(image), hashlib.sha256(image).hexdigest())
    in_tar = ImageFile(tmp_path / "b.tar", 7, len(image))
    assert digest_images([ImageFile(tmp_path / "a.jpg"), in_tar]) == [digest] * 2


def test_images_are_read_once_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = [ImageFile(tmp_path / "a.jpg")]
    images[0].path.write_bytes(jpeg(0))
    first = digest_images(images)
    with monkeypatch.context() as patch:
        patch.setattr(ImageFile, "read", None)  # would fail if it were called
        assert digest_images(images) == first
    images[0].path.write_bytes(jpeg(1))
    os.utime(images[0].path, ns=(0, 0))
    assert digest_images(images) != first


def test_an_image_that_is_gone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"evaluation image .*gone\.jpg cannot be read"):
        digest_images([ImageFile(tmp_path / "gone.jpg")])
