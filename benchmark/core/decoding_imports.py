"""Imported once by the fork server of `PixelWorkers`: the libraries that preprocessings come from.

No thread may run here and no GPU be asked for, as neither survives a fork.
"""

from contextlib import suppress
from importlib import import_module

from benchmark.core.launch import hide_wandb, take_cores

hide_wandb()
take_cores(1)
with suppress(ImportError, AttributeError):  # a process that needs what is missing says so
    for name in ("open_clip", "timm.data", "torchvision.transforms.v2"):
        import_module(name)
    transformers = import_module("transformers")
    transformers.ViTImageProcessor, transformers.TimmWrapperImageProcessor  # noqa: B018 (imported when asked for)
