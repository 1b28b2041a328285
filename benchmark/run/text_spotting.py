"""``task=text_spotting``: cosines of a CLIP, or a trained dual encoder, between texts and images that show them."""

import logging
from collections import Counter
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.models.checkpoints import revision
from benchmark.models.clip_models import load_clip
from benchmark.models.clip_weights import LOCAL, clip_revision
from benchmark.results.provenance import library_versions
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import make_engine, make_pool
from benchmark.run.output import print_result
from benchmark.studies.text_spotting.evaluation import Model, TextSpottingEvaluation, evaluate
from benchmark.studies.text_spotting.tables import text_spotting_tables
from benchmark.studies.text_spotting.vocabulary import (
    Vocabulary,
    captions,
    count_ngrams,
    image_texts,
    read_texts,
)

log = logging.getLogger(__name__)
CAPTIONS, OCR = "captions", "ocr"


def text_spotting(cfg: DictConfig) -> None:
    """Evaluate one model on one vocabulary; show the tables of all evaluations; print the path of the JSON."""
    model = load_model(cfg)
    vocabulary = load_vocabulary(cfg)
    evaluation = evaluate(model, vocabulary, sample=cfg.task.sample, seed=int(cfg.seed))
    if evaluation.left_out:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in evaluation.left_out.items())
        log.warning("text spotting: of %s n-grams left out: %s", f"{evaluation.drawn:,}", reasons)
    folder = Path(cfg.results_dir)
    path = write_record(folder, evaluation)
    print_tables(text_spotting_tables(read_records(folder, TextSpottingEvaluation)))
    print_result(str(path))


def load_vocabulary(cfg: DictConfig) -> Vocabulary:
    """Count the n-grams of the pool's captions, of the text in its images, or of a file.

    Raises `UserError` when there are none.
    """
    task = cfg.task
    if str(task.vocabulary) == CAPTIONS:
        drops: Counter[str] = Counter()
        pool = make_pool(cfg)
        vocabulary = count_ngrams(captions(pool, drops), f"captions of {pool.name}", task.ngram, task.top)
        if drops:
            log.warning("text spotting: captions left out: %s", dict(drops))
    elif str(task.vocabulary) == OCR:
        pool, spotter = make_pool(cfg), hydra.utils.instantiate(cfg.ocr, _convert_="all")
        texts = image_texts(pool, spotter, make_engine(cfg))
        vocabulary = count_ngrams(texts, f"text in images of {pool.name}", task.ngram, task.top)
    else:
        path = Path(str(task.vocabulary))
        vocabulary = count_ngrams(read_texts(path), path.name, task.ngram, task.top)
    if not vocabulary.ngrams:
        raise UserError(
            f"task.vocabulary={task.vocabulary} has no {task.ngram}-gram; give longer texts, or a smaller task.ngram"
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
        raise UserError(
            f"task.model={name} does not exist; give the folder of a model, or an open_clip model"
        )
    carries_weights = name.startswith((LOCAL, "hf-hub:"))
    pretrained = None if carries_weights else cfg.task.pretrained
    config = {"model": name, "pretrained": pretrained}
    encoder = load_clip(name, pretrained, device)
    # Weights given by a name alone depend on the library that fetches them.
    key = clip_revision(name).get("revision") or library_versions()["open-clip-torch"]
    return Model(encoder, config, key)


def _dual_encoder(cfg: DictConfig, folder: Path) -> Model:
    from downstream.models.base import model_folder

    if "dual_encoder" not in cfg.downstream:
        raise UserError(
            f"task.model={folder} is not an open_clip model; to load it as a trained dual encoder, add"
            " downstream=dual_encoder"
        )
    encoder = hydra.utils.instantiate(cfg.downstream.dual_encoder, _convert_="all")
    encoder.load(folder, resolve_device(cfg.device))
    return Model(encoder, {"model": str(folder), "pretrained": None}, revision(model_folder(folder)))
