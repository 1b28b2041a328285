"""Real photos and real captions through the command line, with the scale models as checkpoints."""

import json
import shutil
from pathlib import Path

import pytest

from benchmark.core.uids import read_subset
from tests.command_line import Done, Run
from tests.extras import needs_extra
from tests.pools import Row, write_metadata, write_tar
from tests.servers import Behaviour, http_server

pytestmark = pytest.mark.slow


def printed(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def coco_photos(shared_data: Path) -> tuple[dict[Path, list[str]], list[Path]]:
    """The photos with their captions, and the photos without captions in the folder."""
    root = shared_data / "coco_mini"
    captions: dict[Path, list[str]] = {}
    for split in ("train2017", "val2017"):
        content = json.loads((root / "annotations" / f"captions_{split}.json").read_text())
        places = {image["id"]: root / split / image["file_name"] for image in content["images"]}
        for annotation in content["annotations"]:
            captions.setdefault(places[annotation["image_id"]], []).append(annotation["caption"])
    photos = sorted(root.glob("*2017/*.jpg"))
    return {p: captions[p] for p in photos if p in captions}, [p for p in photos if p not in captions]


def write_photo_pool(folder: Path, captions: dict[Path, list[str]], without: list[Path]) -> None:
    rows = [
        Row(f"{n:09d}", f"file:///{photo.name}", texts[0], photo.read_bytes())
        for n, (photo, texts) in enumerate(captions.items())
    ]
    bare = [
        Row(f"{1000 + n:09d}", "", "", b"", files={"jpg": photo.read_bytes(), "json": b'{"url": "x"}'})
        for n, photo in enumerate(without)
    ]
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        write_tar(folder / f"{number:05d}.tar", part + (bare if number else []))
        write_metadata(folder / f"{number:05d}.parquet", part, status=["success"] * len(part))


def write_karpathy(folder: Path, captions: dict[Path, list[str]]) -> None:
    images = []
    (folder / "val2014").mkdir(parents=True)
    for number, (photo, texts) in enumerate(captions.items()):
        shutil.copy(photo, folder / "val2014" / photo.name)
        sentences = [{"raw": text, "tokens": text.lower().split()} for text in texts]
        entry = {"filepath": "val2014", "filename": photo.name, "imgid": number, "cocoid": int(photo.stem)}
        images.append(entry | {"split": "test", "sentences": sentences})
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images, "dataset": "coco"}))


@needs_extra("http")
def test_coco_photos_on_a_web_server_go_through_the_whole_chain(
    run: Run, monkeypatch: pytest.MonkeyPatch, shared_data: Path, tmp_path: Path
) -> None:
    captions, without = coco_photos(shared_data)
    assert len(captions) + len(without) == 239
    write_photo_pool(tmp_path / "pool", captions, without)
    evaluated = dict([*captions.items()][:20])
    write_karpathy(tmp_path / "coco", evaluated)
    monkeypatch.setenv("COCO_ROOT", str(tmp_path / "coco"))
    with http_server(tmp_path / "pool", Behaviour()) as url:
        done = run(
            "pool=img2dataset", f"pool.url={url}", "models=demo", "filter=clip", "size.samples=100",
            "evalset=paper", "~evalset.nocaps", "~evalset.flickr30k", f"results_dir={tmp_path / 'results'}",
            "downstream.captioner.training.samples_seen=100", "downstream.dual_encoder.training.samples_seen=128",
            "scoring.tolerate=0.34",  # a third of the photos have no caption
        )  # fmt: skip
    result = json.loads(Path(printed(done)[-1]).read_text())
    assert result["k"] == 100
    assert result["selection"]["drops"] == {"caption_missing": len(without)}
    assert result["selection"]["scored"] == len(captions)
    assert len(read_subset(Path(result["subset"]))) == 100
    captioner, dual = result["downstream"]["captioner"], result["downstream"]["dual_encoder"]
    assert captioner["training"]["samples_seen"] == 100
    assert captioner["training"]["skipped"] == {}
    found = {m["name"]: m for m in captioner["evaluations"]["coco"]}
    assert {"BLEU-1", "BLEU-4", "METEOR", "ROUGE_L", "CIDEr", "BERTScore", "SPICE", "Polos"} <= set(found)
    for name in ("BLEU-1", "METEOR", "ROUGE_L", "CIDEr", "BERTScore"):
        assert found[name]["value"] is not None, found[name]
        assert found[name]["count"] == len(evaluated)
    assert found["Polos"]["value"] is None
    assert "weights" in found["Polos"]["reason"]
    recall = {m["name"]: m["value"] for m in dual["evaluations"]["coco"]}
    assert 0 <= recall["text_to_image_R@1"] <= recall["text_to_image_R@10"] <= 1


def test_all_captions_of_laion_are_scored(run: Run, shared_data: Path) -> None:
    pool = ["pool=img2dataset", f"pool.url={shared_data / 'laion_alt_text'}"]
    manifest = printed(run("task=select", *pool, "filter=random", "size.samples=1000"))[-1]
    selection = json.loads(Path(manifest).with_suffix(".json").read_text())
    assert selection["drops"].keys() <= {"duplicate_uid"}
    assert selection["scored"] + sum(selection["drops"].values()) == 11_000
