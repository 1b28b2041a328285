"""What this process uses: seconds on the clock and of processors, resident memory."""

import platform
import resource
import time
from dataclasses import dataclass

_helper_seconds = 0.0
_helpers_peak_rss_bytes = 0


@dataclass(frozen=True)
class Seconds:
    """Seconds of work on the clock, and processor seconds of the process, its ended children and its helpers."""

    clock: float = 0.0
    processor: float = 0.0

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(self.clock + other.clock, self.processor + other.processor)

    def times(self, factor: float) -> "Seconds":
        """Return the seconds of so many times the work."""
        return Seconds(self.clock * factor, self.processor * factor)


def now() -> Seconds:
    """Return the time, for `since`; it means nothing alone."""
    return Seconds(time.monotonic(), processor_seconds())


def since(start: Seconds) -> Seconds:
    """Return the seconds from `start`, which `now` returned, until now."""
    return now() + start.times(-1)


def processor_seconds() -> float:
    """Return the processor seconds of this process, its ended children, and the helpers that it was told of.

    Helpers are processes that preprocess images, and the workers of engines from the end of their run on.
    """
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return _helper_seconds + sum(usage.ru_utime + usage.ru_stime for usage in usages)


def record_helpers(seconds: float, peak_rss_bytes: int) -> None:
    """Count processor seconds since the last call, and summed peak resident bytes, of processes that help here."""
    global _helper_seconds, _helpers_peak_rss_bytes
    _helper_seconds += seconds
    _helpers_peak_rss_bytes = max(_helpers_peak_rss_bytes, peak_rss_bytes)


def helpers_peak_rss_bytes() -> int:
    """Return the largest of the peaks that `record_helpers` was given."""
    return _helpers_peak_rss_bytes


def peak_rss_bytes() -> int:
    """Return the largest resident set of this process or any ended child."""
    usages = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return max(usages) * (1 if platform.system() == "Darwin" else 1024)
