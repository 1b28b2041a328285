"""``python -m benchmark.demo.training.ship_icc [BUILD]``: what filters read of an ICC build, into the models."""

import argparse
import json
import shutil
from pathlib import Path

from safetensors.torch import load_file

from benchmark.core.paths import atomic_folder, cache_dir, write_text
from benchmark.demo.training.export import save_half
from benchmark.demo.training.registry import MODELS

# A build's other files are its work: captions, reconstructions, labels, manifests.
READ = (
    "sba/bridge/model.safetensors",
    "*/scores/standardizer-*.json",
    "icc/combination/combination.json",
    "*/distilled/model/*",
)


def ship(build: Path, out: Path) -> None:
    """Copy the files that the filters `sba`, `vba` and `icc` read from `build` to `out`: weights as float16."""
    with atomic_folder(out) as folder:
        for path in sorted(path for pattern in READ for path in build.glob(pattern)):
            target = folder / path.relative_to(build)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".safetensors":
                save_half(load_file(path), target)
            elif path.suffix == ".json":
                write_text(target, json.dumps(json.loads(path.read_text()), separators=(",", ":")) + "\n")
            else:
                shutil.copyfile(path, target)


def main() -> None:
    """Ship the build that is named on the command line, or the one in the cache."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.demo.training.ship_icc", description=main.__doc__
    )
    parser.add_argument(
        "build",
        type=Path,
        nargs="?",
        default=cache_dir() / "icc" / "demo",
        help="what `python -m benchmark experiment=icc_demo` wrote",
    )
    ship(parser.parse_args().build, MODELS / "icc")


if __name__ == "__main__":
    main()
