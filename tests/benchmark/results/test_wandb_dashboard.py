"""The view that compares filters: built without a login, saved to a server that keeps views."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import wandb

from benchmark.results import wandb_dashboard
from benchmark.results.wandb_dashboard import workspace
from benchmark.run.dashboard import compared, dashboard
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


def test_filters_are_compared_within_a_protocol_by_each_models_samples() -> None:
    def spec() -> Any:
        view = workspace("me", "pairsift", "Filters compared", ["captioner/coco/CIDEr"], VALIDATED)
        return json.loads(view._to_model().spec.model_dump_json(by_alias=True, exclude_none=True))

    assert spec() == spec()  # the same settings make the same view
    section = spec()["section"]
    (runs,) = section["runSets"]
    assert [key["name"] for key in runs["grouping"]] == ["protocol_fingerprint.value", "filter_name.value"]
    shown = {s["name"]: s["panels"] for s in section["panelBankConfig"]["sections"]}
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
def test_twice_makes_one_view_of_a_project_that_is_there(server: Views, run: Run) -> None:
    absent = run("task=dashboard", "task.project=nosuch")
    assert_one_line(absent, "W&B has no project me/nosuch; make a run with tracker=wandb first")
    assert server.views == {}
    first = run("task=dashboard")
    assert first.returncode == 0, first.stderr
    before = {key: view["spec"] for key, view in server.views.items()}
    second = run("task=dashboard")
    assert second.stdout == first.stdout == f"{server.url}/me/pairsift?nw=pairsiftfilters\n"
    assert [view["type"] for view in server.views.values()] == ["project-view"]
    assert {key: view["spec"] for key, view in server.views.items()} == before


@pytest.mark.parametrize(("typed", "entity"), [("task.entity=team", "team"), ("task.entity=null", "me")])
def test_the_entity_is_the_typed_one_or_ones_own(
    typed: str, entity: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setattr("wandb.Api", lambda: SimpleNamespace(default_entity="me"))
    monkeypatch.setattr(wandb_dashboard, "save", lambda view: view.entity)
    dashboard(make_job("task=dashboard", typed))
    assert capsys.readouterr().out == f"{entity}\n"


def test_without_a_key_the_remedy_is_named(run: Run) -> None:
    assert_one_line(run("task=dashboard"), "needs a W&B account; run `wandb login`, or set WANDB_API_KEY")
