"""The tables of learning rates, from made runs whose order turns at the highest rate."""

from collections.abc import Sequence

from bench.rates import tables
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import metric, result, trained

CIDER = {
    5e-4: {"random": 0.1, "clip": 0.2},
    1e-3: {"random": 0.2, "clip": 0.3},
    2e-3: {"random": 0.15, "clip": 0.1},
}


def run(name: str, rate: float, value: float, model: str, metric_name: str, sets: Sequence[str]) -> Result:
    on = {of: [metric(metric_name, value)] for of in sets}
    config = {"downstream": {model: {"training": {"lr": rate}}}}
    return result(name, downstream={model: trained(**on)}, config=config)


def runs_on(*sets: str) -> list[Result]:
    models = {"captioner": "CIDEr", "dual_encoder": "text_to_image_R@1"}
    return [
        run(name, rate, value, model, metric_name, sets)
        for model, metric_name in models.items()
        for rate, of in CIDER.items()
        for name, value in of.items()
    ]


def test_ranks_of_rates_and_orders_of_filters() -> None:
    texts = [
        [[cell.text for cell in row] for row in table.rows] for table in tables(runs_on("coco", "tuning"))
    ]
    assert texts[0] == texts[1]
    assert texts[0] == [
        ["0.0005", "20.0", "10.0", "2.5"],
        ["0.001", "30.0", "20.0", "1.0"],
        ["0.002", "10.0", "15.0", "2.5"],
    ]
    assert [row[-1] for row in texts[2]] == ["1.00", "1.00", "-1.00"]


def test_the_first_half_of_the_runs_is_enough_for_its_tables() -> None:
    assert tables(runs_on("tuning")) == tables(runs_on("coco", "tuning"))[:2]
