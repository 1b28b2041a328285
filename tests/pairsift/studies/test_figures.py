"""Figures of the papers: what their galleries and pictures show, and every config of conf/figure."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from omegaconf import OmegaConf
from PIL import Image
from sklearn.linear_model import LogisticRegression

from benchmark.cli.check_settings import check_settings
from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import UID_DTYPE, decode_uids, write_subset
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.results.page.html_page import table_html
from benchmark.results.report.table import Table
from benchmark.run.config import CONF
from downstream.evaluation.classification_sets import ClassificationSet, LabelledImage
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.models.dual_encoder import DualEncoder, PairEncoder, Unlocked
from downstream.training.trainer import TrainConfig
from filters.base import Filter, Scores
from filters.icc.autoencoder import Autoencoder, Beams
from filters.icc.modes import DirectScorer
from filters.icc.similarity import EditSimilarity
from filters.icc.standardize import Standardizer
from filters.icc.vba import VisualBottleneck
from pairsift.studies import figures
from pairsift.studies.ava.labels import read_labels, write_part
from pairsift.studies.ava.topic_backbone import WeakBackbone
from pairsift.studies.figure import figure
from pairsift.studies.figures import captions_of_images, embedding_maps, images_of_clusters, pairs, words
from pairsift.studies.icc.concreteness import figures as icc_figures
from pairsift.studies.icc.concreteness.figures import histogram, lengths, reconstructions, regression
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts
from tests.command_line import Run
from tests.conftest import BuildOnce
from tests.demos import SMALL_DEMO, demo_model, draw, link
from tests.jobs import compose_config, make_job
from tests.pools import Row, jpeg, write_pool

NAMES = sorted(path.stem for path in (CONF / "figure").glob("*.yaml"))
CPU, ENGINE = torch.device("cpu"), LocalEngine(workers=1)
SVG = "{http://www.w3.org/2000/svg}"


class Words(Filter):
    """Scores a caption by the number after `name` in it; NaN without one."""

    needs = frozenset({"text"})

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, batch: Batch) -> Scores:
        found = [re.search(rf"{self.name}(-?[\d.]+)", text) for text in batch.texts]
        return np.array([float(of[1]) if of else np.nan for of in found], np.float32)


def texts(table: Table, column: int) -> list[str]:
    return [re.sub(r"<[^>]+>", "", str(row[column].text)) for row in table.rows]


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_names_its_paper_and_its_command(name: str) -> None:
    text = (CONF / "figure" / f"{name}.yaml").read_text()
    node = OmegaConf.create(text)
    paper, number = name.rsplit("_", 1)
    given, *_ = re.findall(
        rf"#   python -m benchmark task=figure figure={name}((?: figure\.\w+=\w+)*)\n", text
    )
    assert node.after.startswith(f"Figure {number} of {paper.upper()[:3]}") or paper != "icc"
    assert node.heading
    check_settings(compose_config("task=figure", f"figure={name}", *given.split()), ["figure"])


OF_RESULTS = {"mismatched_pairs"}  # drawn from runs: test_demo_worlds.py
IN_CI = {"ds_clip_4", "icc_5", "parrot_1", "parrot_14"}  # one of each kind; all of them take a minute


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in IN_CI else pytest.mark.full)
        for name in NAMES
        if name not in OF_RESULTS
    ],
)
def test_every_figure_is_drawn_on_a_small_demo(
    name: str, run: Run, build_once: BuildOnce, cache: Path, tmp_path: Path
) -> None:
    link(build_once("figures", partial(draw, settings=SMALL_DEMO)), cache)
    small = [*SMALL_DEMO, "engine.workers=1", "weak_labels.topics=5"]
    sizes = {"icc_1": ["figure.count=2"], "ava_2": ["figure.count=2"], "icc_5": ["figure.samples=60"]}
    sizes |= {of: [] for of in ("icc_6", "icc_7", "ava_3", "ava_s1", "ds_clip_5")}
    few = list(sizes.get(name, ["figure.samples=60", "figure.count=2"]))
    few += ["figure.candidates=4"] * (name in {"icc_8", "icc_9"})
    few += ["figure.filters.CoTR.minimum=0"] * (name == "parrot_15")
    if name in {"ava_3", "ava_s1"}:
        few.append(f"figure.labels={run('task=weak_labels', *small).stdout.splitlines()[-1]}")
    if name == "ava_s1":
        small += ["filter=oracle", "size.samples=10000", "weak_backbone.training.samples_seen=64"]
        trained = run("task=weak_backbone", *small, "weak_backbone.training.workers=0")
        few.append(f"figure.backbone={trained.stdout.splitlines()[-1]}")
    if name == "ds_clip_4":
        (shard,) = cache.glob("pairsift/demo/*/metadata/*0.parquet")
        written = pq.read_table(shard, columns=["uid", "text"]).rename_columns(["uid", "caption"])
        pq.write_table(written, tmp_path / "written.parquet")
        few.append(f"figure.captions=[{tmp_path / 'written.parquet'}]")
    if name == "ds_clip_5":
        parts = demo_model("vit"), demo_model("bert"), TrainConfig(8, 8, 1e-3)
        encoder = DualEncoder(*parts, True, True, 16, 8, Unlocked(16, True, False))
        encoder.build(CPU)
        (tmp_path / "trained").mkdir()
        encoder.save(tmp_path / "trained")
        folders = f"figure.folders={{CLIP: {tmp_path}/trained, DS-CLIP: {tmp_path}/trained}}"
        few += ["downstream=dual_encoder", folders]
    where = [*SMALL_DEMO, "engine.workers=1", f"results_dir={tmp_path}"]
    done = run("task=figure", f"figure={name}", *few, *where)
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.splitlines()[-1])
    assert page == tmp_path / "figures" / f"{name}.html"
    html = page.read_text()
    assert f"After {OmegaConf.load(CONF / 'figure' / f'{name}.yaml').after}" in html
    drawn = page.with_suffix(".svg").is_file()
    assert ("data:image/svg+xml" in html) == drawn
    assert ("data:image/jpeg" in html) == (name != "parrot_10" and not drawn)
    assert html.count("font-size:") > 3 or name != "parrot_10"


def test_captions_are_ordered_by_score_and_escaped(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    captions = [["close 1", "close 2"], ["a dog a0.5", "<script>a0.9</script>", "a0.1"], ["a0.7", "a0.6"]]
    images = [Item(n, ImageFile(tmp_path / "a.png"), list(of)) for n, of in enumerate(captions[1:])]
    coco = EvaluationSet("coco", images, captioning=True, retrieval=True)
    (table,) = captions_of_images(CPU, [coco], {"A": Words("a")}, "coco", count=1)
    (shown,) = texts(table, 1)
    assert shown == "0.90 &lt;script&gt;a0.9&lt;/script&gt;0.50 a dog a0.50.10 a0.1"
    assert "<script" not in table_html(table)
    with pytest.raises(UserError, match="evaluation=coc is not in evalset; did you mean 'coco'"):
        captions_of_images(CPU, [coco], {"A": Words("a")}, "coc")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    captions = ["a0.9 b0.8", "a0.8 b0.1 <script>", "a0.2 b0.9", "a0.3 b0.3", "b1.0 only"]
    rows = [Row(f"{n:05d}", f"http://x/{n}", text, jpeg(n)) for n, text in enumerate(captions)]
    return Pool("tiny", str(write_pool(tmp_path_factory.mktemp("pool"), [rows])))


@pytest.mark.parametrize("samples", [None, 100])
def test_pairs_that_one_filter_ranks_high_and_another_low(pool: Pool, samples: int | None) -> None:
    filters = {"A": Words("a"), "B": Words("b")}
    both = {"A": 1, "B": -1}
    high, low = pairs(pool, ENGINE, 0, filters, both, ["B"], lowest=True, count=2, samples=samples)
    # B's measure is minus its score: the ranks of A and of B's scores are added.
    assert texts(high, 1)[0] == "a0.9 b0.8"
    assert set(texts(low, 1)) == {"a0.3 b0.3", "a0.8 b0.1 &lt;script&gt;"}
    assert [cell.text for cell in high.rows[0][2:]] == ["0.90", "-0.80"]
    assert high.header == ["image", "caption", "A", "B"]
    assert "4 pairs by +1 × A -1 × B" in high.title
    assert "data:image/jpeg;base64," in high.rows[0][0].text
    (straight,) = pairs(pool, ENGINE, 0, filters, both, count=1, samples=None)
    assert texts(straight, 1) == ["a0.8 b0.1 &lt;script&gt;"]
    with pytest.raises(UserError, match="no pair of pool tiny has a score by Z"):
        pairs(pool, ENGINE, 0, {"Z": Words("z")}, {"Z": 1}, samples=None)


def test_pairs_stand_beside_the_captions_that_were_written(pool: Pool, tmp_path: Path) -> None:
    (batch,) = pool.batches(pool.shards(frozenset({"text"}))[0], frozenset({"text"}), 10, Counter())
    uids = dict(zip(batch.texts, decode_uids(batch.uids), strict=True))
    for name, texts_of in {"llm": ["a0.9 b0.8", "a0.2 b0.9", "a0.3 b0.3"], "vlm": [*uids]}.items():
        rows = {"uid": [uids[text] for text in texts_of], "caption": [f"<b>{name} {t}" for t in texts_of]}
        pq.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("llm", "vlm")]
    of = {"A": Words("a")}
    (low,) = pairs(pool, ENGINE, 0, of, {"A": -1}, count=9, samples=None, captions=files)
    assert low.header == ["image", "caption", "llm.parquet", "vlm.parquet", "A"]
    assert texts(low, 1) == ["a0.2 b0.9", "a0.3 b0.3", "a0.9 b0.8"]  # of the others one model wrote none
    assert str(low.rows[0][2].text).count("&lt;b&gt;llm") == 1
    assert texts(low, 3) == [f"&lt;b&gt;vlm {text}" for text in texts(low, 1)]


class Labels(Words):
    """Scores by the number after its name, and is taken for a CLIP."""

    features = (object(),)  # type: ignore[assignment]


@pytest.mark.parametrize("parrots", [True, False])
def test_clusters_are_columns_of_their_best_images(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, parrots: bool
) -> None:
    scored = {"CLIP": [0.9, 0.1, 0.5, 0.7, 0.2]}
    if parrots:
        scored["CoTR"] = [0.0, -0.5, -0.2, 0.0, -1.0]
    uids = np.array([(n, n) for n in range(5)], UID_DTYPE)
    columns = {name: np.array(of, np.float32) for name, of in scored.items()}
    monkeypatch.setattr(figures, "_joined", lambda *_: (uids, columns))
    monkeypatch.setattr(figures, "cluster_images", lambda *_: np.array([0, 0, 1, 0, 1]))
    monkeypatch.setattr(figures, "thumbnails", lambda _, of: {u: u[-1:].encode() for u in decode_uids(of)})
    (table,) = images_of_clusters(pool, ENGINE, 0, {name: Labels("x") for name in columns}, 9, 2, 2, None)
    cells = [[base64.b64decode(of) for of in re.findall('base64,([^"]+)', str(r))] for r in table.rows]
    by_heading = dict(zip(table.header[1:], zip(*cells, strict=True), strict=True))
    suffixes = (", 33% parrots", ", 100% parrots") if parrots else ("", "")
    assert by_heading == {f"3 images{suffixes[0]}": (b"0", b"3"), f"2 images{suffixes[1]}": (b"2", b"4")}
    assert not parrots or table.header[1:] == ["2 images, 100% parrots", "3 images, 33% parrots"]


def test_words_are_larger_the_more_often_they_occur(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = ["<i>all all all", "all rare", "some some all"]
    monkeypatch.setattr(figures, "sample_captions", lambda *_: drawn)
    (table,) = words(pool, 0, [1, 2, 9], 10, 5)
    assert texts(table, 0) == ["1 to 1 (2 words)", "2 to 8 (2 words)", "9 to 9 (0 words)"]
    sizes = {word: int(size) for size, word in re.findall(r"size:(\d+)px\">([^<]+)<", str(table.rows))}
    assert set(sizes) == {"&lt;i&gt;all", "rare", "all", "some"}
    assert sizes["all"] > sizes["some"]


class Colours(PairEncoder):
    """Embeds an image as its mean colour times the number in the folder of the model."""

    def __init__(self) -> None:
        self.scale = 0.0

    def load(self, path: Path, device: torch.device) -> None:
        self.scale = float(path.name)

    def build(self, device: torch.device) -> None: ...

    def save(self, path: Path) -> None: ...

    def embed_images(self, images: Iterable[Image.Image]) -> np.ndarray:
        return np.array([np.asarray(image).mean((0, 1)) * self.scale for image in images], np.float32)


def test_maps_show_ten_classes_of_each_set_and_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = []
    for label, number in product(range(12), range(2)):
        path = tmp_path / f"{label}-{number}.png"
        Image.new("RGB", (4, 4), (20 * label, number, 250 - 20 * label)).save(path)
        items.append(LabelledImage(path.stem, ImageFile(path), label))
    classes = [*map(str, range(12))]
    sets = [ClassificationSet(name, classes, None, "accuracy", items, None, 1) for name in "ab"]
    axes = drawn_on(monkeypatch)
    folders = {"first": str(tmp_path / "1"), "second": str(tmp_path / "2")}
    encoder = {"dual_encoder": Colours()}
    embedding_maps(CPU, sets, encoder, 0, folders)
    assert [axis.get_title() for axis in axes] == ["first, a", "second, a", "first, b", "second, b"]
    for axis in axes:
        (points,) = axis.collections
        assert sorted(points.get_array()) == sorted(2 * [*range(10)])
    embedding_maps(CPU, sets[:1], encoder, 0, {"first": folders["first"]})
    assert np.array_equal(*(axes[n].collections[0].get_offsets() for n in (0, 4)))  # the same map again
    for models, chosen in ({}, sets), (encoder, []):
        with pytest.raises(UserError, match="a classification set must be given"):
            embedding_maps(CPU, chosen, models, 0, folders)


class Shouts(Autoencoder):
    """Reconstructs a caption as two beams: something else, and its first `keeps` characters."""

    def __init__(self, keeps: int) -> None:
        self.keeps = keeps

    def setup(self, device: torch.device) -> None: ...

    def reconstruct(self, captions: Sequence[str]) -> list[Beams]:
        return [["~", caption[: self.keeps]] for caption in captions]


class Paints(Shouts, VisualBottleneck):
    """As `Shouts`, with a red image."""

    @property
    def text_to_image(self) -> Any:
        return self

    def generate(self, captions: Sequence[str], seeds: Sequence[int]) -> list[Image.Image]:
        return [Image.new("RGB", (8, 8), "red") for _ in captions]


def test_reconstructions_are_the_papers_table(pool: Pool) -> None:
    direct = {"SBA": Shouts(9), "VBA": Paints(4)}
    filters: dict[str, Filter] = {
        name: DirectScorer(of, EditSimilarity(), None) for name, of in direct.items()
    }
    filters["ICC"] = Words("b")
    (table,) = reconstructions(pool, CPU, 0, filters, count=2, candidates=3)
    assert table.header == [
        "Input caption", "SBA reconstructed caption", "VBA reconstructed caption", "VBA bottleneck image",
        "SBA", "VBA", "ICC",
    ]  # fmt: skip
    row = table.rows[texts(table, 0).index("a0.9 b0.8")]  # the three highest are b1.0, b0.9 and b0.8
    assert [cell.text for cell in row[4:]] == ["1.00", f"{4 / 9:.2f}", "0.80"]
    assert texts(table, 2)[0] == texts(table, 0)[0][:4]
    (table,) = reconstructions(pool, CPU, 0, filters, highest=False, count=1, candidates=1)
    assert texts(table, 0) == ["a0.8 b0.1 &lt;script&gt;"]
    with pytest.raises(UserError, match=r"SBA\.mode must be direct"):
        reconstructions(pool, CPU, 0, filters | {"SBA": Words("a")}, count=1)


def drawn_on(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of the pictures that are drawn from now on."""
    made, svg = [], figures.svg

    def kept(draw: Any, *size: Any, **columns: Any) -> str:
        return svg(lambda axes: made.extend(axes) or draw(axes), *size, **columns)

    for module in (figures, icc_figures):
        monkeypatch.setattr(module, "svg", kept)
    return made


