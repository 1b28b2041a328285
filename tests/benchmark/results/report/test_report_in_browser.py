"""The report's page in a real browser: what a reader can do with it, and what hostile text cannot."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.results.page.leaderboard_page import leaderboard_page
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard_tables import leaderboard
from benchmark.results.result import Result
from tests.benchmark.results.report.made_run_folders import (
    HOSTILE,
    SCRIPT,
    full_result,
    hostile_folder,
    write_run_folder,
)

sync_api = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.slow
BOARD = ".board:not([hidden])"
TABLE = f"{BOARD} .metrics:not([hidden])"
LABELS = f"[...document.querySelectorAll('{TABLE} tbody tr:not([hidden])')].map(row => row.dataset.label)"
WIDTHS = f"[...document.querySelectorAll('{BOARD} img')].map(image => image.naturalWidth)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    executable = shutil.which("chromium-headless-shell")
    if executable is None:
        pytest.skip("no browser; apt-get install --no-install-recommends chromium-headless-shell")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


def write_page(path: Path, runs: list[Result]) -> Path:
    folders = RunFolders({run.run_id: path.parent / run.run_id for run in runs})
    path.write_text(leaderboard_page(runs, folders, leaderboard(runs, folders)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    runs = hostile_folder(folder)
    return write_page(folder / "report.html", runs)


@pytest.fixture
def page(browser: Any, hostile: Path) -> Iterator[Any]:
    """The first screen, too low for a chart: drawing one takes a second."""
    opened = browser.new_page(viewport={"width": 1280, "height": 300})
    opened.goto(hostile.as_uri())
    yield opened
    opened.close()


Opened = tuple[Any, list[str]]


@pytest.fixture(scope="module")
def everything(browser: Any, hostile: Path) -> Iterator[Opened]:
    """A page on a phone on which everything is open; its dialogs, messages, errors and requests."""
    page, events = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="light"), list[str]()
    page.on("dialog", lambda dialog: (events.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: events.append(message.text))
    page.on("pageerror", lambda error: events.append(str(error)))
    page.on("request", lambda request: events.append(request.url))
    page.goto(hostile.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    bring_into_view(page)
    yield page, events
    page.close()


@pytest.fixture
def opened(everything: Opened) -> Any:
    return everything[0]


def bring_into_view(page: Any) -> None:
    """Bring every chart and picture into view, and wait until they are drawn."""
    page.evaluate(f"""async () => {{
        for (const part of document.querySelectorAll('{BOARD} .chart, {BOARD} .pictures')) {{
            part.scrollIntoView();
            await new Promise(requestAnimationFrame);
        }}
    }}""")
    charts = f"[...document.querySelectorAll('{BOARD} .chart')]"
    wait_until(page, f"{charts}.every(chart => chart.querySelector('svg'))")
    wait_until(page, f"{WIDTHS}.every(width => width > 0)")


def wait_until(page: Any, condition: str) -> None:
    """Wait for a condition; Playwright's own way evaluates a string within the page, which its policy forbids."""
    page.evaluate(f"""async () => {{
        const end = Date.now() + 20000;
        while (!({condition})) {{
            if (Date.now() > end) throw new Error("still not so: " + {condition!r});
            await new Promise(requestAnimationFrame);
        }}
    }}""")


def test_rows_are_sorted_filtered_and_chosen(page: Any) -> None:
    header = page.locator(f"{TABLE} th", has_text="CIDEr")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert page.evaluate(LABELS) == ["oracle", "icc", "clip", SCRIPT, "random"]
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(LABELS) == ["random", SCRIPT, "clip", "icc", "oracle"]
    page.locator("#find").fill("C")
    assert page.evaluate(LABELS) == [SCRIPT, "clip", "icc", "oracle"]
    page.locator("#find").fill("concreteness")  # a family
    assert page.evaluate(LABELS) == ["icc"]
    assert page.locator(f"{BOARD} .panel:not([hidden])").count() == 1
    page.locator("#find").fill("")
    page.locator("#choose-metrics").select_option("captioner on coco")
    assert "B@4" in page.locator(TABLE).inner_text()
    page.locator("#choose-board").select_option(label="demo 100k")
    assert page.locator(f"{BOARD} h2").inner_text() == "demo 100k: synthetic demo world"
    assert "B@4" in page.locator(TABLE).inner_text()
    assert sorted(page.evaluate(LABELS)) == ["clip", "icc", "oracle", "random"]


def test_a_chart_shows_the_chosen_metric_and_filters(opened: Any) -> None:
    figure = opened.locator(f"{BOARD} figure", has_text="Quality against size")
    figure.locator(".ytitle", has_text="CIDEr").wait_for()
    figure.locator("select").select_option(label="BLEU-4, coco (captioner)")
    figure.locator(".ytitle", has_text="BLEU-4").wait_for()
    names = f"[...document.querySelectorAll('{BOARD} figure')][0].querySelectorAll('.annotation-text')"
    for text, count in (("icc", 2), ("", 4)):  # random is always there
        opened.locator("#find").fill(text)
        figure.scroll_into_view_if_needed()
        wait_until(opened, f"{names}.length === {count}")


