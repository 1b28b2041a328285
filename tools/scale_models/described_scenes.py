"""Several descriptions of each of many scenes, to teach a language model which words name the same thing.

The originals learned it from the web's texts. The demo's single captions have only one name for a thing.
"""

from functools import cache

from torch.utils.data import DataLoader, Dataset

from tools.demo_world.draws import generator
from tools.demo_world.language.trees import text_of
from tools.demo_world.noise import WRITERS, pool_scene
from tools.scale_models.data import caption_world

DESCRIPTIONS = 4  # per scene


class DescribedScenes(Dataset[list[str]]):
    """Descriptions of the scenes of the `models` draw, `DESCRIPTIONS` per scene.

    Args:
        samples: number of scenes.
        seed: random seed of the scenes.
        start: index of the first scene in the draw.
    """

    def __init__(self, samples: int, seed: int, start: int = 0) -> None:
        self.samples, self.seed, self.start = samples, seed, start

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> list[str]:
        rng = generator("models", self.start + index, self.seed)
        scene = pool_scene(rng)
        return [text_of(WRITERS["concrete"](scene, rng)) for _ in range(DESCRIPTIONS)]


def described_scenes(samples: int, seed: int, start: int = 0, workers: int = 0) -> list[list[str]]:
    """Return the descriptions of `samples` scenes; `workers` is the number of processes that generate them."""
    loader = DataLoader(DescribedScenes(samples, seed, start), 256, num_workers=workers, collate_fn=list)
    return [descriptions for batch in loader for descriptions in batch]


@cache
def described_world() -> str:
    """Return a string that identifies captions of all kinds and described scenes."""
    return repr([caption_world(), described_scenes(500, 0)])