def rated(ratings: Sequence[float], captions: Sequence[str] = ()) -> RatedTexts:
    listed = list(captions) or [f"caption {n}" for n in range(len(ratings))]
    return RatedTexts("captions", "file.csv", "0", listed, np.array(ratings, float), len(listed))


def test_the_regression_line_is_that_of_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    sba, vba = rng.random((2, 60)).round(3)
    grades = (2 * vba + sba + rng.normal(0, 0.4, 60)).round(2)
    captions = [f"s{a} v{b}" for a, b in zip(sba, vba, strict=True)]
    axes = drawn_on(monkeypatch)
    svg = regression(CPU, {"SBA": Words("s"), "VBA": Words("v")}, rated(grades, captions))
    off = grades != np.median(grades)
    fitted = LogisticRegression(C=1e3, max_iter=10_000)
    fitted.fit(np.column_stack([vba, sba])[off], grades[off] > np.median(grades))
    (a, b), (c,) = *fitted.coef_, fitted.intercept_
    (line,) = axes[0].lines
    slope, intercept = np.polyfit(*line.get_data(), 1)
    assert slope == pytest.approx(-b / a, rel=0.01)
    assert intercept == pytest.approx(-c / a, rel=0.01)
    assert f"{a:.1f} VBA {b:+.1f} SBA {c:+.1f} = 0, 60 captions" in svg
    assert ET.fromstring(svg).tag == f"{SVG}svg"


