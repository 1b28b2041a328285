"""Figures of the papers, drawn again, and one of the demo: tables of images and captions, or pictures as SVG.

A config's `_target_` names a function. Its arguments are settings, and, undocumented, parts of the command.
"""

import base64
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import torch
from markupsafe import Markup

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.extras import require
from benchmark.core.ranges import PositiveInt
from benchmark.core.uids import UidArray, decode_uids, read_subset
from benchmark.engine.base import Engine
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of
from benchmark.results.gallery import short_text, thumbnail, thumbnails
from benchmark.results.report.table import MISSING, Cell, Table
from benchmark.results.results_folders import read_runs
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import join_scores
from downstream.batching import StoredImages, to_pixels
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.models.dual_encoder import PairEncoder
from filters.base import Filter, Scores
from filters.cotr import split_words
from filters.ocr.features import TextRecognition
from pairsift.studies.demo_worlds import MEASURES, shared_filters, worlds
from pairsift.studies.icc.concreteness.evaluation import check_needs, score_texts, set_up
from pairsift.studies.parrots.ngrams import count_ngrams
from pairsift.studies.profile.page import marked_words
from pairsift.studies.profile.pool_sample import IMAGE, PoolSample
from pairsift.studies.profile.profiling import cluster_images, text_in_images
from pairsift.studies.profile.web_likeness.caption_profile import sample_captions

LABELLED = 5000  # random pairs of the pool whose topics are shown
CLOUD, SIZED = Markup('<span class="words">{}</span>'), Markup('<span style="font-size:{:.0f}px">{}</span>')
Filters = Mapping[str, Filter]  # by the names of their columns


def pairs(
    pool: Pool,
    engine: Engine,
    seed: int,
    filters: Filters,
    order: Mapping[str, float],
    negated: Sequence[str] = (),
    lowest: bool = False,
    count: PositiveInt = 12,
    samples: PositiveInt | None = 2000,
    captions: Sequence[str] = (),
) -> list[Table]:
    """Return pairs of the highest weighted sums of ranks, with their images and scores.

    Args:
        filters: pairs that one of them leaves out are not shown. If one reads the text in images, it is shown, too.
        order: weight of each filter's rank, from 0 to 1.
        negated: filters whose measure is minus their score.
        lowest: whether the lowest sums are shown, too.
        count: pairs of each table.
        samples: random pairs of the pool that are scored; None for all.
        captions: files or folders of task=augment; only pairs with a caption in each are shown.
    """
    for name in (*order, *negated):
        if name not in filters:
            raise UserError(f"figure.filters has no {name}; {did_you_mean(name, filters)}")
    pool = pool if samples is None else PoolSample(pool, samples, seed)
    uids, scores = _joined(pool, engine, filters)
    scores |= {name: -scores[name] for name in negated}
    sums = [weight * scipy.stats.rankdata(scores[name]) for name, weight in order.items()]
    written = [CaptionSources(pool, files=[file]).of(uids).by_uid for file in captions]
    ranked = np.argsort(-np.sum(sums, axis=0), kind="stable")
    if written:
        ranked = ranked[[all(uid in of for of in written) for uid in decode_uids(uids[ranked])]]
    features = [of for scorer in filters.values() for leaf in scorer.leaves() for of in leaf.features]
    spotter = next((of.spotter for of in features if isinstance(of, TextRecognition)), None)
    by = " ".join(f"{weight:+g} × {name}" for name, weight in order.items())
    header = ["image", "caption", *(Path(file).name.partition("-")[0] for file in captions)]
    header, tables = [*header, *["text in the image"] * (spotter is not None), *scores], []
    for title, chosen in [("Highest", ranked[:count]), ("Lowest", ranked[::-1][:count])][: 1 + lowest]:
        shown = uids[chosen]
        images, read = thumbnails(pool, shown), text_in_images(pool, shown, spotter)
        table = []
        for uid, text, row in zip(decode_uids(shown), captions_of(pool, shown), chosen, strict=True):
            lines = read.get(uid, [])
            cells = [image_cell(images.get(uid, b"")), text_cell(text, split_words(lines))]
            cells += [text_cell(of[uid][0]) for of in written]
            cells += [text_cell(" / ".join(lines))] * (spotter is not None)
            table.append(cells + numbers(*(of[row] for of in scores.values())))
        tables.append(Table(f"{title} ranks of {len(ranked):,} pairs by {by}", header, table))
    return tables


