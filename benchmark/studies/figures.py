"""Figures of the papers, drawn again: tables of images and captions, or pictures as SVG.

A config's `_target_` names a function. Its arguments are settings, and, undocumented, parts of the command.
"""

import base64
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import torch
from markupsafe import Markup

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.extras import require
from benchmark.core.ranges import PositiveInt, checked
from benchmark.core.uids import UidArray, decode_uids, read_subset, sort_uids
from benchmark.engine.base import Engine
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of
from benchmark.results.gallery import short_text, thumbnail, thumbnails
from benchmark.results.page.plotly_charts import BLUE, ORANGE
from benchmark.results.report.table import MISSING, Cell, Table
from benchmark.scoring.joined_scores import JoinedScores
from benchmark.scoring.score_pool import score_pool
from benchmark.studies.concreteness.evaluation import score_texts, set_up
from benchmark.studies.concreteness.rated_texts import RatedTexts, read_annotations
from benchmark.studies.profile.page import marked_words
from benchmark.studies.profile.pool_sample import IMAGE, PoolSample
from benchmark.studies.profile.profiling import cluster_images, text_in_images
from benchmark.studies.text_spotting.vocabulary import count_ngrams
from benchmark.studies.web_likeness.caption_profile import sample_captions
from downstream.batching import StoredImages, to_pixels
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.models.dual_encoder import PairEncoder
from filters.base import Filter, Scores
from filters.cotr import split_words
from filters.icc.autoencoder import caption_seed, one_line
from filters.icc.combine import fit_combination
from filters.icc.modes import DirectScorer
from filters.icc.standardize import caption_length
from filters.icc.vba import VisualBottleneck
from filters.ocr.features import TextRecognition

LABELLED = 5000  # random pairs of the pool whose topics are shown
FEWEST = 5  # captions of one length that get a box
CLOUD, SIZED = Markup('<span class="words">{}</span>'), Markup('<span style="font-size:{:.0f}px">{}</span>')
Filters = Mapping[str, Filter]  # by the names of their columns


@checked
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
    blocks = list(JoinedScores([score_pool(pool, of, engine).source for of in filters.values()]).blocks())
    uids = np.concatenate([block.uids for block in blocks])
    columns = [np.concatenate(parts) for parts in zip(*(block.columns for block in blocks), strict=True)]
    rows = sort_uids(uids)
    rows = rows[np.isfinite(np.stack(columns)[:, rows]).all(axis=0)]
    if not len(rows):
        raise UserError(f"figure: no pair of pool {pool.name} has a score by {', '.join(filters)}")
    return uids[rows], {name: column[rows] for name, column in zip(filters, columns, strict=True)}


@checked
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

    Args:
        filters: `CLIP`; and `CoTR` if the clusters with the most parrot captions are shown, else they are random.
        clusters: at most; fewer if they would have fewer than 20 images on average.
        shown: clusters that are shown, with `count` images each.
        samples: random pairs of the pool; None for all.
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


@checked
def words(pool: Pool, seed: int, lows: list[int], count: PositiveInt, samples: PositiveInt) -> list[Table]:
    """Return random words of captions, a row per interval of frequency, larger the more frequent they are.

    Args:
        lows: fewest occurrences in each interval, ascending; each has `count` words.
        samples: random captions whose words are counted.
    """
    counted, rows = count_ngrams(sample_captions(pool, samples, seed), pool.name), []
    for low, end in zip(lows, [*lows[1:], max(*lows, *counted.counts[:1]) + 1], strict=True):
        inside = np.flatnonzero((counted.counts >= low) & (counted.counts < end))
        chosen = np.random.default_rng(seed).permutation(inside)[:count]
        sizes = 13 + 4 * np.log2(counted.counts[chosen] / low).clip(0, 6)
        shown = (short_text(counted.ngrams[row]) for row in chosen)
        cloud = Markup(" ").join(map(SIZED.format, sizes, shown))
        rows.append([Cell(f"{low:,} to {end - 1:,} ({len(inside):,} words)"), Cell(CLOUD.format(cloud))])
    return [Table(f"Words of captions, {counted.occurrences:,} in all", ["occurrences", "words"], rows)]


