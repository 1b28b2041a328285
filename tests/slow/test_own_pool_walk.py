"""The walk of a user with a pool of his own: on a web server, on S3, and back as a pool."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, decode_uids, read_subset
from benchmark.pool.pool import Pool
from tests.command_line import Done, Run, assert_one_line
from tests.extras import needs_extra
from tests.pools import rows, write_metadata, write_tar
from tests.servers import Behaviour, http_server, s3_server

pytestmark = [pytest.mark.slow, needs_extra("cloud"), needs_extra("http")]
PAIRS = 60
WALK = ["pool=img2dataset", "size.samples=24", "engine.workers=1"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lexicon(tmp_path: Path) -> list[str]:
    """A filter of captions."""
    (tmp_path / "ratings.txt").write_text("Word\tConc.M\nphoto\t4.9\nthing\t3.1\nred\t4.2\nball\t5\n")
    return ["filter=lexicon", f"filter.ratings={tmp_path / 'ratings.txt'}"]


def select(run: Run, *overrides: str) -> UidArray:
    return read_subset(Path(last_line(run("task=select", *WALK, *overrides))))


def last_line(done: Done) -> str:
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """img2dataset's output of several parts, each in a folder."""
    root = tmp_path / "pool"
    for number in range(3):
        samples = rows(PAIRS // 3, start=number * PAIRS // 3)
        for row in samples:
            row.extra = {"width": int(row.key)}
        write_tar(root / f"part-{number}" / "00000.tar", samples)
        widths = [int(row.key) for row in samples]
        write_metadata(root / f"part-{number}" / "00000.parquet", samples, width=widths)
    return root


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Any:
    with s3_server(monkeypatch) as filesystem:
        yield filesystem


def test_the_walk(run: Run, nested: Path, s3: Any, lexicon: list[str]) -> None:
    server = Behaviour()
    with http_server(nested, server) as url:
        on_web = [*lexicon, f"pool.url={url.replace('://', '://me:secret@')}"]
        subset = select(run, *on_web)
        assert len(subset) == 24
        assert not server.sent(".tar")  # captions are in the metadata
        done = run(*WALK, *on_web, "task=reshard", "task.output=s3://bucket/out")
        assert last_line(done) == "s3://bucket/out"
        assert b"shards/{00000000..00000000}.tar" in s3.cat("bucket/out/README.md")
        assert "secret" not in done.stdout + done.stderr
        assert server.sent(".tar") == sum(path.stat().st_size for path in nested.rglob("*.tar"))
    s3.put(str(nested), "bucket/pool", recursive=True)
    assert len(Pool("p", "s3://bucket/pool/part-{0..2}/00000.tar").tars) == 3
    for url in ("s3://bucket/pool", "s3://bucket/out"):
        assert (select(run, *lexicon, f"pool.url={url}") == subset).all()
    widest = select(run, "filter=column", "filter.column=width", "pool.url=s3://bucket/out", "size.samples=5")
    kept = [row.uid for row in rows(PAIRS) if row.uid in decode_uids(subset)]
    assert set(decode_uids(widest)) == set(kept[-5:])
    used = run(*WALK, *lexicon, "pool.url=s3://bucket/pool", "task=reshard", "task.output=s3://bucket/pool")
    assert_one_line(
        used, "task.output=s3://bucket/pool holds other files; give an empty folder, or delete it"
    )


def test_a_model_trained_on_a_remote_pool_is_that_of_the_local_one(
    run: Run, nested: Path, lexicon: list[str]
) -> None:
    model = ["models=demo", "downstream=dual_encoder", "downstream.dual_encoder.training.samples_seen=48"]
    train = ["task=train", *WALK, *lexicon, *model]
    server = Behaviour()
    with http_server(nested, server) as url:
        remote = last_line(run(*train, f"pool.url={url}"))
        sent = server.sent(".tar")
        assert last_line(run(*train, f"pool.url={url}")) == remote
        assert server.sent(".tar") == sent
    local = last_line(run(*train, f"pool.url={nested}"))
    assert local != remote  # images of a remote pool are not part of its content
    weights = [
        {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*.safetensors")}
        for folder in (remote, local)
    ]
    assert weights[0] == weights[1] != {}


def test_results_and_exports_on_s3(run: Run, nested: Path, s3: Any, lexicon: list[str]) -> None:
    results = "results_dir=s3://bucket/results"
    path = last_line(run("task=concreteness", *lexicon, "task.explain=a red ball", results))
    assert path.startswith("s3://bucket/results/explained/")
    assert b"a red ball" in s3.cat(path)
    export = [*WALK, *lexicon, f"pool.url={nested}", "task=export", "task.output=s3://bucket/export", results]
    assert last_line(run(*export)) == "s3://bucket/export"
    assert s3.exists("bucket/export/subset.parquet")
    publish = [*WALK, *lexicon, f"pool.url={nested}", "task=publish", "task.output=s3://bucket/scores"]
    for _ in range(2):  # the second command has nothing left to do
        assert last_line(run(*publish)) == "s3://bucket/scores"
    assert s3.exists("bucket/scores/scores-00000.parquet")
    assert not Path("s3:").exists()


def test_storage_errors_of_s3_are_one_line(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"pool\.url=s3://nowhere/pool must be a folder with"):
        Pool("p", "s3://nowhere/pool")
    with pytest.raises(UserError, match=r"s3://bucket/0\.tar: there is no such file, folder or bucket$"):
        Pool("p", "s3://bucket/{0..1}.tar")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    type(s3).clear_instance_cache()
    with pytest.raises(UserError, match="s3://bucket/pool: no credentials were found; set AWS_PROFILE"):
        Pool("p", "s3://bucket/pool")
