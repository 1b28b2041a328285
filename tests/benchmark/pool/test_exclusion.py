"""Lists of ``pool.exclude``: which pairs they hold, and that these are in nothing that is written."""

import base64
import gzip
import hashlib
import json
import logging
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.batch import EXCLUDED, Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, read_subset
from benchmark.engine.local import LocalEngine
from benchmark.pool.exclusion import excluded_uids
from benchmark.pool.pool import Pool
from benchmark.results.gallery import gallery
from benchmark.results.run_folder import RunFiles
from benchmark.scoring.score_pool import score_pool
from benchmark.selection.top_k import select_top_k
from filters.base import Filter, Scores
from filters.column import Column
from filters.composite import RankSum, ScoreSum
from tests.command_line import Run, assert_one_line
from tests.demos import SMALL_RUN
from tests.pools import Row, jpeg, rows, write_metadata, write_tar

HOSTS = ("example.org", "Cdn.Example.org:8080", "notexample.org", "user@pics.test", "example.org.evil.test")
Write = Callable[[Path, list[Row]], None]


def hashes(image: bytes) -> dict[str, Any]:
    """As img2dataset writes them."""
    return {"sha256": hashlib.sha256(image).hexdigest(), "md5": hashlib.md5(image).hexdigest()}


def write_hashed_pool(root: Path, samples: list[Row]) -> Path:
    """Write two tars, and metadata with all that the rows have."""
    half = len(samples) // 2
    for number, part in enumerate((samples[:half], samples[half:])):
        write_tar(root / "shards" / f"{number:08d}.tar", part)
        columns = {name: [row.extra[name] for row in part] for name in ("sha256", "md5", "width")}
        write_metadata(root / "metadata" / f"{number:08d}.parquet", part, **columns)
    return root


@pytest.fixture
def samples() -> list[Row]:
    """Twenty pairs of five hosts, four each."""
    made = []
    for number in range(20):
        image = jpeg(number)
        url = f"https://{HOSTS[number % 5]}/{number}.jpg?a=b"
        extra = hashes(image) | {"width": number * 7 % 20}
        made.append(Row(f"{number:05d}", url, f"a thing {number}", image, extra))
    return made


@pytest.fixture
def pool(tmp_path: Path, samples: list[Row]) -> Path:
    return write_hashed_pool(tmp_path / "pool", samples)


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
    found = excluded_uids(Pool("p", str(pool), exclude=str(tmp_path / name)), [])
    assert found is not None
    assert decode_uids(found) == sorted(row.uid for row in samples[3:14:5])


def test_a_domain_holds_the_hosts_below_it_and_no_other(
    pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "domains.txt").write_text("EXAMPLE.org\npics.test\n")
    (tmp_path / "uid.txt").write_text(samples[2].uid)
    found = excluded_uids(
        Pool("p", str(pool), exclude=[str(tmp_path / "domains.txt"), str(tmp_path / "uid.txt")]), []
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
        excluded_uids(Pool("p", str(pool), exclude=str(tmp_path / "list.txt")), [])


def test_a_list_of_another_pool_is_warned_of(
    pool: Path, tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "list.txt").write_text("https://example.org/none.jpg\n")
    with caplog.at_level(logging.INFO):
        found = excluded_uids(Pool("p", str(pool), exclude=str(tmp_path / "list.txt")), [])
    assert found is not None
    assert not len(found)
    assert "no pair has a url of pool.exclude=" in caplog.text


def domains(row: Row) -> list[str]:
    labels = str(urlsplit(row.url).hostname).split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)]


# Any of these on a list excludes the pair.
KEYS: dict[str, Callable[[Row], list[str]]] = {
    "uid": lambda row: [row.uid],
    "url": lambda row: [row.url],
    "caption": lambda row: [row.text],
    "md5": lambda row: [row.extra["md5"]],
    "sha256": lambda row: [row.extra["sha256"]],
    "domain": domains,
}
FORMATS = ("parquet", "csv", "txt")  # a line of text is no caption, and of 32 hex characters a uid