def _joined(pool: Pool, engine: Engine, filters: Filters) -> tuple[UidArray, dict[str, Scores]]:
    """Return the n pairs that have a score by every filter, sorted, and these scores, (n,)."""
    uids, columns = join_scores([score_pool(pool, of, engine) for of in filters.values()])
    rows = np.flatnonzero(np.isfinite(np.stack(columns)).all(axis=0))
    if not len(rows):
        raise UserError(f"figure: no pair of pool {pool.name} has a score by {', '.join(filters)}")
    return uids[rows], {name: column[rows] for name, column in zip(filters, columns, strict=True)}


def images_of_clusters(
    pool: Pool,
    engine: Engine,
    seed: int,
    filters: Filters,
    clusters: PositiveInt,
    shown: PositiveInt,
    count: PositiveInt,
    samples: PositiveInt | None,
) -> list[Table]:
    """Return the images of the highest CLIP scores in clusters of similar images, a column per cluster.

    `filters` are `CLIP`, and `CoTR` if the clusters with the most parrot captions are shown, else they are random.
    There are at most `clusters`, with 20 images or more on average, of `samples` random pairs or all for None;
    `shown` of them are shown, with `count` images each.
    """
    require("clusters")
    pool = pool if samples is None else PoolSample(pool, samples, seed)
    uids, scores = _joined(pool, engine, filters)
    labels = cluster_images(pool, filters["CLIP"].features[0], uids, clusters, seed)
    numbers, order = np.unique(labels), np.argsort(-scores["CLIP"], kind="stable")
    members = [order[labels[order] == n] for n in np.random.default_rng(seed).permutation(numbers)]
    parrot, text = scores.get("CoTR", np.zeros(len(uids))) < 0, ", {:.0%} parrots" * ("CoTR" in scores)
    members.sort(key=lambda rows: -parrot[rows].mean())
    headings = [f"{len(rows):,} images{text.format(parrot[rows].mean())}" for rows in members]
    best = [uids[rows[:count]] for rows in members[:shown]]
    images = thumbnails(pool, np.concatenate(best))
    columns = [[image_cell(images.get(uid, b"")) for uid in decode_uids(of)] for of in best]
    table = [[Cell(f"{n}"), *row] for n, row in enumerate(zip_longest(*columns, fillvalue=Cell("")), 1)]
    return [Table(f"{len(best):,} of {len(members):,} clusters", ["rank", *headings[:shown]], table)]


def words(pool: Pool, seed: int, lows: list[int], count: PositiveInt, samples: PositiveInt) -> list[Table]:
    """Return random words of captions, a row per interval of frequency, larger the more frequent they are.

    `lows` are the fewest occurrences in each interval, ascending, of `count` words among `samples` captions.
    """
    if not lows:
        raise UserError("figure.lows must have one number or more")
    counted, rows = count_ngrams(sample_captions(pool, samples, seed), pool.name), []
    for low, end in zip(lows, [*lows[1:], max(*lows, *counted.counts[:1]) + 1], strict=True):
        inside = np.flatnonzero((counted.counts >= low) & (counted.counts < end))
        chosen = np.random.default_rng(seed).permutation(inside)[:count]
        sizes = 13 + 4 * np.log2(counted.counts[chosen] / low).clip(0, 6)
        shown = (short_text(counted.ngrams[row]) for row in chosen)
        cloud = Markup(" ").join(map(SIZED.format, sizes, shown))
        rows.append([Cell(f"{low:,} to {end - 1:,} ({len(inside):,} words)"), Cell(CLOUD.format(cloud))])
    return [Table(f"Words of captions, {counted.occurrences:,} in all", ["occurrences", "words"], rows)]


