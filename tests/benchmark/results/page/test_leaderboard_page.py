import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.page.leaderboard_page import (
    Images,
    captioned_sets,
    filter_panel,
    leaderboard_page,
    leaderboard_views,
)
from benchmark.results.protocol import Protocol
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import group
from benchmark.results.report.leaderboard_tables import leaderboard
from benchmark.results.report.table import Cell, Table
from benchmark.results.result import Result
from benchmark.results.run_folder import GalleryPair, Place, RunFiles
from tests.benchmark.results.report.made_run_folders import (
    HOSTILE,
    Folder,
    full_result,
    hostile_folder,
    write_run_folder,
)

BLOCK = re.compile(r'<script type="application/json" id="([^"]+)">(.*?)</script>', re.DOTALL)
SCRIPT = re.compile(r'<script(?: type="text/plain" id="plotly")?>(.*?)</script>', re.DOTALL)


def page(*runs: Result, folder: Path | None = None) -> str:
    """The page without Plotly."""
    folders = RunFolders({run.run_id: folder / run.run_id for run in runs} if folder else {})
    html = leaderboard_page(runs, folders, leaderboard(runs, folders))
    return re.sub(r'(id="plotly">).*?</script>', r"\1</script>", html, flags=re.DOTALL)


def test_filters_that_no_test_tells_apart_are_named_together(tmp_path: Path) -> None:
    runs = Folder(tmp_path)
    for name, mean in {"icc": 0.401, "clip": 0.4, "random": 0.1, "oracle": 0.9}.items():
        runs.add(name, [mean + seed / 200 for seed in range(3)], full=True)
    (view,) = leaderboard_views(runs.results, runs.folders)
    headline = view.tables["headline metrics"]
    assert {row[0].text.partition(" ")[0]: (row[1].rank, row[1].note) for row in headline.rows} == {
        "oracle": ("", "+80.0 above random"), "icc": ("1–2", "+30.1 above random"),
        "clip": ("1–2", "+30.0 above random"), "random": ("3", ""),
    }  # fmt: skip


def test_the_best_random_and_the_oracle_are_shown_first() -> None:
    means = {f"f{n}": 0.2 + n / 100 for n in range(10)} | {"random": 0.1, "oracle": 0.9}
    (view,) = leaderboard_views([full_result(*of) for of in means.items()], RunFolders({}))
    assert view.shown == ["random", "oracle", "f9", "f8", "f7", "f6", "f5", "f4"]
    assert list(view.tables) == [
        "headline metrics", "captioner on coco: CIDEr", "dual_encoder on coco: text-to-image R@1 (%)",
        "captioner on coco", "captioner on coco, best reference and diversity", "dual_encoder on coco", "cost",
        "kept by kind of noise (%)",
    ]  # fmt: skip
    assert all(len(table.entries) == len(table.rows) for table in view.tables.values())


def test_one_run_is_compared_with_shipped_results() -> None:
    shipped = [
        full_result(name, 0.1 * n, machine="m") for n, name in enumerate(("random", "clip", "oracle"), 1)
    ]
    shipped += [full_result("random", 0.1, seed=seed, machine="m") for seed in (1, 2)]
    html = leaderboard_page([full_result("icc", 0.25)], RunFolders({}), [], shipped)
    assert "icc: CIDEr (over seeds), coco 25.0, (+15.0) above random; text-to-image R@1" in html
    assert re.findall('<tr data-label="icc"[^>]*>', html)[0].endswith('class="own">')
    assert "random†" in html
    assert "<dt>runs</dt><dd>1</dd>" in html
    assert "1 to 3 seeds each" in html
    html = leaderboard_page([full_result("icc", 0.25)], RunFolders({}), [])
    assert "†" not in html
    assert "1 seed each" in html
    assert "Pareto" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def test_hostile_text_is_escaped_everywhere(tmp_path: Path) -> None:
    html = page(*hostile_folder(tmp_path), folder=tmp_path)
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 10
    assert not any(text in html for text in HOSTILE)
    blocks = BLOCK.findall(html)
    assert len(blocks) > 10
    assert not any("<" in text for _, text in blocks)
    assert all(json.loads(text) for _, text in blocks)
    assert not re.search(r'(src|href)="(?!#)', html)


