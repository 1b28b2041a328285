"""Tables and numbers in README, the leaderboard and docs/report.md agree with the reference results."""

from functools import cache

import numpy as np
from scipy.stats import bartlett

from benchmark.core.paths import REFERENCE_RESULTS
from benchmark.core.records import read_records
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import Entry, Leaderboard, leaderboards
from benchmark.results.report.leaderboard_tables import size_table, summary_board, summary_table
from benchmark.results.report.table import publish
from benchmark.results.result import Result
from benchmark.run.config import CONF
from pairsift.studies.demo_worlds import worlds
from pairsift.studies.findings import FINDINGS, SEVERAL, rank_agreement_tables
from pairsift.studies.findings import RECALL as AT_ONE
from pairsift.studies.report import Studies
from tests.benchmark.results.report.made_results import texts

CIDER, RECALL, ZERO_SHOT = METRICS = range(3)
BOTH = ("rank_sum", "intersect")
README, LEADERBOARD, REPORT = "README.md", "results/LEADERBOARD.md", "docs/report.md"


@cache
def results() -> list[Result]:
    return read_records(REFERENCE_RESULTS, Result)


@cache
def boards() -> list[Leaderboard]:
    return leaderboards(results())


@cache
def folders() -> RunFolders:
    return RunFolders({run.run_id: REFERENCE_RESULTS / run.run_id for run in results()})


@cache
def compared(metric: int) -> Compared:
    """The published leaderboard by a headline metric, with the scores of single images."""
    entries = summary_board(boards()).entries
    return compare_entries(headlines(entries)[metric], entries, folders())


@cache
def entries_at(size: int) -> dict[str, Entry]:
    setting = summary_board(boards()).protocol.setting
    (board,) = (b for b in boards() if b.protocol.setting == setting and b.entries[0].size == size)
    return {entry.label: entry for entry in board.entries}


@cache
def means(metric: int, size: int = 200_000) -> dict[str, float]:
    entries = entries_at(size)
    measure = headlines([*entries.values()])[metric]
    return {label: float(np.mean(measure.values(entry))) for label, entry in entries.items()}


def better(metric: int, one: str, other: str) -> bool:
    of = compared(metric)
    return of.comparison.better(of.index(one) or 0, of.index(other) or 0)


def p_of(metric: int, one: str, other: str) -> str:
    """The corrected p value of a comparison as sentences have it: .094."""
    of = compared(metric)
    return f"{of.comparison.p_values[of.index(one) or 0, of.index(other) or 0]:.3f}".lstrip("0")


OF_SIZES = "ICC's best 100k are above its best 500k"
ABOVE_RANDOM = ("tmars", "debiased")  # filters of text that are, by CIDEr
OF_TEXT = (*ABOVE_RANDOM, "rsa", "rsc", "no_text", "cotr")
WITH_PARROTS = ("clip", "negcliploss", "clip_stroop")
CLAIMS = {
    **{(CIDER, one, other): True for one in ("vba", "icc") for other in ("pacscore", *OF_TEXT, "random", "sba")},
    **{(metric, one, other): True for metric in (CIDER, RECALL) for one in BOTH for other in ("clip", "pacscore")},
    **{(metric, one, other): False for metric in (CIDER, RECALL) for one in BOTH for other in ("icc", "vba")},
    **{(metric, name, "clip"): True for metric in METRICS for name in ABOVE_RANDOM},
    **{(CIDER, name, "random"): name in (*ABOVE_RANDOM, "rsa", "rsc") for name in OF_TEXT},
    **{(RECALL, name, "random"): name in ABOVE_RANDOM for name in OF_TEXT},
    **{(metric, "random", "clip"): True for metric in METRICS},
    (CIDER, "random", "complexity_action"): True,
    **{(ZERO_SHOT, "random", name): True for name in (*WITH_PARROTS, "normsim", "vas")},
}  # fmt: skip


def test_filters_are_better_as_stated() -> None:
    assert {claim: better(*claim) for claim in CLAIMS} == CLAIMS
    competing = [name for name, entry in entries_at(200_000).items() if entry.competes]
    assert not any(better(ZERO_SHOT, name, "random") for name in competing)
    ranked = {metric: sorted(competing, key=means(metric).__getitem__) for metric in METRICS}
    assert [ranked[metric][0] for metric in METRICS] == ["clip"] * 3
    assert {*ranked[RECALL][-2:]} == {*BOTH}


