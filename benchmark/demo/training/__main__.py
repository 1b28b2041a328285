"""``python -m benchmark.demo.training swin|vit|gpt2|bert|roberta|llama|clip|all [--out FOLDER] [--device auto]``."""

import argparse
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Train the named models, judge them on held-out samples, and write their folders and the card."""
    # Before torch is imported: threads that wait by spinning slow each other down tenfold on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from benchmark.demo.training.registry import MODELS, SCRIPTS

    parser = argparse.ArgumentParser(prog="python -m benchmark.demo.training", description=main.__doc__)
    parser.add_argument("models", nargs="+", choices=[*SCRIPTS, "all"], metavar="|".join([*SCRIPTS, "all"]))
    parser.add_argument("--out", type=Path, default=MODELS, help="folder of the models' folders")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--threads", type=int, default=2, help="of torch; the weights' last bits depend on it"
    )
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%X")
    names = list(SCRIPTS) if "all" in arguments.models else arguments.models
    for name in names:
        train_one(name, arguments.out, arguments.device, arguments.threads)


def train_one(name: str, out: Path, device: str, threads: int) -> None:
    """Train one model into `out`/`name`, whole or not at all, and enter it into the card."""
    import torch
    from transformers.utils.logging import disable_progress_bar

    from benchmark.core.devices import resolve_device
    from benchmark.demo.training.model_card import enter
    from benchmark.demo.training.registry import SCRIPTS

    disable_progress_bar()
    torch.set_num_threads(threads)
    script = SCRIPTS[name]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{name}.") as temporary:
        made, started = Path(temporary) / name, time.perf_counter()
        made.mkdir()
        script.train(made, script.config, resolve_device(device))
        seconds = time.perf_counter() - started
        figures = script.evaluate(made, 2000, script.config.recipe.seed)
        shutil.rmtree(out / name, ignore_errors=True)
        made.replace(out / name)
    enter(out, name, seconds, figures)


if __name__ == "__main__":
    main()
