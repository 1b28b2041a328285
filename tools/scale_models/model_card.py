"""The model card: `cards.json` with the figures of each scale model, and the README generated from it."""

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open

from benchmark.core.paths import write_text
from tools.scale_models.parser import count_weights
from tools.scale_models.registry import SCRIPTS

INTRODUCTION = """\
# Scale models of the demo

Small stand-ins for the papers' checkpoints, trained from scratch on samples of the demo world that neither the pool
nor the evaluation sets contain: `models`, `llm`, `clip` and `pacscore` are disjoint random draws of it. They load
through the same classes as the real checkpoints and are of no use outside the demo. Weights are stored in half
precision and loaded in single precision; spaCy stores the parser's in single precision. `cards.json` holds the
figures below, and the command in each row trains that model again; `python -m tools.scale_models all` trains
only those that are missing or whose inputs changed, so repeating it after an interruption resumes. `icc/` holds the
files that the filters `sba`, `vba` and `icc` need from the build of `python -m benchmark experiment=icc_demo`, copied
by `python -m tools.scale_models.ship_icc`.
"""


FIGURES = """\
On held-out samples of the same draw. Image models: R-precision for each family of tags, the share of a scene's n tags
among the n highest scores. Language models: perplexity per token on captions of all kinds, or accuracy on masked
words. CLIP: text-to-image R@1 among 500 clean pairs, mean cosine for each kind of pair. Diffusion: reconstruction
error of the autoencoder, and R@1 of `clip` from 100 captions to the images generated from them. BLIP: loss per token,
and the share of the kinds and colours in its captions that the image shows (`right`) or that another image shows
(`by chance`). PAC-S: R@1 as for CLIP, how often a caption scores higher than that of the next pair, mean score for
each kind of pair; `before` is the CLIP it was fine-tuned from. Parser: the share of words with the right part of
speech, the right head, and the right head and label. Training times were measured on a busy machine (two other jobs
on two cores), with one thread each."""


def read_cards(models: Path) -> dict[str, Any]:
    """Return the card of each model that is described in `models`/`cards.json`."""
    path = models / "cards.json"
    cards: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return cards


def update_card(
    models: Path, name: str, seconds: float, figures: dict[str, float], hashes: dict[str, str]
) -> None:
    """Write the figures of the model in `models`/`name` to `cards.json`, and generate the README again.

    `hashes` show whether the model is up to date; they are stored with the figures.
    """
    cards = read_cards(models)
    cards[name] = {
        "parameters": count_parameters(models / name),
        "bytes": sum(file.stat().st_size for file in (models / name).rglob("*") if file.is_file()),
        "training_seconds": round(seconds),
        "held_out": {figure: round(value, 4) for figure, value in figures.items()},
        **hashes,
    }
    write_text(models / "cards.json", json.dumps(cards, indent=2, sort_keys=True) + "\n")
    write_text(models / "README.md", render(cards))


def count_parameters(folder: Path) -> int:
    """Return the number of weights in all safetensors files below `folder`, or in the spaCy pipeline there."""
    if (folder / "config.cfg").exists():
        return count_weights(folder)
    weights = 0
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            weights += sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118, not a dict
    return weights


def render(cards: dict[str, Any]) -> str:
    """Return the README: a table of all models, and the figures of each on held-out samples."""
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
            f"| `{name}/` | {script.original} | {script.data} | {card['parameters'] / 1e6:.2f} M"
            f" | {card['bytes'] / 1e6:.1f} MB | {card['training_seconds']} s"
            f" | `python -m tools.scale_models {name}` |"
        )
        held_out = ", ".join(
            f"{figure.replace('_', ' ')} {value:g}" for figure, value in card["held_out"].items()
        )
        figures.append(f"- `{name}`: {held_out}.")
    return "\n".join([INTRODUCTION, *rows, "", FIGURES, "", *figures, ""])
