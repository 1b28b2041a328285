"""``python -m tools.scale_models MODEL... [--out FOLDER] [--device auto]``; MODEL is swin, vit, ... or all."""

import argparse
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.scale_models.registry import Script

log = logging.getLogger(__name__)


def main() -> None:
    """Train the named scale models, evaluate them on held-out samples, and update the model card.

    With "all", models that were trained from the same inputs before are skipped.
    """
    # Must be set before torch is imported: spinning threads are ten times slower on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tools.scale_models.export import MODELS
    from tools.scale_models.registry import SCRIPTS

    parser = argparse.ArgumentParser(prog="python -m tools.scale_models", description=main.__doc__)
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
    outdated_only = "all" in arguments.models
    for name in SCRIPTS if outdated_only else arguments.models:
        train_one(name, SCRIPTS[name], arguments.out, arguments.device, arguments.threads, outdated_only)


def train_one(
    name: str, script: "Script", out: Path, device: str, threads: int, outdated_only: bool = False
) -> None:
    """Train one model, replace the folder `out`/`name` by it, and add its figures to the model card.

    Args:
        name: name of the model.
        script: its training script.
        out: parent folder of all models.
        device: auto, cpu, cuda or cuda:N.
        threads: number of torch threads.
        outdated_only: do nothing if the folder holds the model that the same inputs gave before.
    """
    import torch
    from transformers.utils.logging import disable_progress_bar

    from benchmark.core.devices import resolve_device
    from tools.scale_models.model_card import update_card
    from tools.scale_models.up_to_date import config_in, content, fingerprint, is_up_to_date

    config = config_in(out, script.config)
    inputs = fingerprint(script, config)
    if outdated_only and is_up_to_date(out, name, inputs):
        log.info("%s: already trained from the same inputs", name)
        return
    disable_progress_bar()
    torch.set_num_threads(threads)
    out.mkdir(parents=True, exist_ok=True)
    for killed in out.glob(f".{name}.*"):
        shutil.rmtree(killed)
    log.info("%s: started", name)
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{name}.") as temporary:
        folder, started = Path(temporary) / name, time.perf_counter()
        folder.mkdir()
        script.train(folder, config, resolve_device(device))
        seconds = time.perf_counter() - started
        figures = script.evaluate(folder, 2000, config.recipe.seed)
        shutil.rmtree(out / name, ignore_errors=True)
        folder.replace(out / name)
    update_card(out, name, seconds, figures, {"inputs": inputs, "content": content(out / name)})


if __name__ == "__main__":
    main()
