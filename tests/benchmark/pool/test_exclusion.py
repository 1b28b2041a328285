"""Lists of ``pool.exclude``: which pairs they hold, and that these are in nothing that is written."""

import gzip
import hashlib
import json
import logging
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, read_subset
from benchmark.pool.exclusion import excluded_uids
from benchmark.pool.pool import Pool
from tests.command_line import Run, assert_one_line
from tests.pools import Row, jpeg, write_pool

HOSTS = ("example.org", "Cdn.Example.org:8080", "notexample.org", "user@pics.test", "example.org.evil.test")
Write = Callable[[Path, list[Row]], None]


@pytest.fixture
def samples() -> list[Row]:
    """Twenty pairs of five hosts, four each, with the hashes that img2dataset writes."""
    made = []
    for number in range(20):
        image = jpeg(number)
        hashes: dict[str, Any] = {
            "width": number * 7 % 20,
            "sha256": hashlib.sha256(image).hexdigest(),
            "md5": hashlib.md5(image).hexdigest(),
        }
        url = f"https://{HOSTS[number % 5]}/{number}.jpg?a=b"
        made.append(Row(f"{number:05d}", url, f"a thing {number}", image, hashes))
    return made


@pytest.fixture
def pool(tmp_path: Path, samples: list[Row]) -> Path:
    root = write_pool(tmp_path / "pool", [samples[:10], samples[10:]])
    for number, rows in enumerate((samples[:10], samples[10:])):
        path = root / "metadata" / f"{number:08d}.parquet"
        columns = {name: [row.extra[name] for row in rows] for name in ("sha256", "md5", "width")}
        table = pq.read_table(path)
        for name, values in columns.items():
            table = table.append_column(name, pa.array(values))
        pq.write_table(table, path)
    return root


def lines(get: Callable[[Row], str]) -> Write:
    return lambda path, rows: (path.write_text("\n".join(map(get, rows)) + "\n"), None)[1]


def table(name: str, get: Callable[[Row], str]) -> Write:
    return lambda path, rows: pq.write_table(pa.table({name: [get(row) for row in rows]}), path)