@checked
def embedding_maps(
    device: torch.device,
    evaluation_sets: Collection[object],
    models: Mapping[str, object],
    seed: int,
    folders: Mapping[str, str],
) -> str:
    """Return t-SNE (van der Maaten & Hinton 2008) of image embeddings: ten classes of each classification set.

    Args:
        folders: trained models by their titles, of the kind that `downstream` names; each has a column.
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
            points = tsne.fit_transform(encoders[0].embed_images(StoredImages(items)))
            maps.append((f"{title}, {of.name}", points, [item.label for item in items]))

    def draw(axes: Any) -> None:
        for axis, (title, points, labels) in zip(axes.reshape(-1, len(folders)).T.flat, maps, strict=True):
            axis.scatter(*points.T, c=labels, cmap="tab10", s=8)
            axis.set(title=title, xticks=[], yticks=[])

    return svg(draw, 4 * len(folders), 4 * len(sets), columns=len(folders), rows=len(sets))


@checked
def captions_of_images(
    device: torch.device,
    evaluation_sets: Collection[object],
    filters: Filters,
    evaluation: str,
    count: PositiveInt = 4,
) -> list[Table]:
    """Return the captions of one image from high to low score, for the images whose captions differ most in it.

    Args:
        filters: one filter of captions.
        evaluation: name of an evaluation set with captions.
        count: images that are shown.
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


@checked
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


@checked
def topic_confusion(
    pool: Pool, device: torch.device, seed: int, labels: str, backbone: str, subset: str | None = None
) -> str:
    """Return a matrix of images by their main topic in `labels`, and by `backbone`, the folder of task=weak_backbone.

    Images of `subset`, a file of task=select, are left out: the backbone was trained on them.
    """
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
    from benchmark.studies.weak_labels.labels import read_labels  # imports timm

    if not (Path(labels) / "topics.json").is_file():
        raise UserError(f"figure.labels={labels} must be the folder that task=weak_labels prints")
    sample = PoolSample(pool, LABELLED, seed)
    uids = np.concatenate([sample.index(shard).uids for shard in sample.shards(IMAGE)])
    return sample, read_labels(Path(labels), uids)