def quoted_p_values() -> list[str]:
    of_icc, of_vba = (" and ".join(p_of(CIDER, name, of) for name in BOTH) for of in ("icc", "vba"))
    return [
        f"(p {p_of(CIDER, 'icc', 'sba')} for ICC over SBA, all others below .001, corrected)",
        f"not shown to be better than ICC (p {of_icc}) or VBA (p {of_vba}) by CIDEr",
        f"In the paper it is below random at 200k, as here (p {p_of(CIDER, 'random', 'clip')})",
        f"**T-MARS is above random, not below it** (p {p_of(RECALL, 'tmars', 'random')})",
    ]


def quoted_means_and_counts() -> list[str]:
    of_metric = [means(metric) for metric in METRICS]
    one, two, three = (sum(mean > of["oracle"] for mean in of.values()) for of in of_metric)
    action = entries_at(200_000)["complexity_action"].runs[0]
    kinds = {kind: f"{100 * action.kept[kind] / action.k:.0f}%" for kind in ("abstract", "news", "concrete")}
    passing = action.selection.scored / action.pairs_read
    recall, debiased = of_metric[RECALL], entries_at(200_000)["debiased"].runs[0].selection
    return [
        f"`results/reference` has the {len(results())} runs of `experiment=demo_grid`",
        f"{one}, {two} and {three} rows are above it",
        f"ICC has {recall['icc']:.1f} and PACScore {recall['pacscore']:.1f}",
        f"random 2,000 of the {passing:.0%} that pass",
        f"`debiased` keeps a random {debiased.distinct:,} of {debiased.scored:,} pairs",
        f"abstract captions ({kinds['abstract']}) and news ({kinds['news']}) than descriptions ({kinds['concrete']}",
    ]  # fmt: skip


def quoted_sizes() -> list[str]:
    at = {
        size: [means(metric, size) for metric in METRICS] for size in (100_000, 200_000, 500_000, 2_000_000)
    }
    grown = [
        "{:.1f} to {:.1f} and {:.1f}".format(*(at[size][RECALL][name] for size in sorted(at)[:3]))
        for name in ("icc", "random")
    ]
    shares = [
        f"{at[100_000][RECALL][name] / at[500_000][RECALL][name]:.2f}".lstrip("0")
        for name in ("icc", "pacscore", "clip")
    ]
    captions = [
        f"{at[2_000_000][CIDER][name]:.1f}, not {at[500_000][CIDER][name]:.1f}" for name in ("icc", "clip")
    ]
    findings = {row[0]: row[4] for row in published_rows("The paper's findings and the demo's")}
    of_oracle = sorted(
        headlines([*entries_at(200_000).values()])[RECALL].values(entries_at(200_000)["oracle"])
    )
    return [
        "ICC's from {}, random's from {}".format(*grown),
        "ICC's at 100k is {} of that at 500k, PACScore's {}, CLIP's {}".format(*shares),
        "(ICC {}), except for CLIP's ({})".format(*captions),
        f"ICC is better at 500k than at 100k**, against the paper {findings[OF_SIZES].removeprefix('no ')}.",
        f"(VBA {at[2_000_000][ZERO_SHOT]['vba']:.1f})",
        "One of the oracle's three seeds has {:.1f}, the others {:.1f} and {:.1f}".format(*of_oracle),
    ]


def quoted_mismatched_pairs() -> tuple[list[str], str]:
    """Sentences of the leaderboard and of README."""
    recall = {
        share: {name: float(np.mean(AT_ONE.values(run))) for name, run in of.items()}
        for share, of in worlds(results()).items()
    }
    falls = [f"{recall[share]['vba']:.1f} and {recall[share]['sba']:.1f}" for share in (0.001, 0.02, 0.05)]
    turns = [f"{recall[0.02][name]:.1f}" for name in ("icc", "pacscore")]
    return [
        "R@1 of VBA and SBA falls from {} at .1% to {} at 2% and {} at 5%".format(*falls),
        "at 2% they have {} and {}".format(*turns),
    ], f"VBA's R@1 is {recall[0.05]['vba']:.1f}, not {recall[0.001]['vba']:.1f}"


