"""The files of the demo: equal bytes from every build, and tar, parquet and annotations that agree."""

import hashlib
import io
import json
import re
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from benchmark.core.cached_files import SEAL
from benchmark.core.errors import UserError
from benchmark.core.uids import make_uid
from downstream.evaluation.evaluation_sets import coco_captions, karpathy
from pairsift.demo import build, settings
from pairsift.demo.build import build_pool, ensure_demo
from pairsift.demo.render import render
from pairsift.demo.settings import DemoConfig, demo_root
from pairsift.demo.text_rendering import overlay_text
from pairsift.demo.vocabulary import OUT_KINDS
from pairsift.demo.worlds import PAIRS, read_world
from tools.demo_world.draws import generator, sample_pair
from tools.demo_world.mix import drawn_mix, pool_mix
from tools.demo_world.noise import draft_pair
from tools.demo_world.scenes import sample_scene
from tools.demo_world.shipped import FIRST_INDEX
from tools.demo_world.words import OUT_PATTERNS

SETS = {"coco": 4, "nocaps": 2, "flickr30k": 3, "tuning": 2}
CONFIG = DemoConfig(
    pairs=50, shard_size=20, image_size=128, jpeg_quality=88, seed=0, consistency=0.5, mismatched=0.05, cut=None,
    evaluation=SETS,
)  # fmt: skip
PLANTED = {"noise", "grade", "concreteness", "near_duplicate_group"}


def digests(root: Path) -> dict[str, str]:
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.name != SEAL)  # a seal has times
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The whole demo, small, built in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("demo")))
        return ensure_demo(CONFIG, workers=1)


@pytest.mark.slow
def test_two_processes_write_the_same_bytes_as_one(root, cache):
    again = ensure_demo(CONFIG, workers=2)
    assert again != root
    assert digests(again) == digests(root)
    assert len(digests(root)) == 10 + 4 + 6 + 3 + 2 + 3


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"seed": 4}, "pool.demo.seed=4 must be 0"),
        ({"pairs": 80_001}, "pool.demo.pairs=80001 must be at most 80,000"),
        ({"mismatched": 0.1}, "pool.demo.mismatched=0.1 must be at most 0.05"),
        ({"consistency": 0.3}, "pool.demo.consistency=0.3 must be 0, 0.5 or 1"),
        ({"cut": True, "consistency": 1.0}, "must be 0.5, or 0 or 1 with pool.demo.cut=null"),
    ],
)
def test_worlds_that_are_not_shipped_name_the_tool(changes, line):
    with pytest.raises(UserError, match=f"{re.escape(line)}.*python -m tools.demo_world pool FOLDER"):
        demo_root(replace(CONFIG, **changes))


def test_consistency_and_cut_are_other_worlds():
    worlds = [
        read_world(PAIRS, consistency, 0.05, cut)
        for consistency, cut in ((0.0, False), (0.5, False), (1.0, False), (0.5, True))
    ]
    assert [len(world) for world in worlds] == [PAIRS] * 4
    firsts = [world.slice(0, 200) for world in worlds]
    assert len({str(world["words"].to_pylist()) for world in firsts}) >= 2
    assert len({str(world["things"].to_pylist()) for world in firsts}) == 4


def test_pairs_that_are_not_mismatched_show_the_scene_of_their_caption(tmp_path):
    worlds = {share: read_world(PAIRS, 0.5, share, True).to_pylist() for share in (0.0, 0.01, 0.05)}
    wrong = {
        share: {row["index"] for row in rows if row["noise"] == "mismatched"}
        for share, rows in worlds.items()
    }
    assert set() == wrong[0.0] < wrong[0.01] < wrong[0.05]
    assert len(wrong[0.05]) / PAIRS == pytest.approx(0.05, rel=0.05)
    assert len(wrong[0.01]) / PAIRS == pytest.approx(0.01, rel=0.11)  # three deviations of 800 pairs
    for row, other in zip(worlds[0.0], worlds[0.05], strict=True):
        assert row["words"] == other["words"]
        assert (row == other) == (other["mismatched_from"] == 0)
    changed = [row for row in worlds[0.0] if row["index"] in wrong[0.05]][:20]
    assert {(row["noise"], row["grade"]) for row in changed} == {("concrete", 3)}
    build_pool(tmp_path / "pool", CONFIG, pa.Table.from_pylist(changed), workers=1)
    for row, files in zip(changed, read_shard(tmp_path / "pool", 0).values(), strict=True):
        rng = generator("pool", row["index"], 0)
        draft = draft_pair(rng, drawn_mix())
        image = render(draft.described, rng)
        image = overlay_text(image, draft.text.split(), rng) if draft.text else image
        decoded = np.asarray(Image.open(io.BytesIO(files["jpg"])).convert("RGB")).astype(int)
        assert np.abs(decoded - image).mean() < 12  # what JPEG loses


def test_a_longer_pool_begins_like_a_shorter_one(root, tmp_path):
    build_pool(tmp_path / "short", CONFIG, read_world(20, 0.5, 0.05, False), workers=1)
    assert digests(tmp_path / "short")["shards/00000000.tar"] == digests(root)["shards/00000000.tar"]


