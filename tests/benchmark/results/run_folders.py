"""The folder that a run leaves, and the facts it begins with, for tests of trackers."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from PIL import Image

from benchmark.core.progress import CaptionedImage
from benchmark.core.records import write_record
from benchmark.results.result import Result
from benchmark.results.run_folder import (
    Example,
    GalleryPair,
    Histogram,
    SelectionSummary,
    write_examples,
    write_gallery,
    write_selection_summary,
)
from benchmark.results.trackers import RunFacts
from tests.benchmark.results.report.made_results import metric, protocol, result, trained

SCRIPT = '<script>alert("x")</script> | **a** [b](c)'  # a caption of the web
CAPTIONS = [CaptionedImage(Image.new("RGB", (96, 64), "blue"), SCRIPT, ("a cat", "one cat"))]


def facts(run_id: str = "demo-clip-200k-seed0-ab", **config: Mapping[str, object]) -> RunFacts:
    names = {"filter_name": "clip", "filter_family": "clip", "pool_name": "demo", "size_name": "200k"}
    of_protocol = {"protocol_name": protocol().name, "protocol_fingerprint": protocol().fingerprint}
    columns = {**names, **of_protocol, "k": 2000}
    return RunFacts(run_id, "run", columns, {"filter": {"_target_": "F"}, "seed": 0, **config})


def jpeg(colour: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (48, 32), colour).save(stream, "JPEG")
    return stream.getvalue()


def finished_run(results: Path) -> tuple[Result, Path]:
    """A result with its record, subset file, and the folder of what trackers show."""
    metrics = [replace(metric("CIDEr", 0.5), interval=(0.4, 0.6)), metric("SPICE", None, "no models")]
    subset = results / "cache" / "a.npy"
    made = result(
        "clip", downstream={"captioner": trained(coco=metrics)}, kept={"person": 5}, subset=str(subset)
    )
    subset.parent.mkdir(parents=True)
    subset.write_bytes(b"uids")
    write_record(results, made)
    folder = results / made.run_id
    scores = Histogram((0.0, 0.5, 1.0), (30, 10), (0, 4))
    write_selection_summary(folder, SelectionSummary(scores, (40, 4), {}, {}, {}))
    pairs = [
        GalleryPair("kept", "0" * 32, SCRIPT, 0.75, jpeg("red")),
        GalleryPair("dropped", "1" * 32, "a dog", 0.25, b""),
    ]
    write_gallery(folder, pairs)
    write_examples(folder, [Example("coco", "7", ("a cat",), jpeg("green"))])
    (folder / "captioner").mkdir()
    rows = [{"image_id": 7, "caption": SCRIPT}, {"image_id": 8, "caption": "another"}]
    (folder / "captioner" / "captions_coco.json").write_text(json.dumps(rows))
    return made, folder
