"""The types of the settings that no class takes: top level, `size`, `captions`, `models`, `icc`, and tasks.

A setting has the type of its values, or a mapping of the settings below its name: one with a question mark may be
absent, and a star means any other name. `NODE` is a node with a `_target_` (a filter, a pool, ...): its settings are
the arguments of its class.
"""

from typing import Annotated, Any, Literal

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

NODE = dict[str, Any]
NODES = {"*": NODE}
Path = Annotated[str, Field(min_length=1, description="one folder or file")]
BOUND = Annotated[float | None, Field(description="a number, or null for no bound")]
Cosine = Annotated[float, Field(ge=-1, le=1, description="a number from -1 to 1")]


def or_null(meaning: str) -> Any:
    """Return the type of a positive integer or null, which has the given meaning."""
    return Annotated[PositiveInt | None, Field(description=f"a positive integer, or null for {meaning}")]


# The settings of every filter, next to the arguments of its class.
FILTER: dict[str, Any] = {
    **dict.fromkeys(("minimum", "maximum"), BOUND),
    **dict.fromkeys(("rank", "low_is_good"), bool),
}

MODELS: dict[str, Any] = {
    "clip": {"model": str, "pretrained": str | None, "precision": str},
    "clip_minimum": Cosine,
    "clip_duplicate": Cosine | None,
    "captioner": {"encoder": str, "decoder": str, "lr": PositiveFloat, "encoder_lr_ratio": NonNegativeFloat},
    "lstm_captioner?": {
        "encoder": str,
        "weak_encoder": str | None,
        "lr": PositiveFloat,
        **dict.fromkeys(("width", "word_threshold"), PositiveInt),
    },
    "weak_backbone": {
        "architecture": str,
        "image_size": PositiveInt,
        "lr": PositiveFloat,
        "topics": PositiveInt,
    },
    "dual_encoder": {"image": str, "text": str, "lr": PositiveFloat},
    "clip_scratch": {"architecture": str, "batch_size": PositiveInt, "lr": PositiveFloat},
    "icc": {
        "clip": {"model": str, "pretrained": str | None},
        "build": str | None,
        "checkpoint": str,
        "llm": str,
        "max_new_tokens": PositiveInt,
        "base": str,
    },
    "text_to_image": {"checkpoint": str, "steps": PositiveInt, "guidance": NonNegativeFloat},
    "image_captioner": {"checkpoint": str, "prompt": str, "max_new_tokens": PositiveInt},
    "pacscore": {"model": str, "pretrained": str | None, "checkpoint": str | None},
    "bertscore": {"model": str, "num_layers": PositiveInt, "baseline_path?": str | None},
    "polos": {"checkpoint": str | None, "encoder?": str},
    **dict.fromkeys(("rewriter", "describer", "parser"), str),
}

ICC: dict[str, Any] = {
    "output": Path,
    "captions": NODE,
    "training_captions": or_null("the default fraction"),
    "scoring_captions": or_null("the default fraction"),
    "bridge": NODE,
    "bridge_max_tokens": PositiveInt,
    "similarity": {"sba": SimilarityName, "vba": SimilarityName},
    "mu": float,
    "decoding": {
        "sba": {"first_token": Literal["eos"] | None, "together": or_null("every beam by itself")},
        "vba": {"returned": or_null("all beams")},
    },
    "images_dir": str | None,
    "annotations": NODE | None,
    "distillation": NODE,
}

SETTINGS: dict[str, Any] = {
    "seed": Seed,
    "budget": Annotated[int, Field(gt=0, description="a number of samples, such as 2m, 500k or 20000")],
    "device": Device,
    "precision": Precision,
    "results_dir": Path,
    "captions": {
        "columns": list[str],
        "files": list[str],
        "use": Literal["sum", "draw"],
        "weights": list[PositiveFloat] | None,
    },
    "validate_every": or_null("never"),
    "plan?": bool,
    "rescore?": bool,
    "scoring?": {"tolerate": Fraction},
    "selection?": {"tolerate": Fraction},
    "training?": {
        "source": Literal["index", "stream"],
        "shards": str | None,
        **dict.fromkeys(("stream_workers", "shuffle_mib"), PositiveInt),
    },
    "models": MODELS,
    "icc": ICC,
    "evalset": {"limit?": or_null("all images"), **NODES},
    "size": {
        "samples": Annotated[PositiveInt | Literal["all"], Field(description="a positive integer, or all")]
    },
    **dict.fromkeys(("task", "ocr", "embedding", "pool", "filter", "selector"), NODE),
    **dict.fromkeys(("engine", "tracker", "augmentation", "weak_backbone?"), NODE),
    **dict.fromkeys(("downstream", "metrics"), NODES),
    "profile?": {
        "captions": PositiveInt,
        "ratings": str | None,
        "images": bool,
        "samples": or_null("the whole pool"),
        "clusters": PositiveInt,
    },
    "figure?": NODE,
    "weak_labels?": {
        "parser": str,
        "minimum_informativeness": NonNegativeFloat,
        "max_share": PositiveFloat,
        **dict.fromkeys(("ngrams", "topics", "passes", "batch_size"), PositiveInt),
    },
}

# The settings below `task`, by the task's name. Settings of users' tasks are not checked.
TASKS: dict[str, Any] = {
    "annotation": {
        **dict.fromkeys(("count", "sample"), PositiveInt),
        **dict.fromkeys(("questions", "filters"), NODES),
        "draw": Literal["random", "even"],
        "question": Literal["concreteness", "informativeness", "quality"],
        **dict.fromkeys(("ratings_back", "captions"), list[str]),
        "evaluation": str | None,
    },
    "augment": {"output": Path | None},
    "concreteness": {
        "annotations": str | None,
        "ratings": str | None,
        "demo": or_null("no captions of the demo"),
        "sample": or_null("all texts"),
        "explain": str | None,
    },
    "dashboard": {"project": str, "entity": str | None, "title": str},
    "embed": {"evalset": str, "output": Path},
    "evaluate": {
        "checkpoint": str | None,
        "captions": str | None,
        "clip": {"model": str | None, "pretrained": str | None},
        "captioner": {
            "checkpoint": str | None,
            "prompt": str,
            **dict.fromkeys(("beams", "max_new_tokens", "batch_size"), PositiveInt),
        },
    },
    "export": {"output": Path | None},
    "fetch": {"pool": str | None},
    "report": {"folders": list[str], "publish": list[str], "columns": list[str] | str | None, "full": bool},
    "reshard": {"output": Path, "members": Literal["known", "all"]},
    "score": {"shards": str | None},
    "text_spotting": {
        "vocabulary": str,
        "ngram": PositiveInt,
        "top": PositiveInt,
        "sample": or_null("the whole vocabulary"),
        "model": str,
        "pretrained": str | None,
    },
}
