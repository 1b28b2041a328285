"""The types of the settings that no class takes: top level, `size`, `captions`, `models`, `icc`, and tasks.

A setting has the type of its values, or a mapping of the settings below its name: one with a question mark may be
absent, and a star stands for any other name. `NODE` is a node with a `_target_` (a filter, a pool, ...), whose
settings are the arguments of its class.
"""

from typing import Annotated, Any

from pydantic import Field

from benchmark.core.ranges import Device, NonNegativeFloat, PositiveFloat, PositiveInt, Precision, Seed, Share

NODE = dict[str, Any]
NODES = {"*": NODE}
Path = Annotated[str, Field(min_length=1, description="one folder or file")]
Cosine = Annotated[float, Field(ge=-1, le=1, description="a number from -1 to 1")]


def or_null(meaning: str) -> Any:
    """Return the type of a positive integer or null, which stands for `meaning`."""
    return Annotated[PositiveInt | None, Field(description=f"a positive integer, or null for {meaning}")]


MODELS: dict[str, Any] = {
    "clip": {"model": str, "pretrained": str | None, "precision": str},
    "clip_minimum": Cosine,
    "clip_duplicate": Cosine | None,
    "captioner": {"encoder": str, "decoder": str, "lr": PositiveFloat, "encoder_lr_ratio": NonNegativeFloat},
    "weak_backbone": {
        "architecture": str,
        "image_size": PositiveInt,
        "lr": PositiveFloat,
        "topics": PositiveInt,
    },
    "dual_encoder": {"image": str, "text": str, "lr": PositiveFloat},
    "icc": {
        "build": str | None,
        "checkpoint": str,
        "clip": {"model": str, "pretrained": str | None},
        "llm": str,
        "max_new_tokens": PositiveInt,
        "base": str,
    },
    "text_to_image": {"checkpoint": str, "steps": PositiveInt, "guidance": NonNegativeFloat},
    "image_captioner": {"checkpoint": str, "prompt": str, "max_new_tokens": PositiveInt},
    "pacscore": {"model": str, "pretrained": str | None, "checkpoint": str | None},
    "bertscore": {"model": str, "num_layers": PositiveInt, "baseline_path?": str | None},
    "polos": {"checkpoint": str | None, "encoder?": str},
    "rewriter": str,
    "describer": str,
    "parser": str,
}

ICC: dict[str, Any] = {
    "output": Path,
    "captions": NODE,
    "training_captions": or_null("the default share"),
    "scoring_captions": or_null("the default share"),
    "bridge": NODE,
    "bridge_max_tokens": PositiveInt,
    "similarity": {"sba": str, "vba": str},
    "images_dir": str | None,
    "annotations": NODE | None,
    "distillation": NODE,
}

SETTINGS: dict[str, Any] = {
    "seed": Seed,
    "device": Device,
    "precision": Precision,
    "results_dir": Path,
    "captions": {"columns": list[str], "files": list[str]},
    "validate_every": or_null("never"),
    "explain": str | None,
    "plan?": bool,
    "shards?": str | None,
    "rescore?": bool,
    "scoring?": {"tolerate": Share},
    "selection?": {"tolerate": Share},
    "task": NODE,
    "models": MODELS,
    "icc": ICC,
    "ocr": NODE,
    "evalset": {"limit?": or_null("all images"), **NODES},
    "embedding": NODE,
    "pool": NODE,
    "filter": NODE,
    "selector": NODE,
    "size": {"samples": PositiveInt},
    "downstream": NODES,
    "metrics": NODES,
    "engine": NODE,
    "tracker": NODE,
    "augmentation": NODE,
    "metric?": list[str] | str | None,  # of task=report
    "profile?": {
        "captions": PositiveInt,
        "ratings": str | None,
        "images": bool,
        "samples": or_null("the whole pool"),
        "clusters": PositiveInt,
    },
    "weak_labels?": {
        "parser": str,
        "minimum_informativeness": NonNegativeFloat,
        "ngrams": PositiveInt,
        "max_share": PositiveFloat,
        "topics": PositiveInt,
        "passes": PositiveInt,
        "batch_size": PositiveInt,
    },
    "weak_backbone?": NODE,
}

# The settings below `task`, by its name, of our own tasks; those of other tasks are not checked.
TASKS: dict[str, Any] = {
    "augment": {"output": Path | None},
    "concreteness": {
        "annotations": str | None,
        "ratings": str | None,
        "demo": or_null("no captions of the demo"),
        "sample": or_null("all texts"),
    },
    "dashboard": {"project": str, "entity": str | None, "title": str},
    "doctor": {},
    "embed": {"evalset": str, "output": Path},
    "evaluate": {
        "checkpoint": str | None,
        "captions": str | None,
        "clip": {"model": str | None, "pretrained": str | None},
        "captioner": {
            "checkpoint": str | None,
            "prompt": str,
            "beams": PositiveInt,
            "max_new_tokens": PositiveInt,
            "batch_size": PositiveInt,
        },
    },
    "export": {"output": Path | None},
    "icc_build": {},
    "profile": {},
    "report": {"folders": list[str], "publish": list[str], "picture": str | None},
    "reshard": {"output": Path},
    "run": {},
    "score": {},
    "select": {},
    "text_spotting": {
        "vocabulary": str,
        "ngram": PositiveInt,
        "top": PositiveInt,
        "sample": or_null("the whole vocabulary"),
        "model": str,
        "pretrained": str | None,
    },
    "train": {},
    "weak_backbone": {},
    "weak_labels": {},
}
