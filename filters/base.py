"""The interface of filters: a filter only scores; the harness owns loops, devices, caching, timing and thresholds."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file
from benchmark.core.identity import Identified
from benchmark.core.images import DECODER
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, State
from benchmark.core.source_code import code_hash
from benchmark.core.uids import UidArray

# float32, or float64 where float32 would make different scores equal: ranks of many pairs, numbers that users give.
Scores = npt.NDArray[np.float32 | np.float64]


def standardize(scores: Scores) -> npt.NDArray[np.float64]:
    """Return n scores, (n,), less their mean and divided by their standard deviation; all 0 if they are equal.

    NaN stays and does not count.
    """
    values = np.asarray(scores, np.float64)
    known = values[~np.isnan(values)]
    mean, deviation = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    return (values - mean) / (deviation if np.ptp(known) else 1.0) if len(known) else values


class Reader(Identified, ABC):
    """Base of filters and features: reads the pool's samples in batches.

    `needs` names the fields of a sample that it reads: ``"text"``, ``"image"``, or metadata columns. Batches also
    hold the outputs of `features`, but not the inputs of those, unless `needs` names them.
    """

    needs: frozenset[str]
    features: "tuple[Features, ...]" = ()
    # Files that it reads, such as a list of words: their content is part of the key.
    uses: Sequence[str | Path] = ()
    batch_size: ClassVar[int] = 256

    @property
    def sources(self) -> frozenset[str]:
        """The fields of the pool that this reader and its features read. Raises `UserError` for wrong `needs`."""
        needs = getattr(self, "needs", None)
        if not isinstance(needs, frozenset | set) or not all(isinstance(name, str) for name in needs):
            raise UserError(
                f"{type(self).__name__}.needs must be the set of what it reads: text, image, or names of metadata"
                ' columns, such as needs = frozenset({"text"})'
            )
        return frozenset(needs).union(*(part.sources for part in self.features))

    def key(self) -> str:
        """Return the cache key: a readable name and a hash of the identity, the code, and the keys of `features`.

        An edited filter is scored again, see `code_hash`; a filter of images also if they are decoded otherwise.
        """
        code = sorted(code_hash(of) for of in self.classes())
        decoder = [DECODER] if "image" in self.sources else []
        files = [[hash_file(user_path(str(file))) for file in self.uses]] if self.uses else []
        return self._key([self.identity(), code, [part.key() for part in self.features], *decoder, *files])

    def all_features(self) -> dict[str, "Features"]:
        """Return the features under this reader, at any depth, by their keys: each after the features under it."""
        by_key: dict[str, Features] = {}
        for part in self.features:
            by_key |= {key: under for key, under in part.all_features().items() if key not in by_key}
            by_key.setdefault(part.key(), part)
        return by_key

    def setup(self, device: Device) -> None:
        """Load models, once per worker; the models of `features` are loaded by themselves."""

    def requirements(self) -> Iterator[Requirement]:
        """Yield the files that it `uses`, and the requirements of its parts."""
        for file in self.uses:
            if not user_path(str(file)).is_file():
                yield Requirement(
                    str(file), State.MISSING, f"{type(self).__name__}.uses: {file} must be a file"
                )
        yield from super().requirements()


class Features(Reader):
    """A model's outputs for every sample, cached and shared by all filters that use them."""

    @abstractmethod
    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32] | Sequence[Any]]:
        """Return outputs by name: arrays of shape (n, d), cached in half precision, or n nested lists."""


class Filter(Reader):
    """Scores image-caption pairs; higher is better."""

    light: ClassVar[bool] = False  # scoring takes less time than starting a worker process
    reads_hidden: ClassVar[bool] = False  # may read the pool's hidden columns
    _config_name: str = ""

    @property
    def display_name(self) -> str:
        """The name of its config as the user typed it; the class's name in lower case without a config."""
        return self._config_name or type(self).__name__.lower()

    def take_names(self, choices: Mapping[str, str], group: str = "filter") -> None:
        """Take the name of its config from `choices`, the names of configs by their groups."""
        self._config_name = choices.get(group, "")

    def key(self) -> str:
        """Return the cache key: the name that is displayed, and a hash that does not depend on it."""
        return f"{self.display_name.replace('/', '.')}-{super().key().rpartition('-')[2]}"

    def fit(self, batches: Iterable[Batch]) -> None:
        """Compute corpus statistics, once, before any worker starts.

        Args:
            batches: the batches that `score` will get, of the whole pool, or in a cascade of the pairs that the
                filters before this one keep; can be iterated several times.
        """

    @property
    def corpus_dependent(self) -> bool:
        """Whether a sample's score depends on the rest of the pool."""
        return type(self).fit is not Filter.fit

    def leaves(self) -> list["Filter"]:
        """Return the filter itself, or the filters of a composite, at any depth."""
        return [self]

    @abstractmethod
    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,); NaN or an infinity for a sample that cannot be scored."""


class Composite(Filter):
    """Combines the scores of other filters; each of these is scored and cached once.

    Args:
        filters: the filters by the names in the configuration, in order.
    """

    def __init__(self, filters: Mapping[str, Filter]) -> None:
        self.filters = dict(filters)
        self.needs = frozenset().union(*(part.sources for part in self.filters.values()))

    def identity(self) -> dict[str, Any]:
        """Return the class, its own settings, and the identities of its parts."""
        return super().identity() | {"filters": [part.identity() for part in self.filters.values()]}

    def take_names(self, choices: Mapping[str, str], group: str = "filter") -> None:
        """Take the names of its config and of those of its parts."""
        super().take_names(choices, group)
        place = group.rpartition("@")[2]
        for name, part in self.filters.items():
            part.take_names(choices, f"filter@{place}.filters.{name}")

    def leaves(self) -> list["Filter"]:
        """Return the filters that are combined."""
        return [leaf for part in self.filters.values() for leaf in part.leaves()]

    def all_features(self) -> dict[str, "Features"]:
        """Return the features under the filters that are combined."""
        return {key: of for leaf in self.leaves() for key, of in leaf.all_features().items()}

    @property
    def corpus_dependent(self) -> bool:
        """Whether a part depends on the rest of the pool."""
        return any(part.corpus_dependent for part in self.filters.values())

    @abstractmethod
    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Combine each filter's scores of a pool's n pairs, (n,), into one such array; NaN for a pair never kept."""

    def setup(self, device: Device) -> None:
        """Set up every part."""
        for part in self.filters.values():
            part.setup(device)

    def score(self, batch: Batch) -> Scores:
        """Score one batch as if it were the whole pool."""
        return self.combine([part.score(batch) for part in self.filters.values()], batch.uids)
