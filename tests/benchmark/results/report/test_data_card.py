"""The card as others read it: its header by the hub's client, its Markdown by a renderer."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from benchmark.pool.pairs import Written
from benchmark.results.report.data_card import data_card, length_figures
from benchmark.results.report.hub_card import code_span, without_folders
from tests.benchmark.results.report.made_results import result

# `test_table.py` has more of them, in all places of a card.
HOSTILE = [
    "<script>alert(1)</script>",
    "`</code><b>",
    "``` ` ````",
    "a|b",
    "&lt;i&gt;",
    "\\",
    "{{ manifest }}",
]


def made(**changes: Any) -> str:
    arguments: dict[str, Any] = {
        "manifest": result("icc").selection, "written": Written(2000, 2000), "subset_files": ["subset.npy"],
        "lengths": {"words": length_figures([1, 2, 3, 3000]), "characters": length_figures([5, 10, 15])},
        "languages": Counter({"en": 190, "no": 9, "de": 1}), "results": [],
    }  # fmt: skip
    return data_card(**arguments | changes)


def test_the_header_is_the_hubs() -> None:
    data = DatasetCard(made()).data.to_dict()
    assert data["language"] == ["en", "no"]
    assert data["license"] == "other"
    assert data["task_categories"] == ["image-to-text", "text-to-image"]
    (config,) = data["configs"]
    assert config["data_files"] == [{"split": "train", "path": "subset.parquet"}]


def test_the_card_has_only_what_is_known() -> None:
    card = made()
    languages = "Languages of 200 of the captions, by fastText's lid.176: `en` 95.0%, `no` 4.5%, `de` 0.5%."
    for line in ("| words | 751.5 | 1 | 2 | 2 | 752 | 2,550 | 3,000 |", languages, "No run of the benchmark"):
        assert line in card
    assert "eval_results.jsonl" not in card
    assert "Languages of" not in made(languages=Counter())
    without_urls = made(written=Written(2000, 0))
    assert "img2dataset --url_list" not in without_urls
    assert "task=reshard" in without_urls
    assert "open_clip" not in without_urls
    assert "--train-data 'images/{00000..00002}.tar'" in made(written=Written(20_001, 20_001))


def test_a_resharded_subset_has_its_own_files_and_commands() -> None:
    card = made(written=Written(20_001, 0), subset_files=[], lengths={}, languages=Counter(), tars=3)
    assert DatasetCard(card).data.to_dict()["configs"][0]["data_files"][0]["path"] == "shards/*.tar"
    assert "--train-data 'shards/{00000000..00000002}.tar'" in card
    assert "--data_dir FOLDER/shards" in card
    for absent in ("subset.parquet", "## Captions", "## Results", "img2dataset --url_list"):
        assert absent not in card


def test_lost_pairs_and_ties_are_counted() -> None:
    lossy = replace(result("icc").selection, lost={"image_missing": 7, "image_unreadable": 1}, tied=5)
    run = result("icc", selection=lossy)
    card = made(manifest=lossy, results=[run])
    assert "- passed over, as their images cannot be read: 7 `image_missing`, 1 `image_unreadable`\n" in card
    assert "`demo-icc-200000-0`, passed over chosen pairs that cannot be read: 7 image_missing" in card
    assert f"`demo 200k` (protocol `{run.protocol.fingerprint}`, seed 0): `{run.run_id}`" in card
    assert "; 1 of the 5 pairs with that score is kept, as a hash of seed and uid decides\n" in card
    assert "passed over" not in made()
    assert "with that score" not in made()


def test_licences_of_published_scores_are_named() -> None:
    manifest = result("icc").selection
    part = {"_target_": "filters.published.entries.published", "name": "apple/datacomp_12m"}
    card = made(manifest=replace(manifest, config={"filters": {"first": part}}))
    assert "- `hf://datasets/apple/DataComp-12M/uids.npy: licence Apple's own" in card
    assert "it forbids commercial use" in card
    assert "commercial" not in made()


def test_a_filter_that_decides_has_no_lowest_score() -> None:
    manifest = result("icc").selection
    assert "lowest score kept: 0.25" in made()
    assert "lowest score kept: infinite" in made(manifest=replace(manifest, threshold=None))
    decides = replace(manifest, threshold=None, config={**manifest.config, "rank": False})
    card = made(manifest=decides)
    assert "of 79,000 that pass" in card
    assert "the filter decides which pairs pass, by its bounds" in card
    assert "lowest score" not in card


@pytest.mark.parametrize("text", HOSTILE)
def test_a_code_span_shows_the_text_itself(text: str) -> None:
    (paragraph,) = [
        t for t in MarkdownIt().parse(f"{code_span(text)} 1, {code_span('x')}") if t.type == "inline"
    ]
    assert [child.content for child in paragraph.children or []] == [text, " 1, ", "x"]


def test_a_hostile_name_stays_in_the_header() -> None:
    name = 'x: "\n---\n<b>\u202e'
    card = DatasetCard(made(manifest=replace(result("icc").selection, pool=name)))
    assert card.data.pretty_name == f"2,000 pairs of {name} by icc"
    assert "\u202e" not in card.text


def test_folders_of_this_machine_are_left_out() -> None:
    settings = {"a": ["/home/me/bert", "local-dir:/home/me/clip"], "b": {"c": "file:///home/me/x", "d": None}}
    assert without_folders(settings) == {
        "a": [".../bert", "local-dir:.../clip"],
        "b": {"c": "file://.../x", "d": None},
    }
    kept = {"hub": "google/vit-base", "remote": "s3://bucket/x", "share": 0.3, "and": "red and/or blue"}
    assert without_folders(kept) == kept


@pytest.mark.parametrize("mode", ["distilled", "direct"])
def test_settings_are_of_the_models_that_ran(mode: str) -> None:
    pipelines = {"sba": {"llm": "/x/benchmark/demo/models/llama"}}
    scorer = {"mode": mode, "checkpoint": "/hub/icc", "pipelines": pipelines}
    card = made(manifest=replace(result("icc").selection, config={"filters": {"a": scorer}}))
    assert ("llama" in card) == ("Toy models" in card) == (mode == "direct")
    toys = replace(result("clip").selection, config={"model": "demo/models/clip"})
    assert "Toy models" in made(manifest=toys)
