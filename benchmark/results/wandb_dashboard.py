"""A saved view on W&B that compares the filters of a project, described without a login.

To be imported when the extra ``dashboard`` is known to be there: its libraries take a second.
"""

from collections.abc import Mapping, Sequence
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


def workspace(
    entity: str, project: str, title: str, headlines: Sequence[str], validated: Mapping[str, str]
) -> workspaces.Workspace:
    """Return the view, runs grouped by protocol and filter.

    Args:
        headlines: metrics that filters are compared by, such as ``captioner/coco/CIDEr``.
        validated: metric of the validation during training, by model.
    """
    histogram = reports.CustomChart(
        query={"summaryTable": {"tableKey": HISTOGRAM}},
        chart_name="wandb/lineseries/v0",
        chart_fields={"step": "score", "lineVal": "share", "lineKey": "pairs"},
        chart_strings={"title": "Scores of the pool and of the kept pairs", "xname": "score"},
    )
    tables = [PAIRS, *(f"{model}/{name}" for model in validated for name in (EXAMPLES, CAPTIONS))]
    sections: dict[str, list[Any]] = {
        "Headline metrics": [
            reports.BarPlot(title=name, metrics=[name], groupby_aggfunc="mean", groupby_rangefunc="minmax")
            for name in headlines
        ],
        "Quality by samples seen": [
            _curve(model, f"{VALIDATION}/{metric}", f"{metric} on a small part of the evaluation set")
            for model, metric in validated.items()
        ],
        **{f"Training: {model}": [_curve(model, curve, curve) for curve in CURVES] for model in validated},
        "Selection": [histogram],
        "Samples": [reports.WeavePanelSummaryTable(table_name=name) for name in tables],
    }
    for section, shown in sections.items():
        for number, panel in enumerate(shown):
            panel._id = f"{section} {number}"  # else random: the same settings would make another view
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=title,
        sections=[workspaces.Section(name=n, panels=shown, is_open=True) for n, shown in sections.items()],
        runset_settings=workspaces.RunsetSettings(
            groupby=[Config(name) for name in GROUPS],
            pinned_columns=[*(f"config:{name}.value" for name in COLUMNS), f"summary:{VERDICT}"],
        ),
    )


def _curve(model: str, name: str, title: str) -> reports.LinePlot:
    return reports.LinePlot(title=f"{model}: {title}", x=f"{model}/{SAMPLES_SEEN}", y=[f"{model}/{name}"])


def save(view: workspaces.Workspace) -> str:
    """Save a view, replacing an earlier call's; return its address."""
    import wandb

    view._internal_name = f"nw-{VIEW}-v"
    try:
        try:
            view._internal_id = workspaces.internal.get_view_dict(view.entity, view.project, VIEW)["id"]
        except ValueError as error:
            if str(error).startswith("Project"):
                raise UserError(
                    f"W&B has no project {view.entity}/{view.project}; make a run with tracker=wandb first, or set"
                    " task.entity and task.project"
                ) from None
        return str(view.save().url)
    except wandb.errors.Error as error:
        raise UserError(f"W&B refused the dashboard of {view.entity}/{view.project}: {error}") from error
