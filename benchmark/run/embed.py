"""``task=embed task.evalset=coco task.output=coco.npy``: image embeddings of an evaluation set, for filters."""

from collections.abc import Sequence

import numpy as np

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import atomic_write
from benchmark.core.pixel_workers import expect_images
from benchmark.core.storage import local_path
from benchmark.models.clip_models import load_clip
from benchmark.results.contamination import embed_images
from benchmark.run.config import evaluation_nodes, resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from downstream.evaluation.classification_sets import ClassificationSet, LabelledImage
from downstream.evaluation.evaluation_sets import EvaluationSet, Item


def embed(job: Job) -> None:
    """Write unit vectors of `models.clip`, one row per image, float16 (m, d); print the path."""
    task = job.cfg.task
    name, path = str(task.evalset), local_path("task.output", str(task.output))
    sets = evaluation_nodes(job.cfg)
    if name not in sets:
        raise UserError(f"task.evalset={name} is unknown; {did_you_mean(name, sets)}")
    if path.suffix != ".npy":
        raise UserError(f"task.output={path} must end in .npy")
    chosen = job.evaluation_set(name)
    images: Sequence[Item | LabelledImage]
    images = chosen.items if isinstance(chosen, EvaluationSet) else chosen.test
    if isinstance(chosen, ClassificationSet) and chosen.train:  # with which filters compare
        images = chosen.train()
    expect_images(len(images))
    clip = load_clip(**resolved(job.cfg.models.clip), device=job.device)
    embeddings = embed_images(clip, images, f"embed the images of {name}").astype(np.float16)
    with atomic_write(path) as temporary:
        np.save(temporary, embeddings)
    print_result(f"embedded {len(embeddings):,} images as {embeddings.shape[1]} numbers each")
    print_result(str(path))