def test_ratings_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = drawn_on(monkeypatch)
    assert "5 captions, mean 1.40" in histogram(rated([0, 0, 1, 3, 3]))
    bars = {round(bar.get_x() + bar.get_width() / 2, 2): bar.get_height() for bar in axes[0].patches}
    assert {x: count for x, count in bars.items() if count} == {0: 2, 1: 1, 3: 2}
    with pytest.raises(UserError, match="annotations=FILE must be given"):
        histogram()


def test_similarities_before_and_after_standardising(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    captions = [f"{'word ' * n}{'x' * m}" for n in (1, 3) for m in range(1, 7)] + ["one of four words"]
    monkeypatch.setattr(icc_figures, "sample_captions", lambda *_: captions)
    scorer = DirectScorer(Shouts(5), EditSimilarity(), Standardizer((1, 3), (0.0, -1.0), (1.0, 2.0)))
    axes = drawn_on(monkeypatch)
    lengths(pool, CPU, 0, {"SBA": scorer})
    raw = 5 / np.array([len(caption) for caption in captions[:6]])
    logit = np.median(np.log(raw / (1 - raw)))
    for axis, expected in zip(axes, (np.median(raw), 1 / (1 + np.exp(-logit))), strict=True):
        assert axis.get_xticklabels()[-1].get_text() == "4"  # words; the caption of five has no box
        medians = [line for line in axis.lines if line.get_color() == "C1"]
        assert medians[0].get_ydata()[0] == pytest.approx(expected, abs=0.01)
    assert [axis.get_title() for axis in axes] == ["before standardising", "after standardising"]


@pytest.fixture
def labels(pool: Pool, tmp_path: Path) -> Path:
    """Topics of four of the five pairs: 0, 1, 1, 0; the last has none."""
    uids = np.sort(np.concatenate([pool.index(shard).uids for shard in pool.tars]))
    ngrams = [{"topic": n, "captions": 2, "ngrams": of} for n, of in enumerate([["<b>", "sky"], ["dog"]])]
    (tmp_path / "labels" / "labels").mkdir(parents=True)
    (tmp_path / "labels" / "topics.json").write_text(json.dumps(ngrams))
    topics = np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8], [0.6, 0.4]], np.float32)
    write_part(tmp_path / "labels" / "labels" / "a.parquet", uids[:4], topics)
    return tmp_path / "labels"


