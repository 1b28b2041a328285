"""The captions' part of ``task=profile`` as a user meets it."""

import json
from pathlib import Path

import pytest

from benchmark.core.records import read_records
from benchmark.studies.profile.profiling import Profile
from benchmark.studies.web_likeness.caption_profile import CaptionProfile
from tests.command_line import Run, assert_one_line
from tests.pools import rows, write_metadata


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["profile.captions=0"], "profile.captions=0 must be a positive integer"),
        (["profile.images=no"], "profile.images=no must be true or false"),
        (["profile.captions=50"], "the captions have 300 words; their statistics need 1,000"),
        (["profile.ratings=/nowhere"], "profile.ratings=/nowhere cannot be read"),
    ],
)
def test_a_mistake_is_one_clear_line(
    run: Run, captions_alone: list[str], arguments: list[str], message: str
) -> None:
    assert_one_line(run(*captions_alone, *arguments), message)
