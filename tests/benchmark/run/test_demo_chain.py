"""The whole chain on one small demo, twice: same uids, same metrics; and what it says on the way."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmark.core.uids import read_subset
from benchmark.results.run_folder import RunFiles
from tests.command_line import run_main
from tests.demos import draw, link

DEMO = [
    "pool.demo.pairs=600", "pool.demo.shard_size=200", "pool.demo.evaluation={coco: 12, nocaps: 4, flickr30k: 8}",
]  # fmt: skip
SMALL = [
    *DEMO, "downstream.captioner.training.samples_seen=100", "downstream.captioner.max_new_tokens=8",
    "downstream.dual_encoder.training.samples_seen=128", "evalset.classes.drawn.train=1",
    "evalset.classes.drawn.test=2", "metrics=[bleu,rouge_l,cider,diversity,polos]", "engine.workers=1",
]  # fmt: skip
METRICS = {"BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE_L", "CIDEr", "Polos"}
METRICS |= {"Diversity", "Unique-1", "Unique-2", "Unique-4"}


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run_main(*SMALL, *arguments) == 0
    last = capfd.readouterr().out.splitlines()[-1]
    found: dict[str, Any] = json.loads(Path(last).read_text())
    return found


def metrics(result: dict[str, Any]) -> dict[str, Any]:
    return {name: trained["evaluations"] for name, trained in result["downstream"].items()}


@pytest.mark.slow
def test_runs_in_empty_caches_agree_and_the_third_reuses(
    build_once: Callable[..., Path],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    runs = []
    for name in ("one", "two"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        link(build_once("chain", partial(draw, settings=DEMO)), tmp_path / name)
        runs.append(run(capfd, "filter=clip", "size.samples=20000", f"results_dir={tmp_path / name}"))
    first, second = runs
    assert first["k"] == 200
    assert first["run_id"] == second["run_id"]  # though their caches lie in different places
    assert first["selection"]["sha256"] == second["selection"]["sha256"]
    uids = [read_subset(Path(r["subset"])) for r in runs]
    assert (uids[0] == uids[1]).all()
    assert metrics(first) == metrics(second)
    assert sum(first["kept"].values()) == 200
    coco = {m["name"]: m for m in first["downstream"]["captioner"]["evaluations"]["coco"]}
    assert set(coco) == METRICS
    assert {name for name, m in coco.items() if m["value"] is None} == {"Polos"}
    domains = set(first["downstream"]["captioner"]["evaluations"])
    assert domains == {"coco", "nocaps", "nocaps/in-domain", "nocaps/near-domain", "nocaps/out-domain"}
    assert len(coco["Unique-2"]["curve"]) == 25
    assert sum(coco["Unique-2"]["curve"]) / 25 == pytest.approx(coco["Unique-2"]["value"])
    assert set(first["downstream"]["dual_encoder"]["evaluations"]) == {"coco", "flickr30k", "classes"}
    classes = {m["name"]: m for m in first["downstream"]["dual_encoder"]["evaluations"]["classes"]}
    assert 0 <= classes["zero_shot"]["value"] <= 1
    assert classes["zero_shot"]["count"] == 2 * 39
    assert "locked" in classes["linear_probe"]["reason"]
    assert set(first["stages"]) >= {"pool", "select", "train/captioner", "evaluate/dual_encoder"}

    left = tmp_path / "one" / first["run_id"]
    scores = pq.read_table(left / "captioner" / "image_scores.parquet").to_pylist()
    rouge = [r["value"] for r in scores if (r["evaluation"], r["metric"]) == ("coco", "ROUGE_L")]
    assert len(rouge) == 12
    assert sum(rouge) / 12 == pytest.approx(coco["ROUGE_L"]["value"])
    ranks = pq.read_table(left / "dual_encoder" / "image_scores.parquet").to_pylist()
    assert sum(r["metric"] == "zero_shot_rank" for r in ranks) == 2 * 39
    assert json.loads((left / "captioner" / "losses.json").read_text())[-1][0] == 100
    summary = RunFiles(left).summary()
    assert summary
    assert (sum(summary.scores.pool), sum(summary.scores.kept), summary.sampled) == (600, 200, (600, 200))
    assert summary == RunFiles(tmp_path / "two" / second["run_id"]).summary()
    assert len(RunFiles(left).gallery()) == 24
    assert [example.evaluation for example in RunFiles(left).examples()] == ["coco"] * 8 + ["nocaps"] * 8
    assert "describe" in first["stages"]
    clean = {"pool": 0, "kept": 0, "near_pool": None, "near_kept": None}
    assert first["contamination"] == dict.fromkeys(("coco", "nocaps", "flickr30k", "classes"), clean)

    again = ["filter=clip", "size.samples=10000"]
    caplog.clear()
    third = run(capfd, *again, f"results_dir={tmp_path / 'two'}")
    assert "reusing the scores of clip" in caplog.text
    assert third["scoring"]["reused"] == 1
    assert third["k"] == 100
    assert first["protocol"] == second["protocol"]
    differing = {
        name for name, fact in first["protocol"]["facts"].items() if third["protocol"]["facts"][name] != fact
    }
    assert differing == {"size"}
    assert len(list((tmp_path / "two").glob("*.json"))) == 2

    # The stages alone: the same training is found again, and evaluates to the same metrics.
    assert run_main(*SMALL, "task=train", "filter=clip", "size.samples=10000") == 0
    folders = capfd.readouterr().out.splitlines()
    assert [Path(f).name.split("-")[0] for f in folders] == ["captioner", "dual_encoder"]
    arguments = ["task=evaluate", f"task.checkpoint={folders[1]}", "downstream=dual_encoder"]
    arguments.append(f"results_dir={tmp_path}")
    assert run_main(*(s for s in SMALL if "captioner" not in s), *arguments) == 0
    evaluated = json.loads(capfd.readouterr().out)
    assert evaluated == third["downstream"]["dual_encoder"]["evaluations"]

    # The captions of the run stay; task=evaluate writes its captions next to its record.
    left = tmp_path / "two" / third["run_id"] / "captioner" / "captions_coco.json"
    before = left.stat().st_mtime_ns
    arguments = ["task=evaluate", f"task.checkpoint={folders[0]}", "downstream=captioner"]
    arguments.append(f"results_dir={tmp_path}")
    assert run_main(*(s for s in SMALL if "dual_encoder" not in s), *arguments) == 0
    evaluated = json.loads(capfd.readouterr().out)
    assert evaluated == third["downstream"]["captioner"]["evaluations"]
    assert left.stat().st_mtime_ns == before
    (written,) = tmp_path.glob("evaluations/captioner-*/captions_coco.json")
    assert written.read_text() == left.read_text()
