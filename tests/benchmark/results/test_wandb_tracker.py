"""W&B without a key: an offline run, no prompt, no network."""

import sys
from pathlib import Path

import pytest
import wandb

from benchmark.results.wandb_tracker import WandbTracker, has_key
from tests.benchmark.results.recorded_wandb import Recorded, record
from tests.benchmark.results.report.made_results import captioned
from tests.benchmark.results.report.made_run_folders import CAPTIONS, WEB, facts, finished_run


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "files"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A whole run, with what it leaves in its folder."""
    folder = tmp_path_factory.mktemp("logged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_DATA_DIR", str(folder / "files"))
        patch.setattr(sys, "argv", ["benchmark", "pool.url=https://me:hunter2@host/pool"])
        patch.chdir(folder)
        runs = record(patch)
        tracker = WandbTracker("pairsift", "sweep-1")
        tracker.start(facts(evalset={"limit": 3}))
        for model in ("captioner", "dual_encoder"):
            tracker.log({f"{model}/loss": 2.5, f"{model}/gradient_norm": 1.5}, step=100)
        tracker.log_captions("captioner/captions", CAPTIONS, step=100)
        random = [captioned("random", 0.2), captioned("random", 0.4, seed=1)]
        tracker.finish(*finished_run(folder / "results"), random, ["first line", "second line"])
        wandb.teardown()  # its service may still be writing
    return runs[facts().run_id]


def test_a_run_can_be_found_by_what_it_is(logged: Recorded) -> None:
    assert logged.run.id == logged.run.name == "demo-clip-200k-seed0-ab"
    assert (logged.run.group, logged.run.job_type) == ("sweep-1", "run")
    assert list(logged.run.tags) == ["demo", "clip", "200k"]
    columns = {"filter_name": "clip", "size_name": "200k", "k": 2000, "protocol_name": "demo 200k"}
    assert logged.config.items() >= (columns | {"evalset": {"limit": 3}}).items()
    assert len(logged.config["protocol_fingerprint"]) == 12
    # The command line is not logged: its URLs may have credentials.
    files = [*Path(logged.run.dir).parent.rglob("*.*")]
    assert [file.suffix for file in files].count(".wandb") == 1
    assert not any(b"hunter2" in file.read_bytes() for file in files if file.is_file())


def test_curves_have_the_axis_of_their_model_and_metrics_are_in_the_summary(logged: Recorded) -> None:
    models = ("captioner", "dual_encoder")
    assert logged.axes == {f"{model}/*": f"{model}/samples_seen" for model in models}
    assert [row for row in logged.history if any(name.endswith("/loss") for name in row)] == [
        {f"{model}/loss": 2.5, f"{model}/gradient_norm": 1.5, f"{model}/samples_seen": 100}
        for model in models
    ]
    assert "captioner/coco/SPICE" not in logged.summary  # an absent metric is absent there too
    expected = {"": 0.5, "/low": 0.4, "/high": 0.6, "/above_random": 0.2, "/random": 0.3}
    cider = {name: logged.summary[f"captioner/coco/CIDEr{name}"] for name in expected}
    assert cider == pytest.approx(expected)
    others = {"verdict": "first line\nsecond line", "kept/person": 5, "threshold": 0.25}
    assert {name: logged.summary[name] for name in others} == others


def test_scores_pairs_and_captions_are_tables(logged: Recorded) -> None:
    rows = logged.table("selection/histogram")
    assert (rows[1], rows[3]) == ([0.75, 0.25, "clip: pool"], [0.75, 1.0, "clip: kept"])
    kept, dropped = logged.table("selection/pairs")
    assert kept[:4] == ["kept", "0" * 32, WEB, 0.75]
    assert kept[4].image.size == (48, 32)
    assert dropped[2:5] == ["a dog", 0.25, None]
    ((image, *texts),) = logged.table("captioner/captions")
    assert (image.image.size, texts) == ((96, 64), [WEB, "a cat\none cat"])
    (row,) = logged.table("captioner/examples")
    assert [*row[:3], row[4]] == ["coco", "7", "a cat", WEB]


def test_subset_and_result_are_artifacts(logged: Recorded) -> None:
    subset, result = logged.artifacts["subset"], logged.artifacts["result"]
    assert subset.name.partition(":")[0] == f"subset-{captioned('clip', 0.0).selection.sha256[:16]}"
    assert result.name.partition(":")[0] == "result-demo-clip-200k-seed0-ab"
    assert {*subset.manifest.entries} == {"a.npy", "manifest.json"}
    assert {*result.manifest.entries} == {"demo-clip-200000-0.json"}
    assert logged.aliases == {"subset": ["clip", "200k"], "result": ["clip", "200k"]}


def test_a_continued_run_goes_on_as_one_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time it goes on from a checkpoint, and logs a part of the curve again.

    W&B would leave out rows with a step below its last step, so it counts steps itself; the axis is samples seen.
    """
    runs, opened = record(monkeypatch), []
    init = wandb.init
    monkeypatch.setattr(wandb, "init", lambda **given: (opened.append(given), init(**given))[1])
    seen = (range(100, 600, 100), range(400, 1000, 100))
    for steps in seen:
        tracker = WandbTracker("pairsift", "sweep-1")
        tracker.start(facts(run_id="a#b:c"))
        for step in steps:
            tracker.log({"captioner/loss": 2.5}, step=step)
        tracker._run.finish(exit_code=1)
    assert [(given["id"], given["resume"]) for given in opened] == [("a-b-c", "allow")] * 2
    run, expected = runs["a-b-c"], [step for steps in seen for step in steps]
    assert [row["captioner/samples_seen"] for row in run.history] == expected
    assert (run.axes, run.steps) == ({"captioner/*": "captioner/samples_seen"}, {None})


def test_a_key_means_online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not has_key()
    (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password 0123\n")
    (tmp_path / ".netrc").chmod(0o600)
    assert has_key()
    (tmp_path / ".netrc").unlink()
    assert not has_key()
    monkeypatch.setenv("WANDB_API_KEY", "0123")
    assert has_key()
