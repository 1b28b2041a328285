"""A profile as tables: Table 1 of Lin et al. 2023, the means of their section 5.1 and Table 9, the clusters."""

from collections.abc import Callable, Sequence

from benchmark.core.batch import counts
from benchmark.results.report.table import MISSING, Cell, Table, plain
from pairsift.studies.profile.profiling import Cluster, Profile
from pairsift.studies.profile.statistics import Estimate

RATES = {
    "cotr": "Co-embedded text rate, all images",
    "cotr_text": "– images with text",
    "fuzzy": "Fuzzy co-embedded text rate, all images",
    "fuzzy_text": "– images with text",
}
CLIP_MEANS = {
    "clip": "All images",
    "clip_all_removed": "– all text removed",
    "clip_co_removed": "– co-embedded text removed",
    "clip_no_text": "Images without text",
    "clip_text": "Images with text",
    "clip_text_all_removed": "– all text removed",
    "clip_text_co_removed": "– co-embedded text removed",
    "clip_text_random_all": "– areas of another image's text removed",
    "clip_text_random_co": "– areas of another image's co-embedded text removed",
}
DIFFERENCES = {
    "rsa": "All text removed (RSA)",
    "random_rsa": "– control: another image's areas",
    "rsc": "Co-embedded text removed (RSC)",
    "random_rsc": "– control: another image's areas",
    "co_over_all": "Co-embedded removed minus all removed",
}
Format = Callable[[float | None], str]
SHOWN = 10  # clusters with the most text, and as many with the least
HEADER = ["", "value", "95% interval", "images"]
CLUSTERS = [
    "cluster", "images", "with text", "parrot", "CoTR", "CLIP without text", "with text", "all removed", "co removed",
    "top caption",
]  # fmt: skip
CAPTION = 40  # characters of a caption in a cell


def _format(spec: str) -> Format:
    """Return a function that formats a number, a missing one as a dash."""
    return lambda value: MISSING if value is None else format(value, spec)


percent, fraction, signed = map(_format, (".2%", ".4f", "+.4f"))  # of rates, cosines, differences of cosines


def profile_tables(profile: Profile) -> list[Table]:
    """Return the tables of one profile: clusters, effects of removing text, CLIP scores, text in images."""
    clusters = profile.clusters
    between = len(clusters) - 2 * SHOWN
    shown = clusters if between <= 0 else [*clusters[:SHOWN], *clusters[-SHOWN:]]
    table = clusters_table(f"Clusters of images by their share with text, {profile.pool}", shown)
    if between > 0:
        table.notes.append(f"The {between} clusters between them are in the JSON and on the page.")
    return [table, *reversed(overall_tables(profile))]


def overall_tables(profile: Profile) -> list[Table]:
    """Return the estimates over all samples: text in images, CLIP scores, and effects of removing text."""
    group, pool = profile.overall, profile.pool
    text = [
        plain("Images", f"{group.images:,}", "", ""),
        plain("Images with text", f"{group.with_text:,}", "", ""),
        _row("Share of images with text", group.text, percent),
        _row("Parrot captions (CoTR > 0), images with text", group.parrot, percent),
        *(_row(label, group.means[name], percent) for name, label in RATES.items()),
    ]
    scores = [_row(label, group.means[name], fraction) for name, label in CLIP_MEANS.items()]
    differences = [_row(label, group.means[name], signed) for name, label in DIFFERENCES.items()]
    return [
        Table(f"Text in images, {pool} ({_extent(profile)})", HEADER, text, notes(profile)),
        Table(f"Mean CLIP score, {pool}", HEADER, scores),
        Table(f"CLIP score lost by removing text, images with text of {pool}", HEADER, differences),
    ]


def clusters_table(title: str, clusters: Sequence[Cluster]) -> Table:
    """Return one row per cluster."""
    return Table(title, CLUSTERS, [_cluster_row(cluster) for cluster in clusters])


def _extent(profile: Profile) -> str:
    if profile.sample is None:
        return "the whole pool"
    return f"a sample of {profile.sample:,}, from {profile.shards} shards"


def notes(profile: Profile) -> list[str]:
    """Return counts of the samples that are not in the tables, by reason."""
    lines = []
    if profile.drops:
        lines.append(f"Dropped: {counts(profile.drops)}.")
    if profile.unusable:
        lines.append(f"Unusable samples in the same shards: {counts(profile.unusable)}.")
    if profile.sample is not None and profile.drawn_from is not None and profile.drawn_from < profile.sample:
        lines.append(f"The pool has only {profile.drawn_from:,} usable samples.")
    return lines


def _row(label: str, estimate: Estimate, form: Format) -> list[Cell]:
    interval = MISSING if estimate.low is None else f"[{form(estimate.low)}, {form(estimate.high)}]"
    return plain(label, form(estimate.value), interval, f"{estimate.count:,}")


def _cluster_row(cluster: Cluster) -> list[Cell]:
    group, means = cluster.group, cluster.group.means
    names = ("clip_no_text", "clip_text", "clip_text_all_removed", "clip_text_co_removed")
    return plain(
        str(cluster.number),
        f"{group.images:,}",
        percent(group.text.value),
        percent(group.parrot.value),
        percent(means["cotr"].value),
        *(fraction(means[name].value) for name in names),
        cluster.example.caption[:CAPTION],
    )
