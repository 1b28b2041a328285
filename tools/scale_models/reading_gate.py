"""``python -m tools.scale_models.reading_gate [--control FOLDER]``: does the demo's CLIP read the text in images?

Three similarities are compared on held-out parrots: of the image to its text, to its text when it shows another, and
to its text when its text or as much elsewhere is painted over. A CLIP that is trained on data without text in the
images does not read (Lin et al. 2023, section 6): `--control` trains one with the same recipe and measures it too.
"""

import argparse
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from pairsift.demo.text_rendering import render_text
from tools.demo_world.draws import generator, sample_draft
from tools.demo_world.mix import PARROT, Mix
from tools.scale_models import clip
from tools.scale_models.data import HELD_OUT
from tools.scale_models.export import MODELS

GATE = 0.5  # smallest effect of another text, in standard deviations of the similarity of image and own text
SAMPLES, GREY = 1000, 128
PARROTS_ONLY = Mix({PARROT: 1.0}, {"none": 1.0}, 0.5, clip.NAME_SHIFT)
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Reading:
    """How much a CLIP reads, as mean differences of similarity; `text_effect` is in standard deviations.

    Args:
        other_text: own text minus another text in the same image.
        deviation: standard deviation of the similarity of image and own text.
        painted_text: nothing painted over minus the text painted over.
        painted_elsewhere: nothing painted over minus as many rows elsewhere.
        error: standard error of `painted_text` minus `painted_elsewhere`.
    """

    other_text: float
    deviation: float
    painted_text: float
    painted_elsewhere: float
    error: float

    @property
    def text_effect(self) -> float:
        """The effect of another text in standard deviations."""
        return self.other_text / self.deviation

    @property
    def reads(self) -> bool:
        """Whether both halves of the gate are passed."""
        return self.text_effect >= GATE and self.painted_text - self.painted_elsewhere > 2 * self.error

    def __str__(self) -> str:
        verdict = "reads" if self.reads else "does not read"
        return (
            f"another text lowers the similarity by {self.other_text:.3f}, {self.text_effect:.2f} deviations; "
            f"painting over the text by {self.painted_text:.3f}, over as much elsewhere by "
            f"{self.painted_elsewhere:.3f} (difference ±{2 * self.error:.3f}): it {verdict}"
        )


def measure(folder: Path, samples: int = SAMPLES) -> Reading:
    """Return how much the CLIP in `folder` reads, on held-out parrots of the `clip` draw."""
    model, collate = clip.load(folder)
    texts = [sample_draft("clip", HELD_OUT + index, 0, PARROTS_ONLY).caption for index in range(samples)]
    own, other, covered, elsewhere = [], [], [], []
    for index, text in enumerate(texts):
        image = _image(index, text)
        rows = _text_rows(image)
        own.append(image)
        other.append(_image(index, texts[(index + 1) % samples]))
        covered.append(_painted(image, rows))
        elsewhere.append(_painted(image, _as_many_others(rows)))
    likeness = [_cosines(model, collate, images, texts) for images in (own, other, covered, elsewhere)]
    half = np.array([_text_rows(image).mean() <= 0.5 for image in own])  # the others have no room elsewhere
    painted = (likeness[0] - likeness[2])[half], (likeness[0] - likeness[3])[half]
    error = float(np.std(painted[0] - painted[1]) / half.sum() ** 0.5)
    means = float((likeness[0] - likeness[1]).mean()), float(likeness[0].std())
    return Reading(*means, float(painted[0].mean()), float(painted[1].mean()), error)


def _image(index: int, text: str) -> Pixels:
    return render_text(text.split(), generator("clip", HELD_OUT + index, 1))


def _text_rows(image: Pixels) -> npt.NDArray[np.bool_]:
    """Return which rows have letters, shape (height,); a frame at the edge does not count."""
    inside = image[8:-8, 8:-8].astype(int)
    differs = np.abs(inside - inside[0, 0]).sum(axis=2).max(axis=1) > 30
    return np.pad(differs, 8)


def _as_many_others(rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    others = np.flatnonzero(~rows)
    chosen = np.zeros_like(rows)
    chosen[others[: rows.sum()]] = True
    return chosen


def _painted(image: Pixels, rows: npt.NDArray[np.bool_]) -> Pixels:
    painted = image.copy()
    painted[rows] = GREY
    return painted


@torch.no_grad()
def _cosines(
    model: Any, collate: clip.PairCollator, images: list[Pixels], texts: list[str]
) -> npt.NDArray[np.float64]:
    pixels = torch.stack([collate.preprocess(Image.fromarray(image)) for image in images])
    pairs = zip(pixels.split(200), collate.tokenizer(texts).split(200), strict=True)
    parts = [
        (model.encode_image(image, normalize=True) * model.encode_text(text, normalize=True)).sum(dim=1)
        for image, text in pairs
    ]
    return np.asarray(torch.cat(parts).double().numpy())


def main() -> None:
    """Print how much the demo's CLIP reads; exit code 1 if it does not, or if the control does."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.scale_models.reading_gate", description=main.__doc__
    )
    parser.add_argument("--clip", type=Path, default=MODELS / "clip")
    parser.add_argument(
        "--control", type=Path, help="train a CLIP without text in its images into this folder"
    )
    arguments = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%X")
    logging.getLogger("tools").setLevel(logging.INFO)
    passed = (reading := measure(arguments.clip)).reads
    sys.stdout.write(f"{arguments.clip}: {reading}\n")
    if arguments.control:
        torch.set_num_threads(1)
        arguments.control.mkdir(parents=True, exist_ok=True)
        clip.train(arguments.control, clip.ClipTraining(), torch.device("cpu"), parrots=0.0)
        control = measure(arguments.control)
        sys.stdout.write(f"{arguments.control}: {control}\n")
        passed = passed and not control.reads
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
