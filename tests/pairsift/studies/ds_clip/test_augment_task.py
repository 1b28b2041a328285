"""task=augment: parquet files that an interrupted run resumes with, and that training reads."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset
from pairsift.studies.ds_clip import caption_writer
from pairsift.studies.ds_clip.caption_writer import Augmenter, write_captions
from tests.command_line import Run
from tests.demos import demo_model
from tests.pools import Row, jpeg, rows, write_pool

HERE = LocalEngine("cpu", 1)
Call = Callable[..., tuple[int, str, str]]


class Shout(Augmenter):
    """Writes the caption in capitals, nothing for number 3; raises after `calls` calls."""

    def __init__(self, calls: int = 1000) -> None:
        self._calls = calls
        self._uids: list[str] = []

    def setup(self, device: torch.device) -> None:
        """Load nothing."""

    def captions(self, samples: Sequence[Sample]) -> list[str]:
        if not self._calls:
            raise KeyboardInterrupt
        self._calls -= 1
        self._uids += [sample.uid for sample in samples]
        return ["" if sample.text.endswith(" 3") else sample.text.upper() for sample in samples]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caption_writer, "PART_SIZE", 4)


@pytest.fixture
def subset(tmp_path: Path) -> Subset:
    broken = Row("bad", "u", "a broken one", jpeg(0)[:200])
    pool = Pool("p", str(write_pool(tmp_path / "pool", [[*rows(10), broken]])))
    return Subset(pool, encode_uids([row.uid for row in [*rows(10), broken]]))


def read(folder: Path) -> dict[str, str]:
    samples = [row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    assert len({row["uid"] for row in samples}) == len(samples)
    return {row["uid"]: row["caption"] for row in samples}


def test_an_interrupted_run_resumes_and_counts_all_drops(subset: Subset, tmp_path: Path) -> None:
    killed, resumed = Shout(calls=2), Shout()
    with pytest.raises(KeyboardInterrupt):
        write_captions(subset, "sha", killed, tmp_path / "out", HERE)
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 2
    drops = write_captions(subset, "sha", resumed, tmp_path / "out", HERE)
    assert drops == {"caption_empty": 1, "image_unreadable": 1}
    assert not set(killed._uids) & set(resumed._uids)
    assert len(killed._uids) + len(resumed._uids) == 10
    assert read(tmp_path / "out") == {row.uid: row.text.upper() for row in rows(10) if row.key != "00003"}
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".parquet", ".json"}
    with pytest.raises(UserError, match="another selection or augmentation"):
        write_captions(subset, "other", Shout(), tmp_path / "out", HERE)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="task=augment did not write"):
        write_captions(subset, "sha", Shout(), tmp_path, HERE)


@pytest.fixture
def call(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    folder = write_pool(tmp_path / "small", [rows(12)])
    common = [
        "pool=img2dataset", f"pool.url={folder}", "filter=random", "models=demo", "device=cpu",
        "downstream=dual_encoder", "engine.workers=1",
        "downstream.dual_encoder.training.samples_seen=8", "downstream.dual_encoder.training.batch_size=4",
        f"models.describer={demo_model('blip')}",
        f"models.rewriter={demo_model('llama')}",
    ]  # fmt: skip

    def last_line(*arguments: str) -> tuple[int, str, str]:
        done = run(*common, *arguments)
        return done.returncode, (done.stdout.splitlines() or [""])[-1], done.stderr

    return last_line


@pytest.mark.slow
def test_described_captions_train_another_model(call: Call) -> None:
    code, folder, stderr = call("task=augment", "size.samples=6")
    assert code == 0, stderr
    assert len(read(Path(folder))) == 6
    assert call("task=augment", "size.samples=6")[1] == folder
    code, plain, stderr = call("task=train", "size.samples=6")
    assert code == 0, stderr
    code, other, stderr = call("task=train", "size.samples=6", f"captions.files=[{folder}]")
    assert code == 0, stderr
    assert other != plain


def test_rewrites_go_to_the_folder_in_task_output(call: Call, tmp_path: Path) -> None:
    arguments = ("task=augment", "augmentation=rewrite", "size.samples=3", f"task.output={tmp_path / 'mine'}")
    code, folder, stderr = call(*arguments, "augmentation.max_new_tokens=4")
    assert (code, folder) == (0, str(tmp_path / "mine")), stderr
    assert (tmp_path / "mine" / "part-00000000.parquet").is_file()
    code, _, stderr = call(*arguments, "augmentation.max_new_tokens=5")
    assert (code, stderr.count("error: "), "Traceback" in stderr) == (2, 1, False)
    assert "task.output=ANOTHER_FOLDER" in stderr
