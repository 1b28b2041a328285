"""``task=text_spotting``: how similar a CLIP, or a trained dual encoder, finds a rendered text and the text."""

import logging
from collections import Counter
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.models.checkpoints import revision
from benchmark.models.clip_models import LOCAL, clip_revision, load_clip
from benchmark.results.result import library_versions
from benchmark.studies.text_spotting.evaluation import Model, evaluate, read_evaluations, write_evaluation
from benchmark.studies.text_spotting.tables import text_spotting_tables
from benchmark.studies.text_spotting.text_sources import captions, read_texts, written
from benchmark.studies.text_spotting.vocabulary import Vocabulary, count_ngrams
from benchmark.tasks.output import print_result
from benchmark.tasks.report import show

log = logging.getLogger(__name__)
CAPTIONS, OCR = "captions", "ocr"


def text_spotting(cfg: DictConfig) -> None:
    """Judge one model on one vocabulary; show the tables of all that were judged; print the path of the JSON."""
    for name in ("ngram", "top", "sample"):
        value = cfg.task[name]
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UserError(f"task.{name}={value} is no whole number from 1 on")
    model = load_model(cfg)
    vocabulary = load_vocabulary(cfg)
    done = evaluate(model, vocabulary, sample=cfg.task.sample, seed=int(cfg.seed))
    if done.left_out:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in done.left_out.items())
        log.warning("text spotting: of %s n-grams left out: %s", f"{done.drawn:,}", reasons)
    folder = Path(cfg.results_dir)
    path = write_evaluation(folder, done)
    show(text_spotting_tables(read_evaluations(folder)))
    print_result(str(path))


def load_vocabulary(cfg: DictConfig) -> Vocabulary:
    """Count the n-grams of the pool's captions, of its images' text, or of a file. Raises `UserError` if none."""
    task = cfg.task
    if str(task.vocabulary) == CAPTIONS:
        drops: Counter[str] = Counter()
        pool = make_pool(cfg)
        vocabulary = count_ngrams(captions(pool, drops), f"captions of {pool.name}", task.ngram, task.top)
        if drops:
            log.warning("text spotting: captions left out: %s", dict(drops))
    elif str(task.vocabulary) == OCR:
        pool, spotter = make_pool(cfg), hydra.utils.instantiate(cfg.ocr, _convert_="all")
        texts = written(pool, spotter, make_engine(cfg))
        vocabulary = count_ngrams(texts, f"text in images of {pool.name}", task.ngram, task.top)
    else:
        path = Path(str(task.vocabulary))
        vocabulary = count_ngrams(read_texts(path), path.name, task.ngram, task.top)
    if not vocabulary.ngrams:
        raise UserError(
            f"task.vocabulary={task.vocabulary} holds no {task.ngram}-gram; give texts with words"
        )
    log.info(
        "text spotting: %s of %s %d-grams of %s",
        f"{len(vocabulary.ngrams):,}",
        f"{vocabulary.distinct:,}",
        vocabulary.ngram,
        vocabulary.source,
    )
    return vocabulary


def load_model(cfg: DictConfig) -> Model:
    """Load an open_clip model, or the folder of a trained dual encoder. Raises `UserError` if it is neither."""
    name, device = str(cfg.task.model), resolve_device(cfg.device)
    folder = Path(name)
    if folder.is_dir() and not (folder / "open_clip_config.json").is_file():
        return _dual_encoder(cfg, folder)
    if folder.is_dir():
        name = f"{LOCAL}{folder}"
    elif folder.is_absolute() or name.startswith("."):
        raise UserError(f"task.model={name} is not there: no such folder")
    carries_weights = name.startswith((LOCAL, "hf-hub:"))
    pretrained = None if carries_weights else cfg.task.pretrained
    config = {"model": name, "pretrained": pretrained}
    encoder = load_clip(name, pretrained, device)
    # Weights that are known by a name alone: the library that fetches them is part of which they are.
    key = clip_revision(name).get("revision") or library_versions()["open-clip-torch"]
    return Model(encoder, config, key)


def _dual_encoder(cfg: DictConfig, folder: Path) -> Model:
    from downstream.models.base import model_folder

    if "dual_encoder" not in cfg.downstream:
        raise UserError(
            f"task.model={folder} needs downstream=dual_encoder, whose token limit it is read with"
        )
    encoder = hydra.utils.instantiate(cfg.downstream.dual_encoder, _convert_="all")
    encoder.load(folder, resolve_device(cfg.device))
    return Model(encoder, {"model": str(folder), "pretrained": None}, revision(model_folder(folder)))