@checked
def reconstructions(
    pool: Pool,
    device: torch.device,
    seed: int,
    filters: Filters,
    highest: bool = True,
    count: PositiveInt = 8,
    candidates: PositiveInt = 40,
    samples: PositiveInt = 2000,
) -> list[Table]:
    """Return captions of the highest or lowest ICC with reconstructions, VBA's image, and three scores.

    SBA and VBA differ most on the first half of them, as in the paper, and agree most on the second.

    Args:
        filters: `SBA` and `VBA` in direct mode, and `ICC`.
        highest: whether the captions have the highest scores.
        count: captions that are shown.
        candidates: captions that are reconstructed, of the highest or lowest scores.
        samples: random captions of the pool among which they are.
    """
    texts = sorted({one_line(text) for text in sample_captions(pool, samples, seed)})
    icc = score(filters["ICC"], texts, device)
    best = np.argsort(-icc if highest else icc, kind="stable")[:candidates]
    texts, icc = [texts[row] for row in best], icc[best]
    (by_sba, _, sba), (by_vba, _, vba) = (rebuild(filters, name, texts, device) for name in ("SBA", "VBA"))
    gaps = np.argsort(-np.abs(sba - vba), kind="stable").tolist()
    chosen = gaps[: count - count // 2] + gaps[count - count // 2 :][-(count // 2) :]
    drawn, pipeline = [texts[row] for row in chosen], getattr(filters["VBA"], "autoencoder", None)
    assert isinstance(pipeline, VisualBottleneck)
    rows = []
    generated = pipeline.text_to_image.generate(drawn, [*map(caption_seed, drawn)])
    for row, image in zip(chosen, generated, strict=True):
        jpeg = thumbnail(image.convert("RGB"))
        cells = [*map(text_cell, (texts[row], by_sba[row], by_vba[row])), image_cell(jpeg)]
        rows.append(cells + numbers(sba[row], vba[row], icc[row]))
    by_both = (f"{name} reconstructed caption" for name in ("SBA", "VBA"))
    header = ["Input caption", *by_both, "VBA bottleneck image"]
    note = "SBA and VBA differ most on the first half, and agree most on the second."
    title = f"Captions of {'high' if highest else 'low'} ICC"
    return [Table(title, [*header, "SBA", "VBA", "ICC"], rows, [note])]


@checked
def lengths(
    pool: Pool, device: torch.device, seed: int, filters: Filters, samples: PositiveInt = 1000
) -> str:
    """Return boxes of SBA's similarities by the number of words, before and after standardising.

    Args:
        filters: `SBA` in direct mode.
        samples: random captions of the pool that are reconstructed.
    """
    texts = sample_captions(pool, samples, seed)
    _, before, after = rebuild(filters, "SBA", texts, device)
    words = np.array([*map(caption_length, texts)])
    shown = [n for n in np.unique(words).tolist() if (words == n).sum() >= FEWEST]

    def draw(axes: Any) -> None:
        for axis, title, values in zip(axes, ("before", "after"), (before, after), strict=True):
            axis.boxplot([values[words == n] for n in shown], positions=shown, whis=(5, 95), sym="")
            axis.set(title=f"{title} standardising", xlabel="words", ylabel="SBA similarity", ylim=(0, 1))
            axis.set_xticks(shown[:: 1 + len(shown) // 12], shown[:: 1 + len(shown) // 12])

    return svg(draw, 11, 4, columns=2)


@checked
def regression(device: torch.device, filters: Filters, annotations: RatedTexts | str | None = None) -> str:
    """Return annotated captions by SBA and VBA, and the line on which their fitted combination is one half.

    Args:
        filters: `SBA` and `VBA`.
        annotations: rated captions, or the path of a file of them.
    """
    rated = _rated(annotations)
    sba, vba = (score(filters[name], rated.texts, device) for name in ("SBA", "VBA"))
    line, ends = fit_combination(vba, sba, rated.ratings), np.array([0.0, 1.0])

    def draw(axes: Any) -> None:
        points = axes[0].scatter(sba, vba, c=rated.ratings, cmap="viridis", s=18)
        axes[0].figure.colorbar(points, label="rating")
        axes[0].plot(ends, -(line.c + line.b * ends) / line.a, color=ORANGE)
        title = f"{line.a:.1f} VBA {line.b:+.1f} SBA {line.c:+.1f} = 0, {len(rated.texts):,} captions"
        axes[0].set(title=title, xlabel="SBA", ylabel="VBA", xlim=(0, 1), ylim=(0, 1))

    return svg(draw, 6, 5)


@checked
def histogram(annotations: RatedTexts | str | None = None) -> str:
    """Return a histogram of ratings; `annotations` as for `regression`."""
    rated = _rated(annotations)

    def draw(axes: Any) -> None:
        axes[0].hist(rated.ratings, np.arange(-0.125, rated.ratings.max() + 0.25, 0.25), color=BLUE)
        title = f"{len(rated.texts):,} captions, mean {rated.ratings.mean():.2f}"
        axes[0].set(title=title, xlabel="annotated concreteness", ylabel="captions")

    return svg(draw, 6, 4)


def score(scorer: Filter, texts: list[str], device: torch.device) -> npt.NDArray[np.float32]:
    """Return the scores of n texts, (n,), by a filter of captions."""
    set_up(scorer, device)
    return np.asarray(score_texts(scorer, texts), np.float32)


def rebuild(
    filters: Filters, name: str, texts: list[str], device: torch.device
) -> tuple[list[str], Scores, Scores]:
    """Return the most similar reconstruction of each of n captions, their similarities and their scores, (n,)."""
    scorer = filters[name]
    if not isinstance(scorer, DirectScorer):
        raise UserError(f"figure.filters.{name}.mode must be direct")
    scorer.setup(device)
    best = [
        beams[int(scorer.similarity.compare([text] * len(beams), beams).argmax())]
        for text, beams in zip(texts, scorer.autoencoder.reconstruct(texts), strict=True)
    ]
    similarities = scorer.similarity.compare(texts, best)
    scores = scorer.standardizer(texts, similarities) if scorer.standardizer else similarities
    return best, similarities, scores


def _rated(annotations: RatedTexts | str | None) -> RatedTexts:
    if annotations is None:
        raise UserError("figure.annotations=FILE must be given, a CSV as task=annotation writes")
    setting = "figure.annotations"
    return read_annotations(Path(annotations), setting) if isinstance(annotations, str) else annotations


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
