import json
import re

from pairsift.studies.profile.page import profile_page
from pairsift.studies.profile.profiling import Cluster, Example, Profile
from pairsift.studies.profile.statistics import MEANS, RELATIVE, Estimate, Group, Histogram
from pairsift.studies.profile.tables import SHOWN, profile_tables
from pairsift.studies.profile.web_likeness.tables import LAION, likeness_table
from tests.benchmark.results.report.made_results import texts


def group(images: int, with_text: int, parrots: int) -> Group:
    estimate = Estimate(0.25, 0.125, 0.5, images)
    means = dict.fromkeys(MEANS, estimate)
    if not with_text:
        means["clip_text"] = Estimate(None, None, None, 0, "no such image")
    share = Estimate(with_text / images, 0.0, 1.0, images)
    return Group(images, with_text, parrots, share, share, means)


def profile(clusters: int = 2, caption: str = "a cat") -> Profile:
    found = [
        Cluster(n, group(10, 10 - n % 10, 1), Example(f"{n:032x}", caption, caption.split()[1:], 0.5))
        for n in range(clusters)
    ]
    bars = Histogram([-0.03, -0.01, 0.01, 0.03], [1, 0, 2])
    return Profile(
        pool="p", url="/p", shards=3, sample=40, drawn_from=30, unusable={"caption_empty": 4}, drops={"no_score": 1},
        ocr={}, ocr_key="", clip={}, clip_key="", overall=group(30, 20, 10), clusters=found,
        histograms=dict.fromkeys(RELATIVE, bars), run_id="p-1", seed=0, worker_seconds=1.0,
    )  # fmt: skip


def test_captions_are_escaped_and_repeated_words_marked() -> None:
    page = profile_page(profile(caption='see <script>alert("1")</script> & "so"'))
    assert "<script>alert" not in page
    assert "see <b>&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;</b> <b>&amp;</b>" in page


def test_the_page_begins_with_the_captions_tables() -> None:
    page = profile_page(profile(), [likeness_table("<p>", LAION)])
    assert page.index("How web-like") < page.index("Text in images")
    assert re.search(r"<th[^>]*>&lt;p&gt;</th><th[^>]*>LAION</th>", page)


def test_the_page_is_complete_and_loads_nothing() -> None:
    page = profile_page(profile(clusters=30))
    assert re.findall(r'data-chart="(.*?)"', page) == ["text", "means", "lost"]
    charts = re.findall(r'<script type="application/json" id=".*?">(.*?)</script>', page)
    shares, means, lost = ([(d["name"], d["y"]) for d in json.loads(chart)[0]["data"]] for chart in charts)
    assert [(name, values[1]) for name, values in shares] == [
        ("no text", 10.0), ("text, none repeated", 80.0), ("parrot caption", 10.0),
    ]  # fmt: skip
    assert [(name, values[0]) for name, values in means if name in ("with text", "all text removed")] == [
        ("with text", 0.25), ("all text removed", 0.25),
    ]  # fmt: skip
    assert ("RSA", [1, 0, 2, 2]) in lost  # steps over four edges
    assert page.count('class="words"') == 30
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r"(src|href)=", page.partition('id="plotly"')[0])


def test_tables_of_many_clusters_show_both_ends() -> None:
    clusters, *_, text = profile_tables(profile(clusters=2 * SHOWN + 3))
    shown = (*range(SHOWN), *range(SHOWN + 3, 2 * SHOWN + 3))
    assert [row[0] for row in texts(clusters)] == [*map(str, shown)]
    assert clusters.notes == ["The 3 clusters between them are in the JSON and on the page."]
    assert text.notes == [
        "Dropped: 1 no_score.",
        "Unusable samples in the same shards: 4 caption_empty.",
        "The pool has only 30 usable samples.",
    ]
    rows = {row[0]: row[1:] for row in texts(text)}
    assert rows["Co-embedded text rate, all images"] == ["25.00%", "[12.50%, 50.00%]", "30"]
    assert rows["Share of images with text"][0] == "66.67%"


def test_a_missing_mean_is_a_dash() -> None:
    found = profile()
    found.clusters.append(Cluster(7, group(3, 0, 0), Example("0" * 32, "x", [], 0.1)))
    clusters = profile_tables(found)[0]
    column = clusters.header.index("with text", 3)
    assert [row[column] for row in texts(clusters)] == ["0.2500", "0.2500", "–"]