def test_the_policy_allows_no_network_and_only_its_scripts() -> None:
    html = leaderboard_page([full_result("clip", 0.5)], RunFolders({}), [])
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert found
    policy = dict(part.split(" ", 1) for part in found[1].replace("&#39;", "'").split("; "))
    assert (policy["default-src"], policy["img-src"]) == ("'none'", "data: blob:")
    assert "connect-src" not in policy
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in SCRIPT.findall(html)
    ]
    assert policy["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)


def test_protocols_are_never_in_one_table_and_are_named() -> None:
    made = full_result("clip", 0.5, versions={"torch": "1"}, git_commit="c1")
    other = Protocol("web", {"pool": "web", "recipe": "longer"}, "icc_paper", ("training.lr=1",))
    changes = {"run_id": "other", "protocol": other, "versions": {"torch": "2"}, "git_commit": "c2"}
    html = page(made, full_result("icc", 0.4, git_commit="c1"), full_result("random", 0.1, **changes))
    first, second = re.findall(r"<article.*?</article>", html, re.DOTALL)
    assert 'data-label="random"' not in first
    assert "Not comparable with the first leaderboard: pool web instead of demo; recipe longer" in second
    assert [bool(re.search(r"<article[^>]* hidden>", part)) for part in (first, second)] == [False, True]
    assert "the published setting icc_paper" in second
    assert "overridden: training.lr=1" in second
    for provenance in ("torch 1 / 2", "c1 · c2"):
        assert provenance in html


def test_damaged_and_absent_files_are_named_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = full_result("clip", 0.5)
    folder = tmp_path / run.run_id
    folder.mkdir()
    write_run_folder(folder)
    assert "pairs and captions: icc." in page(run, full_result("icc", 0.4), folder=tmp_path)
    names = "selection.json", "gallery.parquet", "captioner/captions_coco.json", "examples.parquet"
    for name in names:
        (folder / name).write_text("[{]")
    assert "clip" in page(run, folder=tmp_path)
    assert {line.partition(" cannot be read")[0] for line in caplog.messages} == {
        f"left out: {folder / name}" for name in (*names[:2], names[3])
    }


def test_no_file_outside_the_folder_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run, damaged = full_result("clip", 0.5), tmp_path / "other" / "captioner"
    for folder in ("other", run.run_id):
        (tmp_path / folder).mkdir()
        write_run_folder(tmp_path / folder)
    (damaged / "captions_coco.json").write_text("damaged")
    for name in ("../other/captioner", str(damaged)):
        models = {name: run.downstream["captioner"]}
        assert "Generated captions" not in page(replace(run, downstream=models), folder=tmp_path)
    assert caplog.messages == []


def test_tables_need_no_runs() -> None:
    table = Table("<i>", ["a", "<u>"], [[Cell("<script>", bold=True), Cell("x")]], ["<s>"])
    html = leaderboard_page([], RunFolders({}), [table])
    assert "<td>&lt;script&gt;</td><td>x</td>" in html
    assert not re.search("<(i|u|s)>", html)
    assert "Provenance" not in html


def test_each_thumbnail_is_there_once_within_the_budget() -> None:
    images = Images([b"a" * 300, b"", b"b" * 300, b"b" * 300, b"c" * 3, b"a" * 300], budget=404)
    assert [base64.b64decode(text) for text in images.encoded.values()] == [b"a" * 300, b"c" * 3]
    assert images.encoded[images.name(b"ccc")] == base64.b64encode(b"ccc").decode()
    assert images.name(b"") == images.name(b"b" * 300) == ""
    assert (images.left_out, Images([b"a"]).left_out) == (True, False)


def test_pairs_are_below_the_titles_of_their_places() -> None:
    places: tuple[Place, ...] = ("bottom", "top", "kept")
    pairs = [GalleryPair(place, f"{n:032x}", "a cat", 0.5, b"") for n, place in enumerate(places)]
    shown = filter_panel("k", group([full_result("clip", 0.5)])[0], None, pairs).pairs
    assert {title: pair.place for title, (pair,) in shown.items()} == {
        "The highest scores": "top", "Kept: just above the threshold": "kept", "The lowest scores": "bottom",
    }  # fmt: skip


def test_captions_are_side_by_side_where_a_model_wrote_some(tmp_path: Path) -> None:
    entries = group([full_result("clip", 0.5), full_result("icc", 0.4), full_result("random", 0.1)])
    for text, folder in (("a cat", tmp_path / "clip"), ("a dog", tmp_path / "icc")):
        folder.mkdir()
        write_run_folder(folder, texts=[text])
    (captioned,) = captioned_sets([(entry, RunFiles(tmp_path / entry.label)) for entry in entries])
    assert (captioned.model, captioned.evaluation) == ("captioner", "coco")  # none of the dual encoder
    shown = [[(entry.label, text) for entry, text in captions] for _, captions in captioned.images]
    assert shown == [[("clip", "a cat"), ("icc", "a dog")]] * 2
