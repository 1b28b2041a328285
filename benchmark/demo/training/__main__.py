"""``python -m benchmark.demo.training MODEL... [--out FOLDER] [--device auto]``; MODEL is swin, vit, ... or all."""

import argparse
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Train the named scale models, evaluate them on held-out samples, and update the model card."""
    # Must be set before torch is imported: threads that spin while they wait are ten times slower on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from benchmark.demo.training.export import MODELS
    from benchmark.demo.training.registry import SCRIPTS

    parser = argparse.ArgumentParser(prog="python -m benchmark.demo.training", description=main.__doc__)
    parser.add_argument("models", nargs="+", choices=[*SCRIPTS, "all"], metavar="|".join([*SCRIPTS, "all"]))
    parser.add_argument("--out", type=Path, default=MODELS, help="parent folder of the model folders")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--threads",
        type=int,
        default=2,
        help="torch threads; the last bits of the weights depend on the number",
    )
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%X")
    names = list(SCRIPTS) if "all" in arguments.models else arguments.models
    for name in names:
        train_one(name, arguments.out, arguments.device, arguments.threads)


def train_one(name: str, out: Path, device: str, threads: int) -> None:
    """Train one model, replace the folder `out`/`name` by it, and add its figures to the model card."""
    import torch
    from transformers.utils.logging import disable_progress_bar

    from benchmark.core.devices import resolve_device
    from benchmark.demo.training.model_card import update_card
    from benchmark.demo.training.registry import SCRIPTS

    disable_progress_bar()
    torch.set_num_threads(threads)
    script = SCRIPTS[name]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{name}.") as temporary:
        folder, started = Path(temporary) / name, time.perf_counter()
        folder.mkdir()
        script.train(folder, script.config, resolve_device(device))
        seconds = time.perf_counter() - started
        figures = script.evaluate(folder, 2000, script.config.recipe.seed)
        shutil.rmtree(out / name, ignore_errors=True)
        folder.replace(out / name)
    update_card(out, name, seconds, figures)


if __name__ == "__main__":
    main()
