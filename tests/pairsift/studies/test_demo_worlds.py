"""Runs of the demo's worlds beside each other: which of them belong together, their tables, their picture."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmark.core.errors import UserError
from benchmark.core.records import write_record
from benchmark.results.result import Result
from pairsift.studies.demo_worlds import world_tables, worlds
from pairsift.studies.figures import mismatched_pairs
from tests.benchmark.results.report.made_results import metric, protocol, result, texts, trained


def run(name: str, cider: float, recall: float, *, seed: int = 0, **demo: float) -> Result:
    models = {
        "captioner": trained(coco=[metric("CIDEr", cider)]),
        "dual_encoder": trained(coco=[metric("text_to_image_R@1", recall)]),
    }
    of_pool = protocol(pool=f"demo {demo}", precision="fp32")
    return result(name, seed=seed, downstream=models, config={"pool": {"demo": demo}}, protocol=of_pool)


RUNS = [
    run("icc", 0.2, 0.06, mismatched=0.05),
    run("icc", 0.3, 0.07, seed=1, mismatched=0.05),
    run("pacscore", 0.1, 0.15, mismatched=0.05),
    run("icc", 0.25, 0.16, mismatched=0.0),
    run("pacscore", 0.11, 0.14, mismatched=0.0),
    run("random", 0.01, 0.02, mismatched=0.0),  # not in the other world
]


def test_only_runs_that_differ_in_the_setting_are_put_beside_each_other() -> None:
    other_models = replace(run("icc", 0.9, 0.9, mismatched=0.01), protocol=protocol(precision="bf16"))
    uncut = run("icc", 0.9, 0.9, mismatched=0.02, cut=False)
    larger = replace(run("icc", 0.9, 0.9, mismatched=0.03), size=500_000)
    found = worlds([*RUNS, other_models, uncut, larger])
    assert {value: sorted(of) for value, of in found.items()} == {
        0.0: ["icc", "pacscore", "random"],
        0.05: ["icc", "pacscore"],
    }
    assert found[0.05]["icc"].seed == 0
    other = run("icc", 0.9, 0.9, mismatched=0.0)
    other = replace(other, selection=replace(other.selection, config={"_target_": "icc", "minimum": 1}))
    assert {value: sorted(of) for value, of in worlds([*RUNS, other]).items()} == {
        0.0: ["pacscore", "random"],
        0.05: ["pacscore"],
    }
    assert worlds(RUNS[:3]) == {}


def test_values_and_claims_of_each_world() -> None:
    tables = world_tables(RUNS)
    assert tables.keys() == {"mismatched", "claims"}
    ((values,), (claims,)) = tables.values()
    assert values.header == ["filter", "CIDEr, 0", "CIDEr, 0.05", "R@1, 0", "R@1, 0.05"]
    assert texts(values) == [
        ["icc", "25.0", "20.0", "16.0", "6.0"],
        ["pacscore", "11.0", "10.0", "14.0", "15.0"],
    ]
    assert [row[0] for row in texts(claims)] == [
        "ICC is above the best of the others",
        "ICC retrieves better than PACScore",
    ]
    assert texts(claims)[1][1:] == ["R@1", "15.5, 6.5", "**16.0, 14.0**", "6.0, 15.0"]


def test_the_picture_has_a_line_for_each_shared_filter(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for number, made in enumerate(RUNS):
        write_record(tmp_path, replace(made, run_id=str(number)))
    text = mismatched_pairs(str(tmp_path))
    ET.fromstring(text)
    assert all(label in text for label in (">icc<", ">pacscore<", ">mismatched pairs (%)<"))
    assert ">random<" not in text
    with pytest.raises(UserError, match="no runs of several worlds"):
        mismatched_pairs(str(tmp_path / "none"))
