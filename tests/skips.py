"""Which skips are failures where everything should be installed."""

import os
import re
from typing import Any

# What a test says that lacks a library or a package; those that lack data, weights or a GPU say something else.
NOT_INSTALLED = re.compile(
    r"could not import|No module named|pip install|apt(-get)? install|make .* setup", re.IGNORECASE
)


def fail_if_not_installed(report: Any) -> Any:
    """Turn a skip for want of an extra into a failure; `.ci/run` sets PAIRSIFT_EVERY_EXTRA and installs them all."""
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
    if "PAIRSIFT_EVERY_EXTRA" in os.environ and report.skipped and NOT_INSTALLED.search(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped where every extra should be installed: {reason}"
    return report