def embedding_maps(
    device: torch.device,
    evaluation_sets: Collection[object],
    models: Mapping[str, object],
    seed: int,
    folders: Mapping[str, str],
) -> str:
    """Return t-SNE (van der Maaten & Hinton 2008) of image embeddings: ten classes of each classification set.

    `folders` are trained models by their titles, of the kind that `downstream` names; each has a column.
    """
    require("studies")
    from sklearn.manifold import TSNE

    encoders = [model for model in models.values() if isinstance(model, PairEncoder)]
    sets = [of for of in evaluation_sets if isinstance(of, ClassificationSet)]
    if not (folders and encoders and sets):
        raise UserError("figure.folders, downstream=dual_encoder and a classification set must be given")
    maps = []
    for title, folder in folders.items():
        encoders[0].load(Path(folder), device)
        for of in sets:
            items = [item for item in of.test if item.label < 10]
            tsne = TSNE(perplexity=min(30, len(items) / 4), init="pca", random_state=seed)
            points = tsne.fit_transform(encoders[0].embed_images(StoredImages(items, "embed")))
            maps.append((f"{title}, {of.name}", points, [item.label for item in items]))

    def draw(axes: Any) -> None:
        for axis, (title, points, labels) in zip(axes.reshape(-1, len(folders)).T.flat, maps, strict=True):
            axis.scatter(*points.T, c=labels, cmap="tab10", s=8)
            axis.set(title=title, xticks=[], yticks=[])

    return svg(draw, 4 * len(folders), 4 * len(sets), columns=len(folders), rows=len(sets))


def captions_of_images(
    device: torch.device,
    evaluation_sets: Collection[object],
    filters: Filters,
    evaluation: str,
    count: PositiveInt = 4,
) -> list[Table]:
    """Return the captions of one image from high to low score, for the `count` images whose captions differ most.

    `filters` is one filter of captions; `evaluation` names an evaluation set with captions.
    """
    sets = {of.name: of.items for of in evaluation_sets if isinstance(of, EvaluationSet)}
    if evaluation not in sets:
        raise UserError(f"figure.evaluation={evaluation} is not in evalset; {did_you_mean(evaluation, sets)}")
    items, ((name, scorer),), rows = sets[evaluation], filters.items(), []
    scores = score(scorer, [text for item in items for text in item.references], device)
    of_items = np.split(scores, np.cumsum([len(item.references) for item in items])[:-1])
    for number in sorted(range(len(items)), key=lambda number: -np.ptp(of_items[number]))[:count]:
        ordered = sorted(zip(of_items[number], items[number].references, strict=True), reverse=True)
        captions = (marked_words(f"{value:.2f} {short_text(text)}", ()) for value, text in ordered)
        rows.append([image_cell(thumbnail(items[number].load())), Cell(Markup().join(captions))])
    return [Table("Captions of one image, from high to low", ["image", f"{name}, caption"], rows)]


def topics(pool: Pool, seed: int, labels: str, count: PositiveInt, images: PositiveInt) -> list[Table]:
    """Return random topics of `labels`, the folder of task=weak_labels: n-grams, and images of that main topic."""
    sample, labelled = _labelled(pool, labels, seed)
    listed = json.loads((Path(labels) / "topics.json").read_text(encoding="utf-8"))
    main, rng, rows = labelled.topics.argmax(1), np.random.default_rng(seed), []
    for topic in rng.permutation(np.unique(main))[:count].tolist():
        drawn = rng.permutation(np.flatnonzero(main == topic))[:images]
        tags = dict.fromkeys(image_cell(of).text for of in thumbnails(sample, labelled.uids[drawn]).values())
        cell = Cell(Markup('<span class="images">{}</span>').format(Markup().join(tags)))
        rows.append([text_cell(", ".join(listed[topic]["ngrams"])), cell])
    return [Table(f"{len(rows)} of {len(listed)} topics", ["top n-grams", "images"], rows)]


