"""The model card: `cards.json` with each model's facts, and the README made of it."""

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open

from benchmark.core.paths import write_text
from benchmark.demo.training.parser import count_weights
from benchmark.demo.training.registry import SCRIPTS

INTRODUCTION = """\
# Scale models of the demo

Small stand-ins for the papers' checkpoints, trained from nothing on draws of the demo world that neither the pool
nor the evaluation sets use. They load through the classes that load the real ones, and do not matter outside
the demo. Weights are stored in half precision and loaded in single precision; the parser's are stored by spaCy, in
single precision. `cards.json` holds the figures below; each row's command makes its folder again. `icc/` is what the
filters `sba`, `vba` and `icc` read of the build that `python -m benchmark experiment=icc_demo` makes, copied by
`python -m benchmark.demo.training.ship_icc`.
"""


FIGURES = """\
On held-out samples of the same draw. Image models: R-precision by family of tags, the share of what a scene shows
among as many best guesses. Language models: perplexity per token of mixed captions; share of masked words guessed.
CLIP: text-to-image recall at 1 among 500 clean pairs, mean cosine by kind of pair. Diffusion: what its autoencoder
loses, and whether `clip` finds a caption's generated picture among those of 100. BLIP: loss per token, and the share
of the kinds and colours it names that the picture shows, or another picture does (by chance). PAC-S: recall as
CLIP's, how often a caption scores higher than the next pair's, mean score by kind of pair; `before` is CLIP as it
was. Parser: the share of words with the right part of speech, the right head, and the right head and label.
Training times are of a busy machine (two other jobs on two cores), one thread each."""


def enter(models: Path, name: str, seconds: float, figures: dict[str, float]) -> None:
    """Write what is known of the model in `models`/`name` to the card."""
    path = models / "cards.json"
    cards = json.loads(path.read_text()) if path.exists() else {}
    cards[name] = {
        "parameters": count_parameters(models / name),
        "bytes": sum(file.stat().st_size for file in (models / name).rglob("*") if file.is_file()),
        "training_seconds": round(seconds),
        "held_out": {figure: round(value, 4) for figure, value in figures.items()},
    }
    write_text(path, json.dumps(cards, indent=2, sort_keys=True) + "\n")
    write_text(models / "README.md", render(cards))


def count_parameters(folder: Path) -> int:
    """Return the number of weights in the safetensors files of the folder and its subfolders, or in a pipeline."""
    if (folder / "config.cfg").exists():
        return count_weights(folder)
    weights = 0
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            weights += sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118, not a dict
    return weights


def render(cards: dict[str, Any]) -> str:
    """Return the README: a table of all models and, for each, its figures on held-out samples."""
    rows = [
        "| folder | stands for | learned from | parameters | size | training | command |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    figures = []
    for name, script in SCRIPTS.items():
        if name not in cards:
            continue
        card = cards[name]
        rows.append(
            f"| `{name}/` | {script.like} | {script.data} | {card['parameters'] / 1e6:.2f} M"
            f" | {card['bytes'] / 1e6:.1f} MB | {card['training_seconds']} s"
            f" | `python -m benchmark.demo.training {name}` |"
        )
        held_out = ", ".join(
            f"{figure.replace('_', ' ')} {value:g}" for figure, value in card["held_out"].items()
        )
        figures.append(f"- `{name}`: {held_out}.")
    return "\n".join([INTRODUCTION, *rows, "", FIGURES, "", *figures, ""])
