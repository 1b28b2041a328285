"""A profile as one page of HTML without scripts: Figures 3a and 4, the tables, and the clusters with an example."""

from collections.abc import Sequence
from html import escape

from benchmark.profile.charts import Named, lines, stacked_bars, steps
from benchmark.profile.profiling import Cluster, Profile
from benchmark.profile.statistics import parrot_shares
from benchmark.profile.tables import clusters_table, overall_tables
from benchmark.report import Table

# Colours that colour-blind people tell apart (Okabe and Ito 2008), and greys.
GREY, BLUE, ORANGE, SKY, GREEN, PINK = "#b5bac2", "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
KINDS: tuple[Named, ...] = (("no text", GREY), ("text, none repeated", SKY), ("parrot caption", ORANGE))
REMOVALS: dict[str, Named] = {
    "clip_no_text": ("without text", GREY),
    "clip_text": ("with text", ORANGE),
    "clip_text_all_removed": ("all text removed", BLUE),
    "clip_text_co_removed": ("co-embedded removed", GREEN),
    "clip_text_random_all": ("control of all", SKY),
    "clip_text_random_co": ("control of co-embedded", PINK),
}
DIFFERENCES: dict[str, Named] = {
    "rsa": ("RSA", BLUE),
    "rsc": ("RSC", GREEN),
    "co_over_all": ("co-embedded over all removed", ORANGE),
    "random_rsa": ("control of RSA", SKY),
    "random_rsc": ("control of RSC", PINK),
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font:15px/1.5 sans-serif;max-width:64em;margin:2em auto;padding:0 1em}}
svg{{width:100%;height:auto}}table{{border-collapse:collapse;margin:1em 0}}caption{{text-align:left;font-weight:bold}}
td,th{{padding:.15em .6em;border-bottom:1px solid #ddd;text-align:right;vertical-align:top}}
td:first-child,th:first-child,td.words{{text-align:left}}b{{color:#d55e00}}</style>
</head><body><h1>{title}</h1>
{body}
</body></html>
"""


def to_html(profile: Profile) -> str:
    """Return a whole page; captions and words are escaped."""
    groups = [cluster.group for cluster in profile.clusters]
    titles = [f"cluster {cluster.number}, {cluster.group.images:,} images" for cluster in profile.clusters]
    means = [[group.means[name].value for group in groups] for name in REMOVALS]
    edges = next(iter(profile.histograms.values())).edges
    counts = [profile.histograms[name].counts for name in DIFFERENCES]
    ordered = "clusters of images, by their share of images with text"
    body = [
        "<h2>Text in images</h2>",
        stacked_bars(parrot_shares(groups), KINDS, titles, ordered),
        "<h2>Mean CLIP score before and after text is removed</h2>",
        lines(means, tuple(REMOVALS.values()), titles, ordered),
        "<h2>What removal takes from the CLIP score of images with text</h2>",
        steps(
            edges,
            counts,
            tuple(DIFFERENCES.values()),
            "cosine before minus after, of the images that it changed",
        ),
        *(_table(table) for table in overall_tables(profile)),
        _clusters(profile.clusters),
    ]
    return _PAGE.format(title=escape(f"Profile of {profile.pool}"), body="\n".join(body))


def _table(table: Table) -> str:
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows]
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    return _rows(table.title, table.header, rows) + notes


def _clusters(clusters: Sequence[Cluster]) -> str:
    """Return all clusters, each with the caption that CLIP scores highest, its co-embedded words in colour."""
    table = clusters_table("Clusters of images", clusters)
    rows = []
    for cells, cluster in zip(table.rows, clusters, strict=True):
        numbers = "".join(f"<td>{escape(cell)}</td>" for cell in cells[:-1])
        rows.append(f'{numbers}<td class="words">{_caption(cluster)}</td>')
    return _rows(table.title, table.header, rows)


def _caption(cluster: Cluster) -> str:
    repeated = set(cluster.example.words)
    words = cluster.example.caption.split()
    return " ".join(f"<b>{escape(w)}</b>" if w in repeated else escape(w) for w in words)


def _rows(title: str, header: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines_ = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>\n{lines_}</table>"
