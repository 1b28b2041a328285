"""``task=publish`` on small pools: whoever reads the scores selects the same pairs."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from benchmark.scoring import published
from filters.column import Column
from tests.command_line import Run, assert_one_line, run_main
from tests.pools import Row, rows, write_metadata

VALUES = [None if n % 5 == 0 else n % 7 / 7 for n in range(30)]  # with ties, and pairs without a score
FILTER = ["filter=column", "filter.column=grade"]


def samples() -> list[Row]:
    """30 pairs, of which one lacks a url, and another has white space around it."""
    pairs = rows(30)
    pairs[3].url, pairs[4].url = "", f" {pairs[4].url}\n"
    return pairs


@pytest.fixture
def pool(tmp_path: Path) -> list[str]:
    """Settings of a pool of these pairs in two files."""
    for name, start in (("a", 0), ("b", 20)):
        part = slice(start, start + 20)
        write_metadata(tmp_path / "pool" / f"{name}.parquet", samples()[part], grade=VALUES[part])
    return ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "engine.workers=1"]


def selected(run: Run, *settings: str) -> bytes:
    done = run("task=select", *settings)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1]).read_bytes()


@pytest.mark.parametrize("bounds", [[], ["filter.minimum=0.2", "filter.maximum=0.8", "filter.rank=false"]])
def test_published_scores_select_the_same_pairs(
    bounds: list[str], run: Run, pool: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    done = run("task=publish", *pool, *FILTER, *bounds, f"task.output={folder}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(folder)
    card = (folder / "README.md").read_text()
    (command,) = (line for line in card.splitlines() if "filter=score_file" in line)
    read = [
        word for word in command.split() if word.startswith("filter") and not word.startswith("filter.path")
    ]
    assert len(read) == 2 + len(bounds)
    for size in ("7", "all"):
        own = selected(run, *pool, *FILTER, *bounds, f"size.samples={size}")
        path = f"filter.path={folder}"
        assert selected(run, *pool, *read, path, f"size.samples={size}") == own


def test_a_copy_of_the_pool_with_other_uids_reads_scores_by_url(
    run: Run, pool: list[str], tmp_path: Path
) -> None:
    assert run("task=publish", *pool, *FILTER, f"task.output={tmp_path / 'out'}").returncode == 0
    uids = {"uid": [f"{number:032x}" for number in range(30)]}
    write_metadata(tmp_path / "copy" / "a.parquet", samples(), **uids)
    settings = ["pool=img2dataset", f"pool.url={tmp_path / 'copy'}", "engine.workers=1", "size=all"]
    settings += [
        "filter=score_file",
        f"filter.path={tmp_path / 'out'}",
        "filter.column=score",
        "filter.key=url",
    ]
    done = run("task=export", *settings, f"task.output={tmp_path / 'again'}")
    assert done.returncode == 0, done.stderr
    table = pq.read_table(tmp_path / "again" / "subset.parquet")
    read = dict(zip(table["uid"].to_pylist(), table["score"].to_pylist(), strict=True))
    scored = {uids["uid"][n]: value for n, value in enumerate(VALUES) if value is not None and n != 3}
    assert read == pytest.approx(scored)


def test_a_row_per_pair_has_uid_hash_of_the_url_and_score(pool: list[str], tmp_path: Path) -> None:
    assert run_main("task=publish", *pool, *FILTER, f"task.output={tmp_path / 'out'}") == 0
    table = pq.read_table(tmp_path / "out" / "scores-00000.parquet")
    expected = {
        row.uid: (
            hashlib.blake2b(row.url.strip().encode(), digest_size=16).hexdigest() if n != 3 else None,
            value,
        )
        for n, (row, value) in enumerate(zip(samples(), VALUES, strict=True))
    }
    read = zip(*(table[name].to_pylist() for name in ("uid", "url_hash", "score")), strict=True)
    assert {uid: rest for uid, *rest in read} == {uid: list(rest) for uid, rest in expected.items()}
    assert table["uid"].to_pylist() == sorted(expected)


def test_the_card_says_what_was_scored_and_how(
    pool: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Column, "licence", "CC BY-NC 4.0", raising=False)
    settings = ["pool.name='x<b>'", f"task.output={tmp_path / 'out'}"]
    assert run_main("task=publish", *pool, *FILTER, *settings) == 0
    card = DatasetCard.load(tmp_path / "out" / "README.md")
    assert card.data.to_dict()["configs"][0]["data_files"] == [{"split": "train", "path": "scores-*.parquet"}]
    for text in (
        "# Scores of `x<b>` by `column`\n",
        "The scores of 24 of the 30 pairs of the pool `x<b>` (80.0%)",
        "- `url_hash`: 29 hashes",
        "null where the filter gives none (6 pairs)",
        "identity `column-",
        "pool.url=.../pool engine.workers=1 filter=column filter.column=grade",
        '"column": "grade"',
        "The terms of the filter, which hold for its scores too: `CC BY-NC 4.0`.",
        "processor hours",
        "| 0 | 0 |",
    ):
        assert text in card.text
    assert str(tmp_path) not in card.text
    assert (
        sum(float(line.split()[-1][:-1]) for line in card.text.split("```text\n")[1].splitlines()[:12]) > 99
    )


def test_a_killed_command_goes_on_and_a_used_folder_is_refused(
    run: Run, pool: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "ROWS", 8)
    publish = ["task=publish", *pool, *FILTER]

    def contents(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".parquet"}

    assert run(*publish, f"task.output={tmp_path / 'whole'}").returncode == 0
    assert len(contents(tmp_path / "whole")) == 4
    write, left = pq.write_table, [None] * 2

    def killed(*arguments: Any, **options: Any) -> None:
        left.pop()  # raises IndexError at the third file
        write(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(published.pq, "write_table", killed)
        assert run(*publish, f"task.output={tmp_path / 'out'}").returncode != 0
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.parquet")}
    assert len(kept) == 2
    assert run(*publish, f"task.output={tmp_path / 'out'}").returncode == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())

    others = run(*publish[:-2], "filter=random", f"task.output={tmp_path / 'out'}")
    assert_one_line(
        others,
        f"task.output={tmp_path / 'out'} holds the output of another command; give an empty folder, or delete it",
    )
    used = run(*publish, f"task.output={tmp_path / 'pool'}")
    assert_one_line(
        used, f"task.output={tmp_path / 'pool'} holds other files; give an empty folder, or delete it"
    )
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_filter_that_scores_nothing_has_nothing_to_publish(
    run: Run, pool: list[str], tmp_path: Path
) -> None:
    done = run(
        "task=publish", *pool, "filter=column", "filter.column=none", f"task.output={tmp_path / 'out'}"
    )
    assert done.returncode == 2
    assert not list(tmp_path.glob("out/*"))