def draw(rng: np.random.Generator, folder: Path) -> tuple[list[Row], list[Row], list[str]]:
    """Pairs that share hosts, urls, captions and images, in a pool; those that the lists leave; the lists."""
    pairs: dict[str, Row] = {}
    for number in range(int(rng.integers(10, 40))):
        url = f"https://{rng.choice(HOSTS)}/{rng.integers(20)}.jpg?a=b"
        text = f"a thing {'of many words ' * rng.integers(4)}{rng.integers(20)}"
        image = jpeg(int(rng.integers(20)))
        row = Row(f"{number:05d}", url, text, image, hashes(image) | {"width": int(rng.integers(9))})
        pairs[row.uid] = row
    rows, gone, lists = list(pairs.values()), set[str](), list[str]()
    for kind in rng.choice(list(KEYS), rng.integers(1, 3), replace=False):
        chosen = rng.choice(np.array(rows, object), rng.integers(1, 4))
        keys = sorted({str(rng.choice(KEYS[kind](row))) for row in chosen})
        gone |= {row.uid for row in rows if {*KEYS[kind](row)} & {*keys}}
        form = rng.choice(FORMATS[: 2 if kind in ("caption", "md5") else 3])
        path = folder / f"{len(lists)}.{form}"
        keys = [key.upper() for key in keys] if kind in ("md5", "domain") else keys
        if form == "parquet":
            pq.write_table(pa.table({kind: keys}), path)
        else:
            path.write_text("\n".join(([kind] if form == "csv" else []) + keys))
        lists.append(str(path))
    write_hashed_pool(folder / "pool", rows)
    return rows, [row for row in rows if row.uid not in gone], lists


def seeds(by_default: int) -> list[Any]:
    return [pytest.param(n, marks=() if n < by_default else pytest.mark.slow) for n in range(16)]


class Rarity(Filter):
    """Captions with words that few captions have."""

    needs = frozenset({"text"})

    def fit(self, batches: Iterable[Batch]) -> None:
        self.counts = Counter(word for batch in batches for text in batch.texts for word in {*text.split()})

    def score(self, batch: Batch) -> Scores:
        return np.array([-sum(self.counts[word] for word in {*text.split()}) for text in batch.texts], float)


class Width(Filter):
    """The widths of images."""

    needs = frozenset({"image"})

    def score(self, batch: Batch) -> Scores:
        return np.array([image.width for image in batch.images], float)


def test_pairs_that_only_the_tars_have_are_excluded_too(
    pool: Path, samples: list[Row], tmp_path: Path, cache: Path
) -> None:
    half = samples[10:19]
    columns = {name: [row.extra[name] for row in half] for name in ("sha256", "md5", "width")}
    write_metadata(pool / "metadata" / "00000001.parquet", half, **columns)
    (tmp_path / "list.txt").write_text(f"{samples[0].uid}\n{samples[19].uid}\n")
    table = score_pool(
        Pool("p", str(pool), exclude=str(tmp_path / "list.txt")), Width(), LocalEngine("cpu", 1)
    )
    assert {*decode_uids(table.uids)} == {row.uid for row in samples[1:19]}
    assert table.drops["excluded"] == 2


