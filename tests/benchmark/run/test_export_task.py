"""``task=export`` on small pools: what it writes is a pool again, and what img2dataset and the hub take."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from benchmark.core.records import write_record
from benchmark.core.uids import decode_uids, read_subset
from benchmark.run.export import detect_languages
from benchmark.selection.manifest import Manifest
from benchmark.selection.selection import Selection, Selector
from tests.benchmark.results.report.made_results import metric, result, trained
from tests.command_line import Run, assert_one_line
from tests.extras import hide_extra, needs_extra
from tests.pools import rows, write_metadata

RANDOM = ["pool=img2dataset", "filter=random", "engine.workers=1"]


class TwoEpochs(Selector):
    """The first k pairs, and then the next k."""

    def select(self, table: Any, k: int, *unused: Any) -> Selection:
        return Selection.of_rows(table, [np.arange(k), np.arange(k, 2 * k)], len(table.uids), {})


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    """Keep 12 of 30; results are in an empty folder."""
    write_metadata(tmp_path / "pool" / "a.parquet", rows(20))
    write_metadata(tmp_path / "pool" / "b.parquet", rows(10, start=20))
    return [
        *RANDOM,
        f"pool.url={tmp_path / 'pool'}",
        "size.samples=12",
        f"results_dir={tmp_path / 'results'}",
    ]


@pytest.mark.slow
def test_what_is_exported_is_a_pool_of_the_same_pairs(run: Run, settings: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = run("task=export", *settings, f"task.output={folder}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(folder)
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md",
        "meta.json",
        "subset.npy",
        "subset.parquet",
    ]
    selected = Path(run("task=select", *settings).stdout.splitlines()[-1])
    assert (folder / "subset.npy").read_bytes() == selected.read_bytes()

    again = run("task=select", *RANDOM, f"pool.url={folder}", "size.samples=12")
    uids = read_subset(Path(again.stdout.splitlines()[-1]))
    assert uids.tolist() == read_subset(selected).tolist()
    table = pq.read_table(folder / "subset.parquet")
    assert sorted(table["uid"].to_pylist()) == decode_uids(uids)

    assert run("task=export", *settings, f"task.output={folder}").returncode == 0
    others = run("task=export", *settings, f"task.output={folder}", "seed=1")
    assert_one_line(others, f"task.output={folder} holds the output of another command")
    assert read_subset(folder / "subset.npy").tolist() == uids.tolist()
    threshold = json.loads(selected.with_suffix(".json").read_text())["threshold"]
    assert min(table["score"].to_pylist()) == threshold


def test_the_cards_command_names_columns_of_the_parquet(run: Run, settings: list[str]) -> None:
    folder = Path(run("task=export", *settings).stdout.splitlines()[-1])
    card = DatasetCard.load(folder / "README.md")
    command = card.text.split("```bash\n")[1].split("```")[0]
    program, *words = shlex.split(command.replace("\\\n", ""))
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert program == "img2dataset"
    columns = pq.read_schema(folder / options["--url_list"]).names
    extra = json.loads(options["--save_additional_columns"])
    assert [options["--url_col"], options["--caption_col"], *extra] == ["url", "caption", "uid", "score"]
    assert set(columns) == {"url", "caption", "uid", "score"}


@pytest.mark.slow
def test_only_runs_on_the_same_pairs_are_its_results(run: Run, settings: list[str], tmp_path: Path) -> None:
    selected = Path(run("task=select", *settings).stdout.splitlines()[-1])
    manifest = Manifest(**json.loads(selected.with_suffix(".json").read_text()))
    models = {"captioner": trained(coco=[metric("CIDEr", 0.5)])}
    write_record(tmp_path / "results", result("random", selection=manifest, downstream=models))
    write_record(tmp_path / "results", result("clip", downstream=models))
    folder = tmp_path / "out"
    run("task=export", *settings, f"task.output={folder}")
    (row,) = (folder / "eval_results.jsonl").read_text().splitlines()
    assert json.loads(row)["run"] == "demo-random-200000-0"
    assert "demo-random-200000-0" in (folder / "README.md").read_text()

    run("task=export", *settings, f"results_dir={tmp_path / 'none'}", f"task.output={folder}")
    assert not (folder / "eval_results.jsonl").exists()


def test_epochs_that_differ_have_a_file_each(run: Run, settings: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = run("task=export", *settings, f"task.output={folder}", f"selector._target_={__name__}.TwoEpochs")
    assert done.returncode == 0, done.stderr
    files = [folder / f"subset-epoch00{number}.npy" for number in range(2)]
    assert sorted(folder.glob("*.npy")) == files
    uids = [uid for file in files for uid in decode_uids(read_subset(file))]
    assert sorted(pq.read_table(folder / "subset.parquet")["uid"].to_pylist()) == uids
    assert "24 distinct ones" in (folder / "README.md").read_text()


@needs_extra("language")
def test_languages_of_captions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a dog on the beach with a ball", "ein Hund mit einem Ball am Strand", "the house on the hill"]
    pq.write_table(pa.table({"caption": texts}), tmp_path / "pairs.parquet")
    assert list(detect_languages(tmp_path / "pairs.parquet", 3)) == ["en", "de", "en"]
    hide_extra("language", monkeypatch)
    assert list(detect_languages(tmp_path / "pairs.parquet", 3)) == []
