"""W&B without a key: an offline run, no prompt, no network."""

from pathlib import Path

import pytest
import wandb

from benchmark.results.wandb_tracker import WandbTracker, has_key
from tests.benchmark.report.made_results import metric, result, trained


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_a_run_is_logged_offline(tmp_path: Path) -> None:
    assert not has_key()
    tracker = WandbTracker("pairsift", "sweep-1", "run-1")
    tracker.log({"captioner/loss": 2.5}, step=100)
    metrics = [metric("CIDEr", 0.5), metric("SPICE", None, "no models")]
    tracker.finish(result("clip", downstream={"captioner": trained(coco=metrics)}, kept={"person": 5}))
    wandb.teardown()  # its service may still be writing; at the end of a process W&B waits for it itself
    (folder,) = tmp_path.glob("wandb/offline-run-*")
    (log,) = folder.glob("*.wandb")
    written = log.read_bytes()
    for key in ("captioner/coco/CIDEr", "captioner/loss", "samples_seen", "kept/person", "sweep-1", "run-1"):
        assert key.encode() in written
    assert b"captioner/coco/SPICE" not in written  # an absent metric is absent there too


def test_a_key_means_online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password 0123\n")
    (tmp_path / ".netrc").chmod(0o600)
    assert has_key()
    (tmp_path / ".netrc").unlink()
    assert not has_key()
    monkeypatch.setenv("WANDB_API_KEY", "0123")
    assert has_key()
