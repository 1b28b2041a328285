"""The types of the settings that no class takes: top level, `size`, `captions`, `models`, `icc`, and tasks.

A setting has the type of its default in ``conf``, unless `DECLARED` names another. The settings below a node with a
`_target_` (a filter, a pool, ...) are the arguments of its class; a star means any other name.
"""

from typing import Annotated, Any, Literal

from omegaconf import OmegaConf
from pydantic import Field

from benchmark.core.ranges import (
    Device,
    Fraction,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Precision,
    Seed,
    SimilarityName,
)
from benchmark.run.config import CONF, PERCENT

NODE = dict[str, Any]
NODES = {"*": NODE}
Path = Annotated[str, Field(min_length=1, description="one folder or file")]
Cosine = Annotated[float, Field(ge=-1, le=1, description="a number from -1 to 1")]


def or_null(meaning: str) -> Any:
    """Return the type of a positive integer or null, which has the given meaning."""
    return Annotated[PositiveInt | None, Field(description=f"a positive integer, or null for {meaning}")]


# The settings whose default does not say their type, or that have none; below the name of a task, those of `task`.
DECLARED: dict[str, Any] = {
    "seed": Seed,
    "budget": Annotated[int, Field(gt=0, description="a number of samples, such as 2m, 500k or 20000")],
    "device": Device,
    "precision": Precision,
    "results_dir": Path,
    "captions.use": Literal["sum", "draw"],
    "captions.weights": list[PositiveFloat] | None,
    "validate_every": or_null("never"),
    "scoring.tolerate": Fraction,
    "selection.tolerate": Fraction,
    "training.source": Literal["index", "stream"],
    "evalset": {"limit": or_null("all images"), **NODES},
    "size": {
        "samples": Annotated[
            PositiveInt | Literal["all"] | Annotated[str, Field(pattern=f"^{PERCENT}$")],
            Field(description="a positive integer, a percentage such as 10%, or all"),
        ]
    },
    **dict.fromkeys(("task", "ocr", "embedding", "pool", "filter", "selector"), NODE),
    **dict.fromkeys(("engine", "tracker", "augmentation", "weak_backbone", "figure"), NODE),
    **dict.fromkeys(("downstream", "metrics"), NODES),
    "models.clip.pretrained": str | None,
    "models.clip_minimum": Cosine,
    "models.clip_duplicate": Cosine | None,
    "models.captioner.encoder_lr_ratio": NonNegativeFloat,
    "models.clip_scratch.warmup_steps": or_null("8.5% of the steps"),
    "models.icc.clip.pretrained": str | None,
    "models.text_to_image.guidance": NonNegativeFloat,
    "models.pacscore.pretrained": str | None,
    "models.bertscore.baseline_path": str | None,
    "models.polos.encoder": str,
    "icc.output": Path,
    "icc.training_captions": or_null("the default fraction"),
    "icc.scoring_captions": or_null("the default fraction"),
    "icc.similarity": {"sba": SimilarityName, "vba": SimilarityName},
    "icc.mu": float,
    "icc.decoding.sba": {"first_token": Literal["eos"] | None, "together": or_null("every beam by itself")},
    "icc.decoding.vba": {"returned": or_null("all beams")},
    "icc.annotations": NODE | None,
    "profile.samples": or_null("the whole pool"),
    "weak_labels.minimum_informativeness": NonNegativeFloat,
    "weak_labels.topics": PositiveInt,
    "annotation.questions": NODES,
    "annotation.filters": NODES,
    "annotation.draw": Literal["random", "even"],
    "annotation.question": Literal["concreteness", "informativeness", "quality"],
    "augment.output": Path | None,
    "concreteness.demo": or_null("no captions of the demo"),
    "concreteness.sample": or_null("all texts"),
    "embed.evalset": str,
    "export.output": Path | None,
    "report.columns": list[str] | str | None,
    "reshard.members": Literal["known", "all"],
    "text_spotting.sample": or_null("the whole vocabulary"),
    "text_spotting.pretrained": str | None,
}


def setting_types() -> dict[str, Any]:
    """Return the types of all settings by their names; a mapping is a group of settings."""
    groups = {"models": "models/paper", "icc": "icc/paper"}
    defaults = _read("config") | {group: _read(file) for group, file in groups.items()}
    defaults["icc"] |= _read("icc/reading/ours")
    return _types(defaults | _read("task/profile") | _read("task/weak_labels"))


def task_types(task: str) -> dict[str, Any]:
    """Return the types of the settings below `task` of a task of ours."""
    defaults = _read(f"task/{task}")
    # Settings that other tasks read too are a group at the top level.
    return {} if "task" in defaults else _types(defaults, f"{task}.")


def _read(file: str) -> dict[str, Any]:
    """Return the settings of a config, with interpolations as they are written."""
    values: Any = OmegaConf.to_container(OmegaConf.load(CONF / f"{file}.yaml"))
    return {name: value for name, value in values.items() if name not in ("defaults", "hydra", "_target_")}


def _types(defaults: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the types of the settings with names that begin with `prefix`."""
    names = [name.removeprefix(prefix) for name in DECLARED if name.startswith(prefix)]
    declared = {name: DECLARED[prefix + name] for name in names if "." not in name}
    others = {name: value for name, value in defaults.items() if name not in declared}
    return declared | {name: _type(value, prefix + name) for name, value in others.items()}


def _type(default: Any, name: str) -> Any:
    """Return the type of a setting by its default."""
    if isinstance(default, dict):
        return NODE if "_target_" in default else _types(default, f"{name}.")
    if isinstance(default, bool):
        return bool
    if isinstance(default, list):
        return list[str]
    if default == "???":
        return Path
    return {int: PositiveInt, float: PositiveFloat, str: str}.get(type(default), str | None)
