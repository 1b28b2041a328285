"""Which image-caption pairs should you train on? The names of `pairsift.api`, which is imported on first use."""

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

# As in `benchmark`: for `python -m pairsift`, folders of the user hide no package of ours.
if sys.argv[:1] == ["-m"] and sys.path[0] == str(Path.cwd()):
    sys.path.append(sys.path.pop(0))
if TYPE_CHECKING:
    from pairsift.api import *  # noqa: F403

__version__ = version("pairsift")


def __getattr__(name: str) -> Any:
    api = import_module("pairsift.api")
    if name not in {"__all__", *api.__all__}:
        raise AttributeError(f"module 'pairsift' has no attribute {name!r}")
    return getattr(api, name)
