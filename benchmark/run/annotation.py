"""``task=annotation``: captions of a pool for annotators, and their ratings read back."""

import copy
import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import write_text
from benchmark.core.uids import make_uid
from benchmark.results.page.html_page import render
from benchmark.results.report.table import Table, plain
from benchmark.results.report.terminal import print_tables
from benchmark.run.concreteness import evaluate_on
from benchmark.run.config import make_filters, resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.studies.concreteness.rated_texts import ANNOTATION, CAPTION, read_annotations
from benchmark.studies.figures import score
from benchmark.studies.text_files import COMMAS, TextFile
from benchmark.studies.web_likeness.caption_profile import sample_captions

BINS = 16  # of each score; 256 cells for the paper's 244 captions
FORMULA = ("=", "+", "-", "@", "'")  # how formulas of spreadsheets begin, which an apostrophe prevents


def annotation(job: Job) -> None:
    """Write the form and the CSV and print their paths; with `task.ratings_back`, read ratings, see `read_back`."""
    task = job.cfg.task
    if task.ratings_back:
        read_back(job)
        return
    texts = sorted(set(sample_captions(job.pool, max(task.sample, task.count), job.seed)))
    order = np.random.default_rng(job.seed).permutation(len(texts))
    if task.draw == "even":
        filters = make_filters(copy.deepcopy(task), job.choices, "task")
        order = order[spread(np.stack([score(of, texts, job.device)[order] for of in filters.values()]))]
    drawn = [(make_uid("", texts[row]), texts[row]) for row in order[: task.count]]
    drawn_as = f"{job.cfg.pool.name}-{task.question}-{task.draw}-{task.count}-seed{job.seed}"
    path = job.results_dir / "annotation" / f"{drawn_as}.html"
    question = resolved(task.questions[task.question])
    page = render(
        "annotation.html", [], "annotation.js", title=question["text"], question=question, captions=drawn
    )
    write_text(path, page)
    guarded = [(uid, f"'{text}" if text.startswith(FORMULA) else text, "") for uid, text in drawn]
    write_csv(path.with_suffix(".csv"), [("uid", "caption", "rating"), *guarded])
    print_result(str(path))
    print_result(str(path.with_suffix(".csv")))


def spread(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Return an order of n pairs of scores, (2, n): one of each cell of a grid, then a second of each, and so on."""
    cells = np.ravel_multi_index(tuple((scores * BINS).astype(int).clip(0, BINS - 1)), (BINS, BINS))
    seen, turns = Counter[int](), []
    for cell in cells.tolist():
        turns.append(seen[cell])
        seen[cell] += 1
    return np.argsort(turns, kind="stable")


def read_back(job: Job) -> None:
    """Write the mean rating of each caption; show the agreement, and the correlation with the filter's scores."""
    require("studies", "nltk")
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import interval_distance

    task, texts, listed = job.cfg.task, dict[str, str](), list[tuple[int, str, float]]()
    low, high = (task.questions[task.question][end] for end in ("lowest", "highest"))
    for annotator, file in enumerate(task.ratings_back):
        source = TextFile("task.ratings_back", Path(file), COMMAS, "strict")
        for uid, caption, rating in source.rows("uid", "caption", "rating"):
            if not rating.strip():
                continue
            if not rating.strip().isdecimal() or not low <= int(rating) <= high:
                raise source.error(f"must have ratings from {low} to {high}, not {rating[:40]!r}")
            texts[uid] = caption[1:] if caption.startswith(tuple(f"'{sign}" for sign in FORMULA)) else caption
            listed.append((annotator, uid, float(rating)))
    by_caption = {uid: [value for _, of, value in listed if of == uid] for uid in texts}
    several = sum(len(of) > 1 for of in by_caption.values())
    if not several:
        raise UserError(
            "task.ratings_back must name the files of two or more people who rated the same captions"
        )
    alpha = AnnotationTask(listed, interval_distance).alpha()
    row = plain(str(len(task.ratings_back)), f"{len(texts):,}", f"{several:,}", f"{alpha:.3f}")
    header = ["annotators", "captions", "rated by several", "Krippendorff's alpha (interval)"]
    print_tables([Table("Agreement", header, [row])])
    path = job.results_dir / "annotation" / f"ratings-{task.question}.csv"
    means = [(texts[uid], float(np.mean(of))) for uid, of in by_caption.items()]
    write_csv(path, [(CAPTION, ANNOTATION), *means])
    evaluate_on(job, [read_annotations(path)])
    print_result(str(path))


def write_csv(path: Path, rows: list[tuple[object, ...]]) -> None:
    """Write rows with commas between their values."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    write_text(path, buffer.getvalue())
