"""The three packages of the harness without the folder pairsift (``make without-pairsift``).

A copy of the checkout without pairsift, tools and their tests runs ``pool=img2dataset filter=clip`` from a pool to a
result, with small checkpoints in the formats of the papers', and then the default tests of benchmark, filters and
downstream. Tests that need the demo, or another part of pairsift, skip and say so.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = ("pairsift/", "tools/", "tests/pairsift/", "tests/tools/")
# The environment has the checkout on its path, as an editable install; the copy must not find pairsift there.
FORGET_CHECKOUT = f"import sys\nsys.path[:] = [path for path in sys.path if path != {str(ROOT)!r}]\n"
MODELS = ("microsoft/swin-base-patch4-window7-224-in22k", "gpt2", "google/vit-base-patch16-224", "bert-base-uncased",
          "roberta-large")  # fmt: skip


def copy_checkout(folder: Path, left_out: tuple[str, ...] = ()) -> None:
    """Copy all tracked and new files but those that begin with `left_out` to a new repository in `folder`."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in [*names, "benchmark/results/page/static/plotly.min.js"]:  # made by `make setup`
        if not name.startswith(left_out) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for command in ("init", "add --all"):  # some tests ask git for the files
        subprocess.run(["git", *command.split()], cwd=folder, check=True, capture_output=True)


def run_whole(folder: Path) -> None:
    """Run the command in this copy; raise if it fails or leaves a metric of its models out."""
    from importlib.util import find_spec

    from tests.filters.checkpoints import open_clip_model
    from tests.full.test_smoke import roots, write_sets
    from tests.paper_checkpoints import Hub
    from tests.pools import rows, write_pool

    assert find_spec("pairsift") is None
    hub = Hub(folder / "hub", tiny=True)
    hub.add(MODELS)
    write_sets(folder)
    pool = write_pool(folder / "pool", [rows(12), rows(12, start=12)])
    settings = [
        "pool=img2dataset", f"pool.url={pool}", "filter=clip", "size=16", "budget=160", "device=cpu",
        f"models.clip.model={open_clip_model(folder / 'clip')}", "models.clip.pretrained=null",
        "engine.workers=1", f"results_dir={folder / 'results'}",
    ]  # fmt: skip
    paths = {"HF_HUB_CACHE": str(hub.root), "XDG_CACHE_HOME": str(folder / "cache")} | roots(folder)
    command = [sys.executable, "-m", "benchmark", *settings]
    done = subprocess.run(command, env=os.environ | paths, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(Path(done.stdout.splitlines()[-1]).read_text())
    assert set(result["downstream"]) == {"captioner", "dual_encoder"}
    metrics = result["downstream"]["captioner"]["evaluations"]["coco"]
    written = {metric["name"]: metric["value"] for metric in metrics if metric["value"] is not None}
    assert "CIDEr" in written
    print("pool=img2dataset filter=clip runs whole:", written)


def main() -> int:
    """Make the copy and try it; return the exit code of its tests."""
    with TemporaryDirectory() as scratch:
        copy, folder = Path(scratch, "checkout"), Path(scratch, "run")
        folder.mkdir()
        copy_checkout(copy, LEFT_OUT)
        (copy / "sitecustomize.py").write_text(FORGET_CHECKOUT)
        environment = os.environ | {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        whole = [sys.executable, "-m", "tests.without_pairsift", str(folder)]
        subprocess.run(whole, cwd=copy, env=environment, check=True)
        tests = ["-m", "pytest", "-rs", "tests/benchmark", "tests/filters", "tests/downstream", *sys.argv[1:]]
        return subprocess.run([sys.executable, *tests], cwd=copy, env=environment, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) == 2 and Path(sys.argv[1]).is_dir():
        run_whole(Path(sys.argv[1]))
    else:
        sys.exit(main())
