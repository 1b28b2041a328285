"""The captions' part of ``task=profile`` as a user meets it."""

import json
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.core.records import read_records
from benchmark.pool.pool import Pool
from pairsift.studies.profile.profiling import Profile
from pairsift.studies.profile.web_likeness import caption_profile
from pairsift.studies.profile.web_likeness.caption_profile import CaptionProfile, sample_captions
from tests.command_line import Run
from tests.pools import Row, rows, write_metadata, write_pool


@pytest.fixture
def captions_alone(tmp_path: Path) -> list[str]:
    write_metadata(tmp_path / "pool" / "a.parquet", rows(400))
    where = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", f"results_dir={tmp_path}"]
    return ["task=profile", "profile.images=false", *where]


def test_captions_are_profiled_without_images(run: Run, captions_alone: list[str], tmp_path: Path) -> None:
    done = run(*captions_alone, "profile.captions=300")
    assert done.returncode == 0, done.stderr
    page, path = (Path(line) for line in done.stdout.splitlines()[-2:])
    found = json.loads(path.read_text())
    assert (found["sample"], found["likeness"]["captions"]) == (300, 300)
    assert found["likeness"]["words"] == 6 * 300  # "a photo of thing number 7"
    assert found["likeness"]["rated_words"] is None
    for text in (done.stdout, page.read_text()):
        assert "LAION" in text
        assert "11,910" in text
        assert "profile.ratings=FILE" in " ".join(text.split())
        assert "concreteness rating" not in text
    (record,) = read_records(tmp_path, CaptionProfile)
    assert record.likeness.near_copies == 1.0
    assert read_records(tmp_path, Profile) == []


def test_ratings_add_the_kinds_of_words(run: Run, captions_alone: list[str], tmp_path: Path) -> None:
    ratings = tmp_path / "r.txt"
    ratings.write_text("Word\tConc.M\na\t1\nthing\t3\nphoto\t5\n")
    done = run(*captions_alone, f"profile.ratings={ratings}")
    assert done.returncode == 0, done.stderr
    assert "Words with a concreteness rating" in done.stdout
    likeness = json.loads(Path(done.stdout.splitlines()[-1]).read_text())["likeness"]
    assert likeness["rated_words"] == pytest.approx(3 / 6)
    assert likeness["digit_words"] == pytest.approx(1 / 6)


def captions_pool(folder: Path, shards: int, each: int) -> Pool:
    for number in range(shards):
        write_metadata(folder / f"{number:03d}.parquet", rows(each, start=each * number))
    return Pool("p", str(folder))


def test_each_seed_draws_its_own_captions(tmp_path: Path) -> None:
    pool = captions_pool(tmp_path, shards=2, each=30)
    found = sample_captions(pool, 24, seed=3)
    assert len(set(found)) == 24
    assert sample_captions(pool, 24, seed=3) == found
    assert set(sample_captions(pool, 24, seed=4)) != set(found)
    assert len(set(sample_captions(pool, 99, seed=3))) == 60


def test_few_shards_and_rows_of_them_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caption_profile, "SHARDS", 2)
    monkeypatch.setattr(caption_profile, "ROWS", 3)
    pool = captions_pool(tmp_path, shards=4, each=10)
    few = sample_captions(pool, 2, seed=0)
    assert len(few) == 2
    numbers = {int(text.split()[-1]) for seed in range(40) for text in sample_captions(pool, 2, seed)}
    assert {number % 10 for number in numbers} == {0, 1, 2}
    assert {number // 10 for number in numbers} == {0, 1, 2, 3}
    assert len(sample_captions(pool, 40, seed=0)) == 40


def test_tars_without_metadata_are_read_and_pools_without_captions_refused(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "tars", [rows(5)])))
    assert set(sample_captions(pool, 9, seed=0)) == {row.text for row in rows(5)}
    write_metadata(tmp_path / "blank" / "a.parquet", [Row("0", "http://example.org/0.jpg", " ", b"")])
    with pytest.raises(UserError, match=r"no usable caption \(1 caption_empty\)"):
        sample_captions(Pool("p", str(tmp_path / "blank")), 2, seed=0)
