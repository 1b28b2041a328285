"""Environment variables that libraries read when they are imported; all processes of a command inherit them."""

import os
import time


def set_environment() -> None:
    """Set what the user has not set."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # raise configuration errors instead of printing Hydra's summary
    os.environ.setdefault("PAIRSIFT_SWEEP", time.strftime("%Y%m%d-%H%M%S"))
    # Must be set before torch is imported. OpenMP threads that spin while they wait slow training tenfold on a busy
    # machine; no spinning at all costs a quarter of the speed on an idle one (results/LOG.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    os.environ.setdefault(
        "PYDANTIC_DISABLE_PLUGINS", "__all__"
    )  # else it looks for some in all installed packages
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers warn when a process forks after use
    os.environ.setdefault(
        "RAY_AUTH_MODE", "disabled"
    )  # else Ray's launcher writes a token to the home folder
