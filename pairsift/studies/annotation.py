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
from benchmark.results.gallery import thumbnail
from benchmark.results.page.html_page import plain_page, render, table_html
from benchmark.results.report.table import Table, plain
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import evaluation_nodes, make_filters, resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from downstream.evaluation.captioning import read_coco_results
from downstream.evaluation.evaluation_sets import EvaluationSet
from pairsift.studies.figure import WRAPPED
from pairsift.studies.figures import image_cell, numbers, score, text_cell
from pairsift.studies.icc.concreteness.concreteness import evaluate_on, fitted_filter
from pairsift.studies.icc.concreteness.evaluation import check_needs, score_texts
from pairsift.studies.icc.concreteness.rated_texts import ANNOTATION, CAPTION, read_annotations
from pairsift.studies.profile.web_likeness.caption_profile import sample_captions
from pairsift.studies.text_files import COMMAS, TextFile

BINS = 16  # of each score; 256 cells for the paper's 244 captions
# Uid, caption, image as a JPEG or nothing, and the caption's file, or the filter's decision.
Drawn = tuple[str, str, bytes, str]
FORMULA = ("=", "+", "-", "@", "'")  # how formulas of spreadsheets begin, which an apostrophe prevents


def annotation(job: Job) -> None:
    """Write the form and the CSV and print their paths; with `task.ratings_back`, read ratings, see `read_back`."""
    task = job.cfg.task
    if task.ratings_back:
        read_back(job)
        return
    rng = np.random.default_rng(job.seed)
    if task.evaluation:
        drawn = captions_of_images(job)
        rng.shuffle(drawn)  # the order gives no hint of the origin
    else:
        texts = sorted(set(sample_captions(job.pool, max(task.sample, task.count), job.seed)))
        order = rng.permutation(len(texts))
        if task.draw == "even":
            filters = make_filters(copy.deepcopy(task), job.choices, "task")
            order = order[spread(np.stack([score(of, texts, job.device)[order] for of in filters.values()]))]
        drawn = [(make_uid("", texts[row]), texts[row], b"", "") for row in order[: task.count]]
    source = task.evaluation or job.cfg.pool.name
    drawn_as = f"{source}-{task.question}-{task.draw}-{task.count}-seed{job.seed}"
    path = job.results_dir / "annotation" / f"{drawn_as}.html"
    shown = [(uid, text, jpeg and image_cell(jpeg).text) for uid, text, jpeg, _ in drawn]
    question = resolved(task.questions[task.question])
    write_text(path, render("annotation.html", [], "annotation.js", question=question, captions=shown))
    guarded = [(uid, f"'{text}" if text.startswith(FORMULA) else text, "") for uid, text, _, _ in drawn]
    write_csv(path.with_suffix(".csv"), [("uid", "caption", "rating"), *guarded])
    print_result(str(path))
    print_result(str(path.with_suffix(".csv")))