def topic_confusion(
    pool: Pool, device: torch.device, seed: int, labels: str, backbone: str, subset: str | None = None
) -> str:
    """Return a matrix of images by their main topic in `labels`, and by `backbone`, the folder of task=weak_backbone.

    Images of `subset`, a file of task=select, are left out: the backbone was trained on them.
    """
    require("studies", "matplotlib")
    import timm  # takes seconds

    from downstream.models.timm_encoder import timm_processor

    sample, labelled = _labelled(pool, labels, seed)
    if not (Path(backbone) / "config.json").is_file():
        raise UserError(f"figure.backbone={backbone} must be the folder that task=weak_backbone prints")
    model: Any = timm.create_model(f"local-dir:{backbone}", pretrained=True).eval().to(device)
    processor = timm_processor(model.pretrained_cfg, model.pretrained_cfg["architecture"])
    held_out = np.setdiff1d(labelled.uids, read_subset(Path(subset))) if subset else labelled.uids
    counts = np.zeros((model.num_classes, labelled.topics.shape[1]), np.int64)
    for batch in (of for shard in sample.shards(IMAGE) for of in sample.batches(shard, IMAGE, 64, Counter())):
        kept = batch.take(np.flatnonzero(np.isin(batch.uids, held_out)))
        if len(kept):
            with torch.inference_mode():
                predicted = model(to_pixels(processor, kept.images).to(device)).argmax(1).cpu().numpy()
            np.add.at(counts, (predicted, labelled.of(decode_uids(kept.uids)).argmax(1)), 1)

    def draw(axes: Any) -> None:
        matrix = axes[0].imshow(counts / counts.sum(0).clip(1), interpolation="nearest")
        axes[0].figure.colorbar(matrix, label="fraction of the images of a topic")
        title = f"{counts.sum():,} images, {counts.trace() / counts.sum().clip(1):.1%} on the diagonal"
        axes[0].set(title=title, xlabel="main topic of the captions", ylabel="main topic by the CNN")

    return svg(draw, 6, 5)


def _labelled(pool: Pool, labels: str, seed: int) -> tuple[PoolSample, Any]:
    """Return random pairs of the pool, and the `TopicLabels` of the labelled pairs."""
    from pairsift.studies.ava.labels import read_labels  # imports timm

    if not (Path(labels) / "topics.json").is_file():
        raise UserError(f"figure.labels={labels} must be the folder that task=weak_labels prints")
    sample = PoolSample(pool, LABELLED, seed)
    uids = np.concatenate([sample.index(shard).uids for shard in sample.shards(IMAGE)])
    return sample, read_labels(Path(labels), uids)


def mismatched_pairs(results: str) -> str:
    """Return a picture of both measures against the fraction of mismatched pairs, a line per filter, as SVG.

    `results` is a folder of results. Raises `UserError` if they are of one world.
    """
    require("studies", "matplotlib")
    of_worlds = worlds(read_runs(Path(results)))
    if not of_worlds:
        raise UserError(
            f"figure.results={results} has no runs of several worlds; run pool.demo.mismatched=0.001,0.05 size=200k"
        )

    def draw(axes: Any) -> None:
        for ax, measure in zip(axes, MEASURES, strict=True):
            for name in shared_filters(of_worlds):
                values = [fmean(measure.values(of[name])) for of in of_worlds.values()]
                ax.plot([100 * share for share in of_worlds], values, marker="o", label=name)
            ax.set(xlabel="mismatched pairs (%)", ylabel=f"{measure.label}, COCO")
            ax.set_ylim(bottom=0)
        axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1))

    return svg(draw, 9, 3.6, columns=2)


def score(scorer: Filter, texts: list[str], device: torch.device) -> npt.NDArray[np.float32]:
    """Return the scores of n texts, (n,), by a filter of captions."""
    check_needs(scorer)
    set_up(scorer, device)
    return np.asarray(score_texts(scorer, texts), np.float32)


def svg(draw: Callable[[Any], None], width: float, height: float, columns: int = 1, rows: int = 1) -> str:
    """Return a picture of `width` x `height` inches; `draw` gets its axes, an array (rows x columns,)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Texts stay as they are: no formulas between dollar signs, no outlines of letters.
    with mpl.rc_context({"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "pairsift"}):
        picture, buffer = Figure(figsize=(width, height), layout="constrained"), io.StringIO()
        draw(picture.subplots(rows, columns, squeeze=False).ravel())
        picture.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def numbers(*values: float) -> list[Cell]:
    """Return cells with two decimals; a dash for NaN."""
    return [Cell(f"{value:z.2f}" if np.isfinite(value) else MISSING) for value in values]


def text_cell(text: str | None, repeated: Collection[str] = ()) -> Cell:
    """Return a caption, cut, the words that its image repeats in bold."""
    return Cell(marked_words(short_text(text or ""), repeated))


def image_cell(jpeg: bytes) -> Cell:
    """Return an image; a dash if it is empty."""
    tag = Markup('<img src="data:image/jpeg;base64,{}" alt="">')
    return Cell(tag.format(base64.b64encode(jpeg).decode()) if jpeg else MISSING)
