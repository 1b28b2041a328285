"""A profile as a page of HTML: Figures 3a and 4 of Lin et al. 2023, the tables, and an example of each cluster."""

from collections.abc import Sequence

from benchmark.core.visible import visible_html
from benchmark.results.page.html_page import page, rows_html, table_html
from benchmark.results.report.bar_charts import stacked_columns
from benchmark.results.report.line_charts import histograms, lines
from benchmark.results.report.svg import BLUE, GREEN, GREY, ORANGE, PINK, SKY, Series
from benchmark.results.report.table import Table
from benchmark.studies.profile.profiling import Cluster, Profile
from benchmark.studies.profile.statistics import parrot_shares
from benchmark.studies.profile.tables import clusters_table, overall_tables

KINDS: tuple[Series, ...] = (("no text", GREY), ("text, none repeated", SKY), ("parrot caption", ORANGE))
REMOVALS: dict[str, Series] = {
    "clip_no_text": ("without text", GREY),
    "clip_text": ("with text", ORANGE),
    "clip_text_all_removed": ("all text removed", BLUE),
    "clip_text_co_removed": ("co-embedded removed", GREEN),
    "clip_text_random_all": ("control of all", SKY),
    "clip_text_random_co": ("control of co-embedded", PINK),
}
DIFFERENCES: dict[str, Series] = {
    "rsa": ("RSA", BLUE),
    "rsc": ("RSC", GREEN),
    "co_over_all": ("co-embedded over all removed", ORANGE),
    "random_rsa": ("control of RSA", SKY),
    "random_rsc": ("control of RSC", PINK),
}
_STYLE = "td.words b{color:#d55e00}"  # words that the image repeats


def profile_page(profile: Profile, captions: Sequence[Table] = ()) -> str:
    """Return a whole page, which begins with the tables of `captions`; all text is escaped."""
    groups = [cluster.group for cluster in profile.clusters]
    titles = [f"cluster {cluster.number}, {cluster.group.images:,} images" for cluster in profile.clusters]
    means = [[group.means[name].value for group in groups] for name in REMOVALS]
    edges = next(iter(profile.histograms.values())).edges
    counts = [profile.histograms[name].counts for name in DIFFERENCES]
    ordered = "clusters of images, by their share of images with text"
    body = [
        *map(table_html, captions),
        "<h2>Text in images</h2>",
        stacked_columns(parrot_shares(groups), KINDS, titles, ordered),
        "<h2>Mean CLIP score before and after text is removed</h2>",
        lines(means, tuple(REMOVALS.values()), titles, ordered),
        "<h2>CLIP score lost by removing text, images with text</h2>",
        histograms(
            edges,
            counts,
            tuple(DIFFERENCES.values()),
            "cosine before minus cosine after, of images whose cosine changed",
        ),
        *(table_html(table) for table in overall_tables(profile)),
        _clusters(profile.clusters),
    ]
    return page(f"Profile of {profile.pool}", body, _STYLE)


def _clusters(clusters: Sequence[Cluster]) -> str:
    """Return a table of all clusters with their captions of the highest CLIP score, co-embedded words coloured."""
    table = clusters_table("Clusters of images", clusters)
    rows = []
    for cells, cluster in zip(table.rows, clusters, strict=True):
        numbers = "".join(f"<td>{visible_html(cell.text)}</td>" for cell in cells[:-1])
        rows.append(f'{numbers}<td class="words">{_caption(cluster)}</td>')
    return rows_html(table.title, table.header, rows)


def _caption(cluster: Cluster) -> str:
    repeated = set(cluster.example.words)
    words = cluster.example.caption.split()
    return " ".join(
        f"<b>{visible_html(word)}</b>" if word in repeated else visible_html(word) for word in words
    )
