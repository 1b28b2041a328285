"""``task=text_spotting``: cosines of a CLIP, or a trained dual encoder, between texts and images that show them."""

import logging
from collections import Counter
from pathlib import Path
from typing import Any

from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.models.checkpoints import revision
from benchmark.models.clip_models import LOCAL, clip_revision, load_clip
from benchmark.results.provenance import library_versions
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import build
from benchmark.run.job import Job
from benchmark.run.output import print_result
from downstream.models.base import model_folder
from pairsift.studies.parrots.evaluation import Model, TextSpottingEvaluation, evaluate
from pairsift.studies.parrots.ngrams import Vocabulary, count_ngrams
from pairsift.studies.parrots.tables import text_spotting_tables
from pairsift.studies.parrots.vocabulary import captions, image_texts, read_texts

log = logging.getLogger(__name__)
CAPTIONS, OCR = "captions", "ocr"


def text_spotting(job: Job) -> None:
    """Evaluate one model on one vocabulary; show the tables of all evaluations; print the path of the JSON."""
    model = load_model(job)
    vocabulary = load_vocabulary(job)
    evaluation = evaluate(model, vocabulary, sample=job.cfg.task.sample, seed=job.seed)
    if evaluation.left_out:
        left_out = counts(evaluation.left_out)
        log.warning("text spotting: of %s n-grams left out: %s", f"{evaluation.drawn:,}", left_out)
    path = write_record(job.results_dir, evaluation)
    print_tables(text_spotting_tables(read_records(job.results_dir, TextSpottingEvaluation)))
    print_result(str(path))


def load_vocabulary(job: Job) -> Vocabulary:
    """Count n-grams of the pool's captions, of the text in its images, or of a file. Raises `UserError` if none."""
    task = job.cfg.task
    if str(task.vocabulary) == CAPTIONS:
        drops: Counter[str] = Counter()
        texts = captions(job.pool, drops)
        vocabulary = count_ngrams(texts, f"captions of {job.pool.name}", task.ngram, task.top)
        if drops:
            log.warning("text spotting: captions left out: %s", counts(drops))
    elif str(task.vocabulary) == OCR:
        texts = image_texts(job.pool, build(job.cfg.ocr), job.engine)
        vocabulary = count_ngrams(texts, f"text in images of {job.pool.name}", task.ngram, task.top)
    else:
        path = Path(str(task.vocabulary))
        vocabulary = count_ngrams(read_texts(path), path.name, task.ngram, task.top)
    if not vocabulary.ngrams:
        raise UserError(
            f"task.vocabulary={task.vocabulary} has no {task.ngram}-gram; give longer texts, or a smaller task.ngram"
        )
    kept = f"{len(vocabulary.ngrams):,} of {vocabulary.distinct:,} {vocabulary.ngram}-grams"
    log.info("text spotting: %s of %s", kept, vocabulary.source)
    return vocabulary


def load_model(job: Job) -> Model:
    """Load an open_clip model, or the folder of a trained model. Raises `UserError` if it is neither."""
    name = str(job.cfg.task.model)
    folder = model_folder(Path(name))
    if folder.is_dir() and not (folder / "open_clip_config.json").is_file():
        return _dual_encoder(job, Path(name))
    if folder.is_dir():
        name = f"{LOCAL}{folder}"
    elif folder.is_absolute() or name.startswith("."):
        raise UserError(
            f"task.model={name} does not exist; give the folder of a model, or an open_clip model"
        )
    carries_weights = name.startswith((LOCAL, "hf-hub:"))
    pretrained = None if carries_weights else job.cfg.task.pretrained
    config = {"model": name, "pretrained": pretrained}
    encoder = load_clip(name, pretrained, job.device)
    # Weights given by a name alone depend on the library that fetches them.
    key = clip_revision(name).get("revision") or library_versions()["open-clip-torch"]
    return Model(encoder, config, key)


def _dual_encoder(job: Job, folder: Path) -> Model:
    if "dual_encoder" not in job.models:
        raise UserError(
            f"task.model={folder} is not an open_clip model; to load it as a trained dual encoder, add"
            " downstream=dual_encoder"
        )
    encoder: Any = job.models["dual_encoder"]
    encoder.load(folder, job.device)
    return Model(encoder, {"model": str(folder), "pretrained": None}, revision(model_folder(folder)))
