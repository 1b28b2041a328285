"""The view that compares filters: built without a login, saved to a server that keeps views."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wandb

from benchmark.results.wandb_dashboard import workspace
from benchmark.run.dashboard import compared
from tests.benchmark.results.wandb_server import Views
from tests.command_line import Run, assert_one_line
from tests.jobs import make_job

VALIDATED = {"captioner": "CIDEr", "dual_encoder": "R@1"}


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Views]:
    wandb.teardown()  # its service knows the server of an earlier test
    with Views("me", "pairsift") as views:
        threading.Thread(target=views.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("WANDB_BASE_URL", views.url)
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        yield views
        wandb.teardown()
        views.shutdown()


def spec() -> Any:
    made = (
        workspace("me", "pairsift", "Filters compared", ["captioner/coco/CIDEr"], VALIDATED)._to_model().spec
    )
    return json.loads(made.model_dump_json(by_alias=True, exclude_none=True))


def sections(view: Any) -> dict[str, list[Any]]:
    return {s["name"]: s["panels"] for s in view["section"]["panelBankConfig"]["sections"]}


def test_filters_are_compared_within_a_protocol() -> None:
    assert spec() == spec()  # the same settings make the same view
    (runs,) = spec()["section"]["runSets"]
    assert [key["name"] for key in runs["grouping"]] == ["protocol_fingerprint.value", "filter_name.value"]


def test_curves_are_drawn_against_the_models_own_samples() -> None:
    shown = sections(spec())
    quality = [(p["config"]["xAxis"], p["config"]["metrics"]) for p in shown["Quality by samples seen"]]
    assert quality == [
        ("captioner/samples_seen", ["captioner/validation/CIDEr"]),
        ("dual_encoder/samples_seen", ["dual_encoder/validation/R@1"]),
    ]
    losses = [p["config"] for p in shown["Training: captioner"]]
    assert {p["xAxis"] for p in losses} == {"captioner/samples_seen"}
    assert losses[0]["metrics"] == ["captioner/loss"]
    (bar,) = shown["Headline metrics"]
    assert bar["config"]["metrics"] == ["captioner/coco/CIDEr"]
    assert len(shown["Samples"]) == 5


def test_the_evaluation_sets_of_the_configuration_are_compared() -> None:
    job = make_job("task=dashboard", "evalset=[paper,ds_clip]", "downstream=dual_encoder")
    headlines, validated = compared(job)
    assert "dual_encoder/flickr30k/text_to_image_R@1" in headlines
    assert "dual_encoder/imagenet/zero_shot" in headlines
    assert "dual_encoder/nocaps/text_to_image_R@1" not in headlines
    assert validated == {"dual_encoder": "text_to_image_R@1"}


@pytest.mark.slow
def test_twice_makes_one_view(server: Views, run: Run) -> None:
    first = run("task=dashboard")
    assert first.returncode == 0, first.stderr
    before = {key: view["spec"] for key, view in server.views.items()}
    second = run("task=dashboard")
    assert second.stdout == first.stdout == f"{server.url}/me/pairsift?nw=pairsiftfilters\n"
    assert [view["type"] for view in server.views.values()] == ["project-view"]
    assert {key: view["spec"] for key, view in server.views.items()} == before


@pytest.mark.slow
def test_a_project_that_is_not_there_is_a_line(server: Views, run: Run) -> None:
    done = run("task=dashboard", "task.project=nosuch")
    assert_one_line(done, "W&B has no project me/nosuch; make a run with tracker=wandb first")
    assert server.views == {}


def test_without_a_key_the_remedy_is_named(run: Run) -> None:
    assert_one_line(run("task=dashboard"), "needs a W&B account; run `wandb login`, or set WANDB_API_KEY")
