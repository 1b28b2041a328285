"""What is known of a run before it trains; trackers group and filter runs by it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.results.protocol import QUICK_TRY, Protocol


@dataclass(frozen=True)
class RunFacts:
    """A run as it begins. Names are those of the configs that were chosen.

    Args:
        run_id: a readable name and a hash of what the metrics depend on.
        task: name of the task.
        filter_name: the filter.
        filter_family: the filter's family, empty if its config names none.
        selector_name: the selector.
        pool_name: the pool.
        size_name: pairs to keep as written for the paper's pool, ``200k``.
        k: pairs kept.
        seed: random seed of the run.
        config: the resolved configuration.
        protocol: what the run can be compared by; None for tasks that evaluate nothing.
    """

    run_id: str
    task: str
    filter_name: str
    filter_family: str
    selector_name: str
    pool_name: str
    size_name: str
    k: int
    seed: int
    config: Mapping[str, Any]
    protocol: Protocol | None = None

    def columns(self) -> dict[str, str | int]:
        """Return the facts as flat columns; none of them has the name of a group of the configuration."""
        columns: dict[str, str | int] = {
            "filter_name": self.filter_name,
            "filter_family": self.filter_family,
            "selector_name": self.selector_name,
            "pool_name": self.pool_name,
            "size_name": self.size_name,
            "k": self.k,
            "seed": self.seed,
        }
        if self.protocol is not None:
            columns |= {
                "protocol_name": self.protocol.name,
                "protocol_fingerprint": self.protocol.fingerprint,
            }
        return columns

    def tags(self) -> list[str]:
        """Return pool, filter, size, the published protocol if the run has one, and whether it is a quick try."""
        tags = [self.pool_name, self.filter_name, self.size_name]
        if self.protocol:
            tags += [self.protocol.published or "", QUICK_TRY if self.protocol.is_quick_try else ""]
        return [tag for tag in tags if tag]