LISTS: dict[str, Write] = {
    "uids.txt": lines(lambda row: row.uid),
    "urls.txt": lines(lambda row: f"  {row.url}"),
    "sha256.txt": lines(lambda row: row.extra["sha256"].upper()),
    "uids.parquet": table("uid", lambda row: row.uid),
    "urls.parquet": table("URL", lambda row: row.url),
    "md5.csv": lambda path, rows: (
        path.write_text("\n".join(["md5", *(row.extra["md5"] for row in rows)])) and None
    ),
    "uids.csv.gz": lambda path, rows: (
        path.write_bytes(gzip.compress("\n".join(["uid", *(row.uid for row in rows)]).encode())) and None
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_any_kind_holds_its_pairs(
    name: str, pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    LISTS[name](tmp_path / name, samples[3:14:5])
    found = excluded_uids(Pool("p", str(pool), exclude=str(tmp_path / name)))
    assert found is not None
    assert decode_uids(found) == sorted(row.uid for row in samples[3:14:5])


def test_a_domain_holds_the_hosts_below_it_and_no_other(
    pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "domains.txt").write_text("EXAMPLE.org\npics.test\n")
    (tmp_path / "uid.txt").write_text(samples[2].uid)
    found = excluded_uids(
        Pool("p", str(pool), exclude=[str(tmp_path / "domains.txt"), str(tmp_path / "uid.txt")])
    )
    assert found is not None
    expected = {row.uid for number, row in enumerate(samples) if number % 5 in (0, 1, 3)} | {samples[2].uid}
    assert decode_uids(found) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "list.txt is empty: it has no bytes"),
        (
            "https://example.org/a.jpg\nexample.org\n",
            "'example.org' is no url; give a file for each kind of key",
        ),
        ("example.org\nhttps://example.org/a.jpg\n", "'https://example.org/a.jpg' is no domain"),
        ("0" * 64 + "\n" + "0" * 63, "' is no sha256; give a file for each"),
        ("0" * 32 + "\nexample.org\n", "uids are 32 hex characters or UUIDs"),
    ],
)
def test_a_list_that_would_exclude_less_than_it_says_is_an_error(
    text: str, message: str, pool: Path, tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        excluded_uids(Pool("p", str(pool), exclude=str(tmp_path / "list.txt")))


def test_a_list_of_another_pool_is_warned_of(
    pool: Path, tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "list.txt").write_text("https://example.org/none.jpg\n")
    with caplog.at_level(logging.INFO):
        found = excluded_uids(Pool("p", str(pool), exclude=str(tmp_path / "list.txt")))
    assert found is not None
    assert not len(found)
    assert "no pair has a url of pool.exclude=" in caplog.text


def test_a_pair_that_is_excluded_is_in_nothing_that_is_written(
    run: Run, pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    gone = {samples[number].uid for number in (1, 4, 13)}
    (tmp_path / "list.txt").write_text("\n".join(gone))
    settings = ["pool=img2dataset", f"pool.url={pool}", "filter=random", "size=all", "engine.workers=1"]
    kept = [*settings, f"pool.exclude={tmp_path / 'list.txt'}"]
    everything = read_subset(Path(run("task=select", *settings).stdout.splitlines()[-1]))
    assert gone < {*decode_uids(everything)}

    selected = Path(run("task=select", *kept).stdout.splitlines()[-1])
    left = {*decode_uids(everything)} - gone
    assert {*decode_uids(read_subset(selected))} == left
    assert json.loads(selected.with_suffix(".json").read_text())["drops"] == {"excluded": 3}
    assert run("task=export", *kept, f"task.output={tmp_path / 'out'}").returncode == 0
    assert {*pq.read_table(tmp_path / "out" / "subset.parquet")["uid"].to_pylist()} == left
    assert "3 `excluded`" in (tmp_path / "out" / "README.md").read_text()
    assert run("task=publish", *kept, f"task.output={tmp_path / 'scores'}").returncode == 0
    assert {*pq.read_table(tmp_path / "scores" / "scores-00000.parquet")["uid"].to_pylist()} == left
    assert run("task=reshard", *kept, f"task.output={tmp_path / 'tars'}").returncode == 0
    for tar in (tmp_path / "tars" / "shards").glob("*.tar"):
        with tarfile.open(tar) as members:
            texts = [members.extractfile(m).read() for m in members if m.name.endswith("json")]  # type: ignore[union-attr]
        assert not gone & {json.loads(text)["uid"] for text in texts}
    size = run("task=select", *kept[:-1], "size.samples=18", kept[-1])
    assert_one_line(size, "size asks for 18 pairs, but 17 have a score (3 excluded); choose size=17 or less")


def test_ranks_and_statistics_are_of_the_pairs_that_are_left(
    run: Run, pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "list.txt").write_text("\n".join(row.uid for row in samples[:10]))
    parts = [
        "filter=rank_sum",
        "filter@filter.filters.a=random",
        "filter@filter.filters.b=column",
        "filter.filters.b.column=width",
    ]
    settings = ["pool=img2dataset", *parts, "size=all", "engine.workers=1"]
    files = str(pool / "metadata" / "00000001.parquet")

    def scores(*chosen: str) -> dict[str, float]:
        out = tmp_path / str(len(chosen))
        done = run("task=export", *settings, *chosen, f"task.output={out}")
        assert done.returncode == 0, done.stderr
        read = pq.read_table(out / "subset.parquet")
        return dict(zip(read["uid"].to_pylist(), read["score"].to_pylist(), strict=True))

    alone = scores(f"pool.url={files}")
    assert alone == scores(f"pool.url={pool}", f"pool.exclude={tmp_path / 'list.txt'}")


def test_pairs_with_an_evaluation_image_are_left_out_if_asked(
    run: Run, pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    for number in (7, 300):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(number))
    images = [
        {"imgid": n, "filename": f"{n}.jpg", "split": "test", "sentences": [{"raw": "a cat"}]}
        for n in (7, 300)
    ]
    (tmp_path / "coco.json").write_text(json.dumps({"images": images}))
    settings = ["task=select", "pool=img2dataset", "filter=random", "size=all", "engine.workers=1"]
    settings += [f"evalset.coco.annotations={tmp_path / 'coco.json'}", f"evalset.coco.images={tmp_path}"]
    settings += ["~evalset.nocaps", "~evalset.flickr30k", "selection.exclude_contaminated=true"]

    selected = Path(run(*settings, f"pool.url={pool}").stdout.splitlines()[-1])
    assert {*decode_uids(read_subset(selected))} == {row.uid for row in samples} - {samples[7].uid}
    assert json.loads(selected.with_suffix(".json").read_text())["drops"] == {"contaminated": 1}
    assert_one_line(
        run(*settings, f"pool.url={pool / 'metadata'}"),
        "selection.exclude_contaminated compares images, and those of pool img2dataset are not on this machine;"
        " download them, or leave it out",
    )