def test_a_topic_is_shown_with_its_images(pool: Pool, labels: Path) -> None:
    (table,) = figures.topics(pool, 0, str(labels), count=10, images=16)
    assert table.title == "2 of 2 topics"
    assert sorted(texts(table, 0)) == ["&lt;b&gt;, sky", "dog"]
    assert [row[1].text.count("data:image/jpeg") for row in table.rows] == [2, 2]
    assert table.rows[0][1].text != table.rows[1][1].text
    (one,) = figures.topics(pool, 0, str(labels), count=1, images=1)
    assert [row[1].text.count("data:image/jpeg") for row in one.rows] == [1]
    with pytest.raises(UserError, match="labels=/nowhere must be the folder that task=weak_labels prints"):
        figures.topics(pool, 0, "/nowhere", 1, 1)


def test_the_confusion_is_that_of_the_backbone(
    pool: Pool, labels: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = read_labels(labels, np.concatenate([pool.index(shard).uids for shard in pool.tars]))
    backbone = WeakBackbone("test_resnet", 32, TrainConfig(samples_seen=8, batch_size=8, lr=0.1), known)
    backbone.build(CPU)
    with torch.no_grad():  # topic 1 for all images
        backbone.model.get_classifier().bias[1] += 1e6
    backbone.save(tmp_path / "backbone")
    axes = drawn_on(monkeypatch)
    of_all = figures.topic_confusion(pool, CPU, 0, str(labels), str(tmp_path / "backbone"))
    assert "4 images, 50.0% on the diagonal" in of_all
    assert axes[0].images[0].get_array().tolist() == [[0, 0], [1, 1]]
    write_subset(tmp_path / "trained.npy", known.uids[1:3])
    backbones = [str(tmp_path / "backbone"), str(tmp_path)]
    held_out = figures.topic_confusion(pool, CPU, 0, str(labels), backbones[0], str(tmp_path / "trained.npy"))
    assert "2 images, 0.0% on the diagonal" in held_out
    with pytest.raises(UserError, match="must be the folder that task=weak_backbone prints"):
        figures.topic_confusion(pool, CPU, 0, str(labels), backbones[1])


def test_the_task_writes_a_page_and_an_svg(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("caption,concreteness_annotation\na dog,3\nhope,0\n")
    job = make_job("task=figure", "figure=icc_7", f"figure.annotations={file}", f"results_dir={tmp_path}")
    OmegaConf.update(job.cfg, "figure.heading", "<b>$x_1$</b>")
    figure(job)
    svg, html = map(Path, capsys.readouterr().out.splitlines())
    assert (svg, html) == (tmp_path / "figures" / "icc_7.svg", tmp_path / "figures" / "icc_7.html")
    assert "&lt;b&gt;$x_1$" in html.read_text()
    assert "After Figure 7 of ICC" in html.read_text()
    first = svg.read_bytes()
    figure(job)
    assert svg.read_bytes() == first
