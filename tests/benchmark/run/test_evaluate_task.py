"""``task=evaluate`` of published captions and models, and its entries in the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Done, Run, assert_one_line

QUICK = ["metrics=[bleu,rouge_l,cider]"]
MODELS = Path("pairsift/demo/models").resolve()


def printed(done: Done) -> dict[str, dict[str, Any]]:
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: {m["name"]: m for m in metrics} for name, metrics in json.loads(done.stdout).items()}


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def four(tmp_path: Path) -> list[str]:
    """Settings of two evaluation sets without images; the second has ids of the first."""
    captions = {1: "a black cat sits on a mat", 2: "two dogs run", 3: "a red bus", 4: "a man with a kite"}
    loader, sets = "downstream.evaluation.evaluation_sets.coco_captions", []
    for name, ids in (("coco", (1, 2, 3, 4)), ("nocaps", (3, 4, 5))):
        annotations = [{"image_id": i, "caption": captions.get(i, "a boat")} for i in ids]
        images = [{"id": i, "file_name": f"{i}.jpg"} for i in ids]
        file = write(tmp_path / f"{name}.json", {"images": images, "annotations": annotations})
        settings = f"name: {name}, annotations: {file}, images: null, captioning: true, retrieval: false"
        sets.append(f"+evalset.{name}={{_target_: {loader}, {settings}}}")
    left_out = [f"~evalset.{name}" for name in ("coco", "nocaps", "flickr30k", "classes")]
    return [*QUICK, *left_out, *sets, f"results_dir={tmp_path / 'results'}"]


def test_published_captions_are_scored_and_reported(run: Run, four: list[str], tmp_path: Path) -> None:
    rows = [{"image_id": i, "caption": "two dogs run"} for i in (1, 2, 3, 4, 99)]
    file = write(tmp_path / "published.json", [*rows, {"image_id": 2, "caption": "x"}])
    found = printed(run("task=evaluate", f"task.captions={file}", *four))
    assert list(found) == ["coco"]  # two images of nocaps have the ids of coco's
    assert found["coco"]["BLEU-1"]["count"] == 4
    assert found["coco"]["CIDEr"]["value"] > 1
    (record,) = (tmp_path / "results" / "evaluations").glob("published.json-*.json")
    assert json.loads(record.read_text())["label"] == "published.json"
    done = run("task=report", f"results_dir={tmp_path / 'results'}")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "results" / "report.md").read_text()
    cider = f"{100 * found['coco']['CIDEr']['value']:.1f}"
    assert "## evaluated on coco" in report
    assert [row for row in report.splitlines() if row.startswith("| published.json | 4 |") and cider in row]
    assert "evaluated on coco" in (tmp_path / "results" / "report.html").read_text()


def test_a_quick_look_is_marked_and_absent_metrics_are_named_last(
    run: Run, four: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write(tmp_path / "a.json", [{"image_id": i, "caption": "two dogs run"} for i in (1, 2, 3, 4)])
    polos = ["models.polos.checkpoint=/nowhere/evaluate", "metrics=[bleu,polos]"]
    found = printed(run("task=evaluate", f"task.captions={file}", *four, *polos, "evalset.limit=2"))["coco"]
    assert found["BLEU-1"]["count"] == 2
    assert found["Polos"]["reason"] == "Polos needs the images, and none were given"
    line = "metrics without a value: Polos; task=doctor says how to get them"
    assert [line for line in caplog.messages if "Polos" in line] == caplog.messages[-1:] == [line]
    done = run("task=report", f"results_dir={tmp_path / 'results'}")
    assert done.returncode == 0, done.stderr
    assert "evaluated on coco: quick look at the first 2 images" in " ".join(done.stdout.split())


def test_mistakes_are_one_line(run: Run, four: list[str], tmp_path: Path) -> None:
    file = write(tmp_path / "half.json", [{"image_id": i, "caption": "a"} for i in (1, 2)])
    one = "task.captioner.checkpoint, but was given"
    blip = f"task.captioner.checkpoint={MODELS / 'blip'}"
    for given, message in (
        ([f"task.captions={file}", *four], "has 2 of the 4 images of coco, 0 of the 3 images of nocaps"),
        ([blip, *four], "evaluation image 1 is needed; set images of its evalset to their folder"),
        ([], f"{one} none"),
        (["task.captions=a.json", "task.clip.model=ViT-B-32"], f"{one} task.captions, task.clip.model"),
    ):
        assert_one_line(run("task=evaluate", *given), message)


@pytest.mark.slow
def test_an_open_clip_model_is_evaluated(run: Run, small_demo: list[str], tmp_path: Path) -> None:
    classes = ["evalset.classes.drawn.train=1", "evalset.classes.drawn.test=1"]
    model = f"task.clip.model=local-dir:{MODELS / 'clip'}"
    found = printed(run("task=evaluate", model, f"results_dir={tmp_path}", *small_demo, *classes))
    assert list(found) == ["coco", "flickr30k", "classes"]
    assert found["coco"]["text_to_image_R@10"]["value"] > 0.5
    assert found["classes"]["zero_shot"]["count"] == 39
    assert "models of this benchmark only" in found["classes"]["linear_probe"]["reason"]


@pytest.mark.slow
def test_a_captioner_of_the_hub_is_evaluated(run: Run, small_demo: list[str], tmp_path: Path) -> None:
    command = ("task=evaluate", f"results_dir={tmp_path}", *small_demo, *QUICK)
    beams = "task.captioner.beams=1"
    found = printed(run(*command, f"task.captioner.checkpoint={MODELS / 'blip'}", beams))
    assert list(found)[:2] == ["coco", "nocaps"]
    assert found["coco"]["CIDEr"]["value"] > 0.1
    (captions,) = tmp_path.glob("evaluations/blip-*/captions_coco.json")
    assert len(json.loads(captions.read_text())) == 24
    assert printed(run(*command, f"task.captions={captions}"))["coco"] == found["coco"]
