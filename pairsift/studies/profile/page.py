"""A profile as a page of HTML: Figures 3a and 4 of Lin et al. 2023, the tables, and an example of each cluster."""

from collections.abc import Collection, Sequence

from markupsafe import Markup

from benchmark.core.sanitize import visible
from benchmark.results.page.charts import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    Chart,
    Json,
    Variant,
    axis,
    number,
)
from benchmark.results.page.html_page import chart_html, plain_page, table_html
from benchmark.results.report.table import Cell, Table
from pairsift.studies.profile.profiling import Profile
from pairsift.studies.profile.statistics import parrot_fractions
from pairsift.studies.profile.tables import clusters_table, overall_tables

Series = tuple[str, str]  # name in the legend, colour
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
STYLE = (
    ".words{display:block;min-width:20em;text-align:left;white-space:normal}"
    ".words b{color:#d55e00}"  # words that the image repeats
)


def profile_page(profile: Profile, captions: Sequence[Table] = ()) -> str:
    """Return a whole page, which begins with the tables of `captions`; all text is escaped."""
    charts = _charts(profile)
    clusters = clusters_table("Clusters of images", profile.clusters)
    for row, cluster in zip(clusters.rows, profile.clusters, strict=True):
        row[-1] = Cell(marked_words(cluster.example.caption, cluster.example.words))
    tables = [*overall_tables(profile), clusters]
    body = [*map(table_html, captions), *map(chart_html, charts), *map(table_html, tables)]
    return plain_page(f"Profile of {profile.pool}", body, STYLE, charts)


def _charts(profile: Profile) -> list[Chart]:
    groups = [cluster.group for cluster in profile.clusters]
    clusters = [f"cluster {cluster.number}, {cluster.group.images:,} images" for cluster in profile.clusters]
    kinds = zip(KINDS, zip(*parrot_fractions(groups), strict=True), strict=True)
    percentages = [(series, [100 * fraction for fraction in fractions]) for series, fractions in kinds]
    means = [(series, [group.means[name].value for group in groups]) for name, series in REMOVALS.items()]
    ordered = "clusters of images, by their share of images with text"
    edges = next(iter(profile.histograms.values())).edges
    counts = [
        (series, [*profile.histograms[n].counts, profile.histograms[n].counts[-1]])
        for n, series in DIFFERENCES.items()
    ]
    changed = "cosine before minus cosine after, of images whose cosine changed"
    return [
        _chart("text", "Text in images", ordered, "bar", clusters, percentages, barmode="stack"),
        _chart(
            "means", "Mean CLIP score before and after text is removed", ordered, "scatter", clusters, means
        ),
        _chart(
            "lost", "CLIP score lost by removing text, images with text", changed, "scatter", edges, counts
        ),
    ]


def _chart(
    key: str,
    title: str,
    x_title: str,
    kind: str,
    x: Sequence[str] | Sequence[float],
    series: Sequence[tuple[Series, Sequence[float | None]]],
    **layout: str,
) -> Chart:
    """Return bars or lines of n values per series over n names, or steps over the n edges of bins."""
    over_edges = not isinstance(x[0], str)
    data: list[Json] = [
        {
            "type": kind, "mode": "lines" if over_edges else "lines+markers", "name": name, "x": list(x),
            "y": [None if value is None else number(value) for value in values], "marker": {"color": colour},
            "line": {"color": colour, "shape": "hv" if over_edges else "linear"},
        }
        for (name, colour), values in series
    ]  # fmt: skip
    x_axis = axis(x_title, showticklabels=over_edges)
    y_axis = axis("", ticksuffix="%" if kind == "bar" else "")
    variant = Variant("", data, {"height": 400, "xaxis": x_axis, "yaxis": y_axis, **layout})
    return Chart(key, title, [variant])


def marked_words(caption: str, repeated: Collection[str]) -> Markup:
    """Return a caption as HTML, the words that its image repeats in bold."""
    words = (
        (Markup("<b>{}</b>") if word in repeated else Markup("{}")).format(visible(word))
        for word in caption.split()
    )
    return Markup('<span class="words">{}</span>').format(Markup(" ").join(words))