def captions_of_images(job: Job) -> list[Drawn]:
    """Return at most `task.count` captions of random images of `task.evaluation`, image by image.

    They are one of each file in `task.captions`; without files, two references that the filter passes and two others.
    """
    task, drawn = job.cfg.task, list[Drawn]()
    chosen = job.evaluation_set(task.evaluation) if task.evaluation in evaluation_nodes(job.cfg) else None
    if not isinstance(chosen, EvaluationSet):
        raise UserError(f"task.evaluation={task.evaluation} must be a set of evalset with captions")
    order = np.random.default_rng(job.seed).permutation(len(chosen))[: task.count]
    written = {file: read_coco_results(Path(file)) for file in task.captions}
    for file, of in written.items():
        if of.keys().isdisjoint(str(item.image_id) for item in chosen.items):
            raise UserError(
                f"task.captions={file} has no caption of an image of task.evaluation={task.evaluation}"
            )
    scorer = None if written else fitted_filter(job)
    for item in (chosen.items[row] for row in order):
        captions = [(file, of[image]) for file, of in written.items() if (image := str(item.image_id)) in of]
        if scorer:
            texts = [*dict.fromkeys(item.references)]
            passing = job.bounds.passes(score_texts(scorer, texts))
            for origin, flag in ("accepted", True), ("discarded", False):
                captions += [(origin, texts[n]) for n in np.flatnonzero(passing == flag)[:2]]
        jpeg = thumbnail(item.load())
        drawn += [(make_uid(f"{of} {item.image_id}", text), text, jpeg, of) for of, text in captions]
    return drawn[: task.count]


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

    check_needs(job.filter)
    task, texts, listed = job.cfg.task, dict[str, str](), dict[tuple[int, str], float]()
    low, high = (task.questions[task.question][end] for end in ("lowest", "highest"))
    for annotator, file in enumerate(task.ratings_back):
        source = TextFile("task.ratings_back", Path(file), COMMAS, "strict")
        for uid, caption, rating in source.rows("uid", "caption", "rating"):
            if not rating.strip():
                continue
            if not rating.strip().isdecimal() or not low <= int(rating) <= high:
                raise source.error(f"must have ratings from {low} to {high}, not {rating[:40]!r}")
            texts[uid] = caption[1:] if caption.startswith(tuple(f"'{sign}" for sign in FORMULA)) else caption
            listed[annotator, uid] = float(rating)  # the last of a form counts
    by_caption = {uid: [value for (_, of), value in listed.items() if of == uid] for uid in texts}
    several = sum(len(of) > 1 for of in by_caption.values())
    if not several:
        raise UserError("task.ratings_back must be files of two or more people who rated the same captions")
    ratings = [(annotator, uid, value) for (annotator, uid), value in listed.items()]
    alpha = AnnotationTask(ratings, interval_distance).alpha()
    row = plain(str(len(task.ratings_back)), f"{len(texts):,}", f"{several:,}", f"{alpha:.3f}")
    header = ["annotators", "captions", "rated by several", "Krippendorff's alpha (interval)"]
    print_tables([Table("Agreement", header, [row])])
    path = job.results_dir / "annotation" / f"ratings-{task.question}.csv"
    means = {uid: float(np.mean(of)) for uid, of in by_caption.items()}
    write_csv(path, [(CAPTION, ANNOTATION), *((texts[uid], mean) for uid, mean in means.items())])
    evaluate_on(job, [read_annotations(path)])
    if task.evaluation:
        show_by_origin(job, means, path.with_suffix(".html"))
    print_result(str(path))


def show_by_origin(job: Job, means: dict[str, float], path: Path) -> None:
    """Count mean ratings by origin (AVA-Captions, Figure 6, Table 2); write a page of them (supplement, Figure 2)."""
    question, counted = job.cfg.task.questions[job.cfg.task.question], []
    drawn = captions_of_images(job)
    rated = [(means[uid], text, jpeg, of) for uid, text, jpeg, of in drawn if uid in means]
    if not rated:
        raise UserError("task.ratings_back must be ratings of the form that these settings draw")
    for origin in dict.fromkeys(of for _, _, _, of in rated):
        own = np.array([mean for mean, _, _, of in rated if of == origin])
        parts = np.histogram(own, len(question.levels), (question.lowest, question.highest))[0] / len(own)
        counted.append(plain(origin, f"{len(own):,}", *map("{:.0%}".format, parts), f"{own.mean():.2f}"))
    tables = [Table("Captions by mean rating", ["captions of", "rated", *question.levels, "mean"], counted)]
    print_tables(tables)
    rows = [
        [image_cell(jpeg), text_cell(of), text_cell(text), *numbers(mean)] for mean, text, jpeg, of in rated
    ]
    tables.append(Table("Mean ratings", ["image", "caption of", "caption", "rating"], rows))
    write_text(path, plain_page(question.text, map(table_html, tables), WRAPPED))
    print_result(str(path))


def write_csv(path: Path, rows: list[tuple[object, ...]]) -> None:
    """Write rows with commas between their values."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    write_text(path, buffer.getvalue())
