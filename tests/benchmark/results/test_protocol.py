from dataclasses import replace

import pytest

from benchmark.results.protocol import Protocol, flat_facts, protocol_overrides, published_experiment

FACTS = {"pool": "80,000 pairs, ab", "size": "2,000 pairs", "captioner.training.lr": "0.001"}
BUDGET = {"captioner.training.samples_seen": "20000"}


def test_every_fact_decides_but_for_size_and_budget_in_a_family() -> None:
    first = Protocol("demo 200k", FACTS | BUDGET)
    assert Protocol("another name", first.facts).fingerprint == first.fingerprint
    for name in first.facts:
        other = replace(first, facts=first.facts | {name: "x"})
        assert other.fingerprint != first.fingerprint
        assert (other.setting == first.setting) == (name == "size")
        assert (other.family == first.family) == (name in ("size", "captioner.training.samples_seen"))


def test_differences_are_one_line() -> None:
    first = Protocol("a", FACTS)
    other = Protocol("b", FACTS | {"captioner.training.lr": "0.1", "metric.SPICE": "1.0"})
    assert first.differences(first) == ""
    lr, spice = "captioner.training.lr 0.1 instead of 0.001", "metric.SPICE 1.0 instead of none"
    assert other.differences(first) == f"{lr}; {spice}"
    many = Protocol("c", {f"metric.{number}": "1" for number in range(9)})
    assert many.differences(Protocol("d", {})).endswith("metric.3 1 instead of none; and 5 more")


def test_seeds_and_loader_settings_are_no_facts() -> None:
    identity = {"class": "C", "encoder": {"revision": "ab"}, "training": {"lr": 0.1, "seed": 3, "workers": 2}}
    assert dict(flat_facts("captioner", identity)) == {
        "captioner.class": "C", "captioner.encoder.revision": "ab", "captioner.training.lr": "0.1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("override", "changes"),
    [
        ("downstream=captioner", False), ("filter=clip", False), ("seed=1", False), ("models.clip.model=x", True),
        ("downstream.captioner.training.samples_seen=100", True), ("~evalset.coco", True), ("+metrics.x=y", True),
        ("downstream.captioner.training.validate_every=100", False), ("validate_every=100", False),
        ("pool.demo.consistency=0", True), ("budget=20000", True),
    ],
)  # fmt: skip
def test_overrides_that_change_the_setting_are_told(override: str, changes: bool) -> None:
    assert protocol_overrides(["size=200k", override]) == ((override,) if changes else ())
    assert published_experiment("icc_paper", 200_000, [override]) == ("" if changes else "icc_paper")


def test_a_published_setting_has_its_papers_pool_and_sizes() -> None:
    assert published_experiment("ds_clip", 7_500_000, ["filter=clip"]) == "ds_clip"
    sizes = (100_000, 200_000, 500_000, 1_000_000)
    published = [published_experiment("icc_paper", size, []) for size in sizes]
    assert published == ["icc_paper"] * 3 + [""]
    assert published_experiment("icc_paper", 200_000, ["pool=demo"]) == ""
    assert published_experiment("icc_demo", 200_000, []) == ""
    assert published_experiment(None, 200_000, []) == ""
    assert protocol_overrides(["~evalset.nocaps=null"]) == ("~evalset.nocaps",)  # as it is typed
