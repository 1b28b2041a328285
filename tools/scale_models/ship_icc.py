"""``python -m tools.scale_models.ship_icc [BUILD]``: copy an ICC build's files for filters into `models/icc`."""

import argparse
import json
import shutil
from pathlib import Path

from safetensors.torch import load_file

from benchmark.core.paths import atomic_folder, cache_folder, write_text
from tools.scale_models.export import MODELS, save_half

# The files that filters read; the rest of a build is intermediate: captions, reconstructions, labels, manifests.
SHIPPED = (
    "sba/bridge/model.safetensors",
    "*/scores/standardizer-*.json",
    "icc/combination/combination.json",
    "*/distilled/model/*",
)


def ship(build: Path, out: Path) -> None:
    """Copy the files of `build` that the filters `sba`, `vba` and `icc` read to `out`, with weights as float16."""
    with atomic_folder(out) as folder:
        for path in sorted(path for pattern in SHIPPED for path in build.glob(pattern)):
            target = folder / path.relative_to(build)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".safetensors":
                save_half(load_file(path), target)
            elif path.suffix == ".json":
                write_text(target, json.dumps(json.loads(path.read_text()), separators=(",", ":")) + "\n")
            else:
                shutil.copyfile(path, target)


def main() -> None:
    """Copy the build given on the command line, by default the one in the cache."""
    parser = argparse.ArgumentParser(prog="python -m tools.scale_models.ship_icc", description=main.__doc__)
    parser.add_argument(
        "build",
        type=Path,
        nargs="?",
        default=cache_folder("icc", "demo"),
        help="folder that `python -m benchmark experiment=icc_demo` wrote",
    )
    ship(parser.parse_args().build, MODELS / "icc")


if __name__ == "__main__":
    main()