def test_all_filters_are_behind_a_switch(browser: Any, tmp_path: Path) -> None:
    qualities = {f"f{n}": 0.2 + n / 100 for n in range(10)} | {"random": 0.1, "oracle": 0.9}
    runs = [full_result(*of, size=size) for of in qualities.items() for size in (100_000, 200_000)]
    for number, run in enumerate(runs):
        (tmp_path / run.run_id).mkdir()
        write_run_folder(tmp_path / run.run_id, seed=number)
    many = write_page(tmp_path / "report.html", runs)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(many.as_uri())
    top = ["oracle", "f9", "f8", "f7", "f6", "f5", "f4", "random"]
    assert page.evaluate(LABELS) == top
    drawn = """async (count) => {
        for (const [key, text] of [["kept", ".ytick"], ["sizes0", ".annotation-text"]]) {
            const chart = document.querySelector(`[data-chart$=${key}]`);
            chart.scrollIntoView();
            while (chart.querySelectorAll(text).length !== count) await new Promise(requestAnimationFrame);
        }
        const names = document.querySelectorAll("[data-chart$=sizes0] .annotation-text");
        return [...names].map((name) => name.textContent.slice(2));
    }"""
    assert sorted(page.evaluate(drawn, 8)) == sorted(top)  # the names are where the curves end
    page.locator("#find").fill("f1, random")
    assert page.evaluate(LABELS) == ["f1", "random"]
    page.locator("#find").fill("")
    page.locator("#everyone").check()
    assert len(page.evaluate(LABELS)) == 12
    assert len(page.evaluate(drawn, 12)) == 12
    page.close()


def test_an_image_is_enlarged_with_its_caption(page: Any) -> None:
    page.locator(f"{BOARD} .panel summary").first.click()
    picture = page.locator(f"{BOARD} .panel button.picture").first
    picture.scroll_into_view_if_needed()
    wait_until(page, f"document.querySelector('{BOARD} .panel img').naturalWidth > 0")
    picture.press("Enter")
    enlarged = page.locator("#enlarged img")
    assert enlarged.bounding_box()["width"] > 3 * picture.bounding_box()["width"]
    assert page.locator("#enlarged p").inner_text() in HOSTILE
    page.keyboard.press("Escape")
    assert not enlarged.is_visible()


def test_a_phone_shows_that_a_table_goes_on(opened: Any) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth") == 390  # no sideways scrolling of the page
    hint = f"getComputedStyle(document.querySelector('{TABLE} .scroll'), '::before').content"
    wait_until(opened, f"{hint} === '\"more columns →\"'")
    opened.evaluate(f"document.querySelector('{TABLE} .scroll').scrollLeft = 9999")
    wait_until(opened, f"{hint} === 'none'")


def test_hostile_text_is_shown_and_nothing_runs_or_is_fetched(
    page: Any, everything: Opened, hostile: Path
) -> None:
    opened, events = everything
    body = opened.locator("body").inner_text()
    assert all(text in body for text in HOSTILE)
    labels = opened.locator(f"{BOARD} .chart .ytick text").all_text_contents()
    assert SCRIPT[:20] in {label[:20] for label in labels}
    markup = "main script, main .panel b, main .card b, main img:not([data-image])"
    assert opened.locator(markup).count() == 0
    assert [e for e in events if not e.startswith(("data:", "blob:"))] == [hostile.as_uri()]
    assert set(page.evaluate(WIDTHS)) == {0}  # thumbnails wait until they are seen
    assert set(opened.evaluate(WIDTHS)) == {96}


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(31, 35, 40)"), ("dark", "rgb(230, 237, 243)")])
def test_both_colour_schemes_are_legible(opened: Any, scheme: str, colour: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened.emulate_media(color_scheme=scheme)
    bring_into_view(opened)
    title = opened.locator(f"{BOARD} .chart .ytitle").first
    assert title.evaluate("text => getComputedStyle(text).fill") == colour
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if scheme == "dark":
        options["runOnly"] = ["color-contrast"]  # nothing but colours differs
    violations = axe.run(opened, options=options).response["violations"]
    serious = [v for v in violations if v["impact"] in {"serious", "critical"}]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in serious] == []


def test_every_table_is_there_without_scripts(browser: Any, hostile: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(hostile.as_uri())
    tables = page.locator(".metrics table").count()
    assert page.locator(".metrics table:visible").count() == tables > 6
    assert page.locator("noscript p:visible").count() == 1
    page.close()
