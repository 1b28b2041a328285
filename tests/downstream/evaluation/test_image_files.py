import hashlib
import os
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from downstream.evaluation.image_files import ImageDigest, ImageFile, digest_images
from tests.pools import jpeg


def test_images_in_files_and_tars_are_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = jpeg(0)
    (tmp_path / "a.jpg").write_bytes(image)
    (tmp_path / "b.tar").write_bytes(b"header " + image + b" more")
    digest = ImageDigest(len(image), hashlib.sha256(image).hexdigest())
    images = [ImageFile(tmp_path / "a.jpg"), ImageFile(tmp_path / "b.tar", 7, len(image))]
    assert digest_images(images) == [digest] * 2
    with monkeypatch.context() as patch:
        patch.setattr(ImageFile, "read", None)  # would fail if it were called
        assert digest_images(images) == [digest] * 2
    images[0].path.write_bytes(jpeg(1))
    os.utime(images[0].path, ns=(0, 0))
    assert digest_images(images)[0] != digest
    images[0].path.unlink()
    with pytest.raises(UserError, match=r"evaluation image .*a\.jpg cannot be read"):
        digest_images(images)
