"""A data set as it lies on the hub, from the command line: images inside parquet, several captions per image."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import read_subset
from benchmark.results.run_folder import RunFiles
from tests.command_line import Run
from tests.jobs import make_job
from tests.pools import jpeg, rows, write_tar

CHOOSE = ["pool=img2dataset", "models=demo", "filter=clip", "size.samples=8", "engine.workers=1"]


def write_data_set(folder: Path, **columns: Any) -> list[str]:
    """Two files of 20 pairs with urls, so that uids are as in tars; returns the setting of the pool."""
    for number in range(2):
        samples = rows(20, 20 * number)
        table = {
            "image": [{"bytes": row.image, "path": None} for row in samples],
            "sentences": [[row.text, f"again, {row.text}"] for row in samples],
            "url": [row.url for row in samples],
        } | columns
        (folder / "data").mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(table), folder / f"data/train-{number:05d}-of-00002.parquet")
    return [f"pool.url={folder}"]


@pytest.fixture
def coco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Six images of COCO, and the settings of a short training that is evaluated on them."""
    names = [f"{number}.jpg" for number in range(6)]
    (tmp_path / "coco/val2014").mkdir(parents=True)
    for number, name in enumerate(names):
        (tmp_path / "coco/val2014" / name).write_bytes(jpeg(100 + number))
    place = {"filepath": "val2014", "split": "test", "sentences": [{"raw": "a photo of a thing"}] * 5}
    images = [place | {"filename": name, "cocoid": n, "imgid": n} for n, name in enumerate(names)]
    (tmp_path / "coco/dataset_coco.json").write_text(json.dumps({"images": images}))
    monkeypatch.setenv("COCO_ROOT", str(tmp_path / "coco"))
    return [
        "~evalset.nocaps", "~evalset.flickr30k", "downstream=dual_encoder", "metrics=[rouge_l]",
        "downstream.dual_encoder.training.samples_seen=32", f"results_dir={tmp_path / 'results'}",
    ]  # fmt: skip


def test_a_filter_of_images_chooses_the_pairs_of_tars(run: Run, tmp_path: Path) -> None:
    write_tar(tmp_path / "tars/0.tar", rows(40))
    chosen = []
    for pool in (write_data_set(tmp_path / "hub"), [f"pool.url={tmp_path / 'tars'}"]):
        done = run("task=select", *CHOOSE, *pool)
        assert done.returncode == 0, done.stderr
        chosen.append(read_subset(Path(done.stdout.splitlines()[-1])).tolist())
    assert len(chosen[0]) == 8
    assert chosen[0] == chosen[1]


def test_a_run_draws_from_all_captions(run: Run, coco: list[str], tmp_path: Path) -> None:
    done = run(*CHOOSE, *write_data_set(tmp_path / "hub"), *coco, "captions.use=draw")
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.splitlines()[-1])
    result = json.loads(path.read_text())
    trained = result["downstream"]["dual_encoder"]
    assert trained["evaluations"]["coco"]
    assert trained["other_captions"] == {"samples": 8, "captions": 8}
    pairs = RunFiles(path.with_suffix("")).gallery()
    assert len({pair.uid for pair in pairs}) == 8
    assert all(pair.thumbnail and pair.caption.startswith("a photo of thing") for pair in pairs)


def test_a_wrong_column_is_refused_before_scoring(tmp_path: Path) -> None:
    job = make_job("task=select", *CHOOSE, *write_data_set(tmp_path))
    image = r"its columns are image \(struct<bytes: binary, path: null>\), "
    unknown = "pool img2dataset has no such column; did you mean 'image'"
    for columns, message in (
        ({"image": "url"}, r"url \(string\)"), ({"image": "imag"}, unknown), ({"text": "image"}, image),
    ):  # fmt: skip
        other = replace(job, cfg=job.cfg.copy(), built={})
        other.cfg.pool.columns = columns
        with pytest.raises(UserError, match=message):
            other.check()