@pytest.mark.parametrize("seed", seeds(4))
def test_a_pool_with_lists_is_the_pool_without_their_pairs(seed: int, tmp_path: Path) -> None:
    """For filters that rank, standardize and fit, and for what a report shows: captions, scores and thumbnails."""
    rows, left, lists = draw(np.random.default_rng(seed), tmp_path)
    listed = Pool("p", str(tmp_path / "pool"), exclude=lists)
    found = excluded_uids(listed, [])
    assert found is not None
    assert decode_uids(found) == sorted({row.uid for row in rows} - {row.uid for row in left})
    rest = Pool("p", str(write_hashed_pool(tmp_path / "rest", left)))
    parts = {"a": Rarity(), "b": Column("width")}
    for scorer in (Rarity(), RankSum(parts, {"a": 1.0, "b": 2.0}), ScoreSum(parts, {"a": 1.0, "b": -1.0})):
        shown = []
        for pool in (listed, rest):
            table = score_pool(pool, scorer, LocalEngine("cpu", 1))
            assert table.drops[EXCLUDED] == (0 if pool is rest else len(found))
            chosen = select_top_k(table, max(1, len(table) // 3), seed)
            shown.append(
                (
                    table.uids.tolist(),
                    table.scores.tolist(),
                    gallery(table, table.of_uids(chosen.uids), seed, pool),
                )
            )
        assert shown[0] == shown[1]


@pytest.mark.parametrize("seed", seeds(1))
def test_an_excluded_pair_is_in_nothing_that_is_written(
    seed: int, run: Run, tmp_path: Path, cache: Path
) -> None:
    rows, remaining, lists = draw(np.random.default_rng(seed), tmp_path)
    left, count = {row.uid for row in remaining}, len(rows) - len(remaining)
    settings = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", f"pool.exclude=[{','.join(lists)}]"]
    settings += ["filter=random", "size=all", "engine.workers=1"]
    selected = Path(run("task=select", *settings).stdout.splitlines()[-1])
    assert {*decode_uids(read_subset(selected))} == left
    assert json.loads(selected.with_suffix(".json").read_text())["drops"] == {"excluded": count}
    for task in ("export", "publish", "reshard"):
        done = run(f"task={task}", *settings, f"task.output={tmp_path / task}")
        assert done.returncode == 0, done.stderr
        assert f"{count} `excluded`" in (tmp_path / task / "README.md").read_text()
    for pattern in ("export/*.parquet", "publish/*.parquet", "reshard/metadata/*.parquet"):
        tables = [pq.read_table(path) for path in tmp_path.glob(pattern)]
        assert {uid for table in tables for uid in table["uid"].to_pylist()} == left
    written = []
    for path in (tmp_path / "reshard" / "shards").glob("*.tar"):
        with tarfile.open(path) as tar:
            written += [json.load(tar.extractfile(m))["uid"] for m in tar if m.name.endswith("json")]  # type: ignore[arg-type]
    assert sorted(written) == sorted(left)
    done = run("task=select", *settings, f"size.samples={len(left) + 1}")
    assert_one_line(done, f"but {len(left)} have a score ({count} excluded); choose size={len(left)} or less")


def test_tars_with_other_uids_than_the_metadata_are_refused(tmp_path: Path, cache: Path) -> None:
    samples = [replace(row, files={"jpg": row.image, "txt": row.text.encode()}) for row in rows(6)]
    write_tar(tmp_path / "pool" / "shards" / "00000000.tar", samples)
    write_metadata(tmp_path / "pool" / "metadata" / "00000000.parquet", samples)
    (tmp_path / "list.txt").write_text("\n".join(row.url for row in samples[:3]))
    pool = Pool("p", str(tmp_path / "pool"), exclude=[str(tmp_path / "list.txt")])
    with pytest.raises(UserError, match="00000000 has neither url nor uid in the JSON of its pairs"):
        excluded_uids(pool, pool.shards(frozenset({"image"})))
    of_text = excluded_uids(pool, pool.shards(frozenset({"text"})))
    assert of_text is not None
    assert {*decode_uids(of_text)} == {row.uid for row in samples[:3]}


@pytest.mark.parametrize(
    "task",
    [
        "profile",
        "figure figure=icc_2",
        "figure figure=parrot_1",
        "annotation",
        "text_spotting",
        "text_spotting task.vocabulary=ocr",
        "weak_labels",
    ],
)
def test_a_task_that_reads_unscored_pairs_takes_no_list(
    run: Run, pool: Path, tmp_path: Path, task: str
) -> None:
    (tmp_path / "list.txt").write_text("example.org")
    settings = "pool=img2dataset", f"pool.url={pool}", f"pool.exclude={tmp_path / 'list.txt'}", "models=demo"
    message = "this task would read pairs on pool.exclude, too; first write the pool without them"
    assert_one_line(run(*f"task={task}".split(), *settings, "engine.workers=1"), message)


@pytest.mark.slow
def test_a_report_shows_no_excluded_pair(
    run: Run, small_demo: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those are excluded that it would show."""
    monkeypatch.chdir(tmp_path)
    settings, shown = ["filter=random", *small_demo, *SMALL_RUN[:-1]], []
    for name in ("before", "after"):
        done = run(*settings, f"results_dir={tmp_path / name}")
        assert done.returncode == 0, done.stderr
        run_id = json.loads(Path(done.stdout.splitlines()[-1]).read_text())["run_id"]
        shown.append(RunFiles(tmp_path / name / run_id).gallery())
        (tmp_path / "list.txt").write_text("\n".join(pair.uid for pair in shown[0]))
        settings.append(f"pool.exclude={tmp_path / 'list.txt'}")
    assert not {pair.uid for pair in shown[0]} & {pair.uid for pair in shown[1]}
    assert run("task=report", f"results_dir={tmp_path / 'after'}").returncode == 0
    page = (tmp_path / "after" / "report.html").read_text()
    in_page = [[base64.b64encode(pair.thumbnail).decode() in page for pair in pairs] for pairs in shown]
    assert (any(in_page[0]), any(in_page[1])) == (False, True)


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
