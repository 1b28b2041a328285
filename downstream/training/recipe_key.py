"""The settings of a training as cache keys and run ids hold them, so that those of earlier trainings stay valid."""

from collections.abc import Mapping
from typing import Any

# Settings that were added after keys were in use, and the defaults at which keys leave them out.
ADDED = {"micro_batch": None, "precision": "auto", "checkpointing": False}
UNUSED = frozenset({"validate_every"})  # changes nothing of what is trained


def recipe_key(training: Mapping[str, Any], workers: int) -> dict[str, Any]:
    """Return the settings of a training that belong into a key.

    Args:
        training: settings by the names of `TrainConfig`.
        workers: stands for the number of loader processes, which changes nothing: keys once held its default.
    """
    kept = {
        name: value
        for name, value in training.items()
        if name not in UNUSED and not (name in ADDED and value == ADDED[name])
    }
    return kept | ({"workers": workers} if "workers" in kept else {})