def read_shard(root: Path, shard: int) -> dict[str, dict[str, bytes]]:
    samples: dict[str, dict[str, bytes]] = {}
    with tarfile.open(root / "shards" / f"{shard:08d}.tar") as tar:
        for member in tar:
            assert (member.mtime, member.uid, member.gid, member.mode) == (0, 0, 0, 0o644)
            key, _, extension = member.name.partition(".")
            assert extension not in samples.setdefault(key, {})
            assert key == list(samples)[-1]  # a sample's files lie together
            samples[key][extension] = tar.extractfile(member).read()
    return samples


def test_tar_and_parquet_agree_with_the_generated_pair(root):
    uids, index = [], 0
    for shard, count in enumerate((20, 20, 10)):
        rows = pq.read_table(root / "metadata" / f"{shard:08d}.parquet").to_pylist()
        samples = read_shard(root, shard)
        assert len(rows) == len(samples) == count
        stats = json.loads((root / "shards" / f"{shard:08d}_stats.json").read_text())
        assert (stats["count"], stats["successes"], stats["status_dict"]) == (
            count,
            count,
            {"success": count},
        )
        for row, (key, files) in zip(rows, samples.items(), strict=True):
            sidecar = json.loads(files["json"])
            assert not PLANTED & set(sidecar)
            assert sidecar.pop("caption") == row["text"] == files["txt"].decode()
            assert (sidecar.pop("width"), sidecar.pop("height")) == (128, 128)
            assert all(row[name] == value for name, value in sidecar.items())
            assert row["key"] == key
            assert row["sha256"] == hashlib.sha256(files["jpg"]).hexdigest()
            assert row["uid"] == make_uid(row["url"], row["text"])
            pair = sample_pair("pool", index, 0, pool_mix(0.5))
            assert (row["text"], row["noise"], row["grade"]) == (pair.caption, pair.kind, pair.grade)
            assert row["concreteness"] == np.float32(pair.concreteness)
            assert (row["near_duplicate_group"] is not None) == (pair.kind == "near_duplicate")
            decoded = np.asarray(Image.open(io.BytesIO(files["jpg"])).convert("RGB")).astype(int)
            assert decoded.shape == (128, 128, 3)
            assert np.abs(decoded - pair.image).mean() < 12  # what JPEG loses
            uids.append(row["uid"])
            index += 1
    assert len(set(uids)) == 50


def test_an_interrupted_build_leaves_nothing_and_a_finished_one_stays(monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(build, "write_evaluation_set", fail)
    with pytest.raises(OSError, match="disk full"):
        ensure_demo(replace(CONFIG, pairs=20), workers=1)
    assert not [p for p in demo_root(CONFIG).parent.rglob("*") if p.is_file()]
    demo_root(CONFIG).mkdir(parents=True)  # an existing demo is not generated again
    monkeypatch.setattr(build, "write_shard", lambda *_: pytest.fail("generated again"))
    assert ensure_demo(CONFIG, workers=1) == demo_root(CONFIG)


def test_settings_and_versions_make_another_demo(monkeypatch):
    before = demo_root(CONFIG)
    assert demo_root(replace(CONFIG, consistency=1.0)) != before
    assert demo_root(replace(CONFIG, evaluation={**CONFIG.evaluation, "coco": 5})) != before
    monkeypatch.setattr(settings, "DRAWING_VERSION", settings.DRAWING_VERSION + 1)
    assert demo_root(CONFIG) != before


def test_evaluation_sets_load_as_the_originals(root):
    sets, uses = root / "evalsets", {"captioning": True, "retrieval": True}
    images = {name: sets / name for name in ("coco", "tuning")}
    images["flickr30k"] = sets / "flickr30k" / "flickr30k-images"
    loaded = [
        karpathy(name, f"{sets}/{name}/dataset_{name}.json", str(of), **uses) for name, of in images.items()
    ]
    annotations = sets / "nocaps" / "nocaps_val_4500_captions.json"
    loaded.append(coco_captions("nocaps", str(annotations), str(sets / "nocaps" / "images"), **uses))
    assert [len(found) for found in loaded] == [4, 2, 3, 6]
    for item in [item for found in loaded for item in found.items]:
        assert item.load().size == (128, 128)
        assert len(set(item.references)) == 5
    domains = [item.domain for item in loaded[3].items]
    assert domains == ["in-domain"] * 2 + ["near-domain"] * 2 + ["out-domain"] * 2
    for i in range(2):
        first = sample_scene(generator("evaluation", FIRST_INDEX["out"] + i, 0), "out").things[0]
        assert first.kind in OUT_KINDS or first.pattern in OUT_PATTERNS


def test_no_evaluation_image_is_in_the_pool_or_in_another_set(root):
    evaluation = [p.read_bytes() for p in (root / "evalsets").rglob("*.jpg")]
    pool = [files["jpg"] for shard in range(3) for files in read_shard(root, shard).values()]
    assert len(evaluation) == 4 + 6 + 3 + 2
    assert len({*evaluation, *pool}) == 15 + 50
