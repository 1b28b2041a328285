"""The protocol of a run: what two runs must share for their metrics to be comparable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from benchmark.core.hashes import hash_json

# Experiments in conf/experiment that are the setting of a paper, with the sizes that it reports.
PUBLISHED = {"icc_paper": (100_000, 200_000, 500_000), "ds_clip": (7_500_000,)}
# Settings that may differ between comparable runs: seeds are averaged over, the others change no metric.
INERT = frozenset(
    {"seed", "workers", "log_every", "checkpoint_every", "validate_every", "eval_batch_size", "cache_images"}
)
# Settings, and groups of the configuration, that the protocol depends on besides pool and size.
GROUPS = frozenset({"budget", "models", "downstream", "training", "evalset", "metrics"})
LIMIT = "limit"  # of evalset, next to its sets: the number of images of each, for a quick try
QUICK_TRY = "quick try"  # the fact of a run with such a limit, which is comparable to nothing
# The fact on evaluation images in the pool. Whether embeddings were cached changes no metric.
CONTAMINATION = "counted by bytes, and by CLIP embeddings where these are cached; not excluded"
SIZE = "size"  # the fact that may differ in a setting, and in a family
BUDGET = ".training.samples_seen"  # the end of the facts that may differ in a family, too
MAX_DIFFERENCES = 4  # named in a line


@dataclass(frozen=True)
class Protocol:
    """What comparable runs share; filter, selector and seed may differ."""

    name: str  # a readable name; different protocols may share it
    # Pool content, size, each downstream model's budget, recipe and starting weights, evaluation sets, versions of
    # metrics, precision, by dotted names.
    facts: dict[str, str]
    published: str = ""  # the paper's experiment with this setting, empty without one
    overridden: tuple[str, ...] = ()  # overrides of the command line that changed the setting

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the facts; runs are comparable if it is equal."""
        return hash_json(self.facts, 12)

    @property
    def title(self) -> str:
        """The name, with the fingerprint in place of overrides."""
        if not self.overridden:
            return self.name
        short = self.name.removesuffix("".join(f", {override}" for override in self.overridden))
        return f"{short} [{self.fingerprint}]"

    @property
    def is_quick_try(self) -> bool:
        """Whether only the first images of each set were evaluated: then the run is comparable to nothing."""
        return QUICK_TRY in self.facts

    @cached_property
    def setting(self) -> str:
        """A hash of the facts without the size."""
        return hash_json({name: fact for name, fact in self.facts.items() if name != SIZE}, 12)

    @cached_property
    def family(self) -> str:
        """A hash of the facts without the size and without the budget of each downstream model."""
        return hash_json(self.of_family.facts, 12)

    @property
    def of_family(self) -> "Protocol":
        """The protocol with only the facts that its family shares."""
        return replace(
            self, facts={n: f for n, f in self.facts.items() if n != SIZE and not n.endswith(BUDGET)}
        )

    def differences(self, other: "Protocol") -> str:
        """Return in one line what differs from `other`."""
        differing = sorted({name for name, _ in self.facts.items() ^ other.facts.items()})
        both = [(name, self.facts.get(name, "none"), other.facts.get(name, "none")) for name in differing]
        lines = [f"{name} {mine} instead of {others}" for name, mine, others in both]
        more = len(lines) - MAX_DIFFERENCES
        return "; ".join(lines[:MAX_DIFFERENCES] + [f"and {more} more"] * (more > 0))


def flat_facts(name: str, node: Any) -> Iterator[tuple[str, str]]:
    """Yield the settings of `node` as facts with dotted names below `name`, but for `INERT` settings."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key not in INERT:
                yield from flat_facts(f"{name}.{key}", value)
    else:
        yield name, str(node)


def protocol_overrides(overrides: Sequence[str]) -> tuple[str, ...]:
    """Return those overrides of the command line that change settings of the protocol, like ``models.bertscore=...``.

    ``downstream=captioner`` only picks models, so it is not returned; nor are settings that change no metric.
    The demo's settings are returned, as they make another world; ``pool.url`` and others only locate a pool.
    """
    # ``~evalset.nocaps`` is ``~evalset.nocaps=null`` for Hydra.
    typed = dict.fromkeys(o.removesuffix("=null") if o.startswith("~") else o for o in overrides)

    def changes(key: str) -> bool:
        is_inert = key == "downstream" or key.rpartition(".")[2] in INERT
        return key.startswith("pool.demo.") or (key.partition(".")[0] in GROUPS and not is_inert)

    return tuple(override for override in typed if changes(key_of(override)))


def published_experiment(experiment: str | None, size: int | str, overrides: Sequence[str]) -> str:
    """Return the paper's `experiment` if the run has its setting: its pool, one of its sizes, nothing overridden."""
    changed = protocol_overrides(overrides) or any(key_of(o).partition(".")[0] == "pool" for o in overrides)
    return experiment if experiment and size in PUBLISHED.get(experiment, ()) and not changed else ""


def size_text(samples: int | str) -> str:
    """Return a number of samples as users type it: ``2m``, ``200k``, ``12345``, or ``all``."""
    if isinstance(samples, str):
        return samples
    unit, sign = next(((u, s) for u, s in ((10**6, "m"), (1000, "k")) if samples % u == 0), (1, ""))
    return f"{samples // unit}{sign}"


def key_of(override: str) -> str:
    """Return the setting or group that an override changes."""
    return override.lstrip("+~").partition("=")[0].partition("@")[0]
