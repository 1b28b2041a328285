"""Environment variables that libraries read when they are imported; all processes of a command inherit them."""

import os
import time

from benchmark.core.paths import cache_folder


def set_environment() -> None:
    """Set what the user has not set. Raises `UserError` if the cache is no folder of this machine."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # raise configuration errors instead of printing Hydra's summary
    os.environ.setdefault("PAIRSIFT_SWEEP", time.strftime("%Y%m%d-%H%M%S"))
    # Must be set before torch is imported. OpenMP threads that spin while they wait slow training tenfold on a busy
    # machine; no spinning at all costs a quarter of the speed on an idle one (results/LOG.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    os.environ.setdefault(
        "PYDANTIC_DISABLE_PLUGINS", "__all__"
    )  # else it looks for some in all installed packages
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers warn when a process forks after use
    # Else convolutions in fp32 have 10 bits of precision on a GPU (TF32), in cuDNN alone.
    os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")
    # Else Ray's launcher writes a token to the home folder, and sends statistics of its use to its makers.
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Else their caches are in the folder for temporary files, where nobody removes them, and in the home folder.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder("torchinductor")))
    os.environ.setdefault("MPLCONFIGDIR", str(cache_folder("matplotlib")))