def quoted_rank_agreements() -> list[str]:
    rows = [(row[0], row[1], row[3].replace("0.", ".")) for row in texts(rank_agreement_tables(results())[0])]
    taus, recall = {(of, metric): tau for of, metric, tau in rows}, "text-to-image R@1 (%)"
    of_paper = {
        table: [tau for of, _, tau in rows if of.endswith(f"k: coco and the ICC paper's Table {table}")]
        for table in (1, 2)
    }
    of_seeds = {
        name: sorted(
            t for (of, metric), t in taus.items() if of.startswith("coco, 200k: seeds") and metric == name
        )
        for name in ("CIDEr", recall)
    }
    ends = [of_seeds[name][end] for name in of_seeds for end in (0, -1)]
    both = taus["coco, 200k", f"CIDEr and {recall}"]
    return [
        "Table 1 by CIDEr is {}, {} and {} at 100k, 200k and 500k".format(*of_paper[1]),
        "its Table 2 by R@1 {}, {} and {}".format(*of_paper[2]),
        "CIDEr of two seeds {} to {}, R@1 of two seeds {} to {}, CIDEr and R@1 {}".format(*ends, both),
    ]


def quoted_bartlett_tests() -> list[str]:
    entries = [entry for entry in entries_at(200_000).values() if len(entry.runs) >= SEVERAL]
    of = {m: [np.array(headlines(entries)[m].values(entry)) for entry in entries] for m in METRICS}
    values = [bartlett(*of[metric]).pvalue for metric in METRICS]
    p = [f"{value:.2f}".lstrip("0") if value >= 0.01 else "below .01" for value in values]
    of_roots = f"{bartlett(*map(np.sqrt, of[CIDER])).pvalue:.2f}".lstrip("0")
    return [
        "{} for CIDEr, {} for R@1 and {} for zero-shot".format(*p),
        f"for square roots of CIDEr it is {of_roots}",
    ]


def test_numbers_in_sentences_are_those_of_the_results() -> None:
    in_leaderboard = quoted_p_values() + quoted_means_and_counts() + quoted_sizes() + quoted_rank_agreements()
    of_worlds, in_readme = quoted_mismatched_pairs()
    in_leaderboard += of_worlds
    quotes = {README: [in_readme], LEADERBOARD: in_leaderboard, REPORT: quoted_bartlett_tests()}
    for file, quoted in quotes.items():
        text = " ".join((CONF.parent / file).read_text().split())
        assert [quote for quote in quoted if quote not in text] == [], file


def published_rows(section: str) -> list[list[str]]:
    """Return the rows of the tables in a section of the leaderboard."""
    text = (CONF.parent / LEADERBOARD).read_text("utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]


def test_filters_of_text_have_their_distance_to_random() -> None:
    def distance(metric: int, name: str) -> tuple[str, str]:
        p = p_of(metric, name, "random")
        return f"{means(metric)[name] - means(metric)['random']:+.1f}", "< .001" if p == ".000" else p

    of_kept = {name: entries_at(200_000)[name].runs[0] for name in OF_TEXT}
    expected = [
        [
            name,
            *distance(CIDER, name),
            *distance(RECALL, name),
            f"{100 * run.kept.get('parrot', 0) / run.k:.1f}%",
        ]
        for name, run in of_kept.items()
    ]
    assert published_rows("Filters of text in images")[2:] == expected


def test_kinds_are_those_of_the_results() -> None:
    header, _, *rows = published_rows("Kinds of pairs that each filter keeps")
    kinds = [name.replace(" ", "_").replace("-", "_") for name in header[1:]]
    for name, *parts in rows:
        run = next(run for run in entries_at(200_000)[name].runs if run.seed == 0)
        assert parts == [f"{100 * run.kept.get(kind, 0) / run.k:.1f}" for kind in kinds], name


def test_claims_over_the_changes_end_with_the_published_results() -> None:
    rows = published_rows("Which change moved which claim")
    expected = {}
    for finding in FINDINGS:
        if finding.sizes == (200_000, 200_000):
            names = finding.better, finding.worse
            runs = [next(run for run in entries_at(200_000)[name].runs if run.seed == 0) for name in names]
            one, other = (float(np.mean(finding.measure.values(run))) for run in runs)
            text = f"{one:.1f}, {other:.1f}"
            expected[finding.claim] = f"**{text}**" if one > other else text
    assert {row[0]: row[-1] for row in rows if row[0] in expected} == expected


def test_published_tables_are_current() -> None:
    board = summary_board(boards())
    of_runs = Studies().of_runs(results(), folders())
    tables = {"leaderboard": summary_table(board, folders(), boards()), "sizes": size_table(board, boards())}
    tables |= {name: named[0] for name, named in of_runs.items() if named}
    for file in (README, LEADERBOARD):
        text = (CONF.parent / file).read_text(encoding="utf-8")
        assert publish(text, tables, file).splitlines() == text.splitlines()


def test_published_runs_and_their_trainings_come_from_clean_commits() -> None:
    assert not [path.name for path in REFERENCE_RESULTS.glob("*.json") if "-dirty" in path.read_text("utf-8")]
