"""A saved view and a report on W&B that compare the filters of a project. Both are described here without a login.

To be imported when the extra ``dashboard`` is known to be there: its libraries take a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wandb_workspaces import workspaces
from wandb_workspaces.expr import Config
from wandb_workspaces.reports.v2 import interface as reports

from benchmark.core.errors import UserError
from benchmark.results.trackers import CAPTIONS, EXAMPLES, HISTOGRAM, PAIRS, SAMPLES_SEEN, VALIDATION, VERDICT

VIEW = "pairsiftfilters"  # in the view's address; always the same, so that the view is found and replaced
GROUPS = ("protocol_fingerprint", "filter_name")  # runs of one protocol are compared; seeds are averaged
COLUMNS = ("filter_family", "protocol_name", "size_name", "seed")
CURVES = ("loss", "lr", "gradient_norm", "samples_per_second")


@dataclass(frozen=True)
class DashboardSettings:
    """The project of a user or team, the title of view and report, and the metrics that are compared."""

    entity: str
    project: str
    title: str
    headlines: Sequence[str]  # metrics that filters are compared by, ``captioner/coco/CIDEr``
    validated: dict[str, str]  # metric of the validation during training, by model


def panels(settings: DashboardSettings) -> dict[str, list[Any]]:
    """Return the panels by the name of their section."""
    bars = [
        reports.BarPlot(title=name, metrics=[name], groupby_aggfunc="mean", groupby_rangefunc="minmax")
        for name in settings.headlines
    ]
    quality = [
        _curve(model, f"{VALIDATION}/{metric}", f"{metric} on a small part of the evaluation set")
        for model, metric in settings.validated.items()
    ]
    curves = {
        f"Training: {model}": [_curve(model, curve, curve) for curve in CURVES]
        for model in settings.validated
    }
    histogram = reports.CustomChart(
        query={"summaryTable": {"tableKey": HISTOGRAM}},
        chart_name="wandb/lineseries/v0",
        chart_fields={"step": "score", "lineVal": "share", "lineKey": "pairs"},
        chart_strings={"title": "Scores of the pool and of the kept pairs", "xname": "score"},
    )
    tables = [PAIRS, *(f"{model}/{name}" for model in settings.validated for name in (EXAMPLES, CAPTIONS))]
    sections: dict[str, list[Any]] = {
        "Headline metrics": bars,
        "Quality by samples seen": quality,
        **curves,
        "Selection": [histogram],
        "Samples": [reports.WeavePanelSummaryTable(table_name=name) for name in tables],
    }
    for section, shown in sections.items():
        for number, panel in enumerate(shown):
            panel._id = f"{section} {number}"  # else random: the same settings would make another view
    return sections


def _curve(model: str, name: str, title: str) -> reports.LinePlot:
    return reports.LinePlot(title=f"{model}: {title}", x=f"{model}/{SAMPLES_SEEN}", y=[f"{model}/{name}"])


def workspace(settings: DashboardSettings) -> workspaces.Workspace:
    """Return the view, runs grouped by protocol and filter."""
    return workspaces.Workspace(
        entity=settings.entity,
        project=settings.project,
        name=settings.title,
        sections=[
            workspaces.Section(name=name, panels=shown, is_open=True)
            for name, shown in panels(settings).items()
        ],
        runset_settings=workspaces.RunsetSettings(
            groupby=[Config(name) for name in GROUPS],
            pinned_columns=[*(f"config:{name}.value" for name in COLUMNS), f"summary:{VERDICT}"],
        ),
    )


def report(settings: DashboardSettings) -> reports.Report:
    """Return the report: the sections of the view, each under its heading."""
    blocks: list[Any] = [
        reports.P("Runs are grouped by protocol and filter; only runs of one protocol can be compared.")
    ]
    for name, shown in panels(settings).items():
        runs = reports.Runset(groupby=[f"config.{group}" for group in GROUPS])  # of the report's own project
        runs._id = name
        blocks += [reports.H2(name), reports.PanelGrid(runsets=[runs], panels=shown)]
    return reports.Report(
        settings.project, settings.entity, title=settings.title, blocks=blocks, width="fluid"
    )


def save(settings: DashboardSettings) -> list[str]:
    """Save the view and the report, replacing an earlier call's; return their addresses."""
    import wandb

    try:
        return [_save_view(settings), _save_report(settings, wandb.Api())]
    except wandb.errors.Error as error:
        raise UserError(
            f"W&B refused the dashboard of {settings.entity}/{settings.project}: {error}"
        ) from error


def _save_view(settings: DashboardSettings) -> str:
    view = workspace(settings)
    view._internal_name = f"nw-{VIEW}-v"
    try:
        known = workspaces.internal.get_view_dict(settings.entity, settings.project, VIEW)
        view._internal_id = known["id"]
    except ValueError as error:
        if str(error).startswith("Project"):
            raise UserError(
                f"W&B has no project {settings.entity}/{settings.project}; make a run with tracker=wandb first,"
                " or set task.entity and task.project"
            ) from None
    return str(view.save().url)


def _save_report(settings: DashboardSettings, api: Any) -> str:
    made = report(settings)
    known = api.reports(f"{settings.entity}/{settings.project}")
    made.id = next((other.id for other in known if other.display_name == settings.title), "")
    return str(made.save().url)
