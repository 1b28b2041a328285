from types import SimpleNamespace

import pytest

from benchmark.results import wandb_dashboard
from benchmark.run.dashboard import dashboard
from tests.jobs import make_job


@pytest.mark.parametrize(("typed", "entity"), [("task.entity=team", "team"), ("task.entity=null", "me")])
def test_the_entity_is_the_typed_one_or_ones_own(
    typed: str, entity: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = []
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setattr("wandb.Api", lambda: SimpleNamespace(default_entity="me"))
    monkeypatch.setattr(wandb_dashboard, "save", lambda view: saved.append(view) or "an address")
    dashboard(make_job("task=dashboard", typed))
    assert [view.entity for view in saved] == [entity]
    assert capsys.readouterr().out == "an address\n"
