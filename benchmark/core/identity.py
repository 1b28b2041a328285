"""What an output depends on, as a cache key."""

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from benchmark.core.hashes import hash_json
from benchmark.core.requirements import Requirement


class Identified:
    """Something whose output is cached under a key made of its class, its configuration and its weights."""

    def identity(self) -> dict[str, Any]:
        """Return what the output depends on: the class and its public attributes.

        A class that loads weights adds their revision. State made by ``setup`` or ``fit`` is private (``_model``), so
        it is left out. Of a dataclass the fields count that it is compared by.
        """
        return {"class": f"{type(self).__module__}.{type(self).__qualname__}"} | {
            name: _identity(value)
            for name, value in vars(self).items()
            if not name.startswith("_") and name not in ("needs", "uses")
        }

    def __repr__(self) -> str:
        settings = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        listed = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in settings.items())
        return f"{type(self).__name__}({listed})"

    def requirements(self) -> Iterator[Requirement]:
        """Yield what must be on this machine: files, weights. By default it is what the parts need.

        A class that loads something adds it. Nothing is loaded here, and little is read.
        """
        for part in _parts(self):
            yield from part.requirements()

    def key(self) -> str:
        """Return the cache key: a readable name and a hash of the identity."""
        return self._key(self.identity())

    def classes(self) -> set[type]:
        """Return the class, and the classes of its parts."""
        return {type(self)}.union(*(part.classes() for part in _parts(self)))

    def _key(self, inputs: Any) -> str:
        """Return the class's name in lower case and a hash of `inputs`."""
        return f"{type(self).__name__.lower()}-{hash_json(inputs, 12)}"


def _parts(of: Identified) -> Iterator[Identified]:
    """Yield the public attributes that are `Identified` themselves, also in lists and dictionaries."""
    values = [value for name, value in vars(of).items() if not name.startswith("_")]
    while values:
        value = values.pop(0)
        if isinstance(value, Identified):
            yield value
        elif isinstance(value, tuple | list | Mapping):
            values[:0] = value.values() if isinstance(value, Mapping) else value


def _identity(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_identity(part) for part in value]
    if isinstance(value, Identified):
        return value.identity()
    if is_dataclass(value):
        return {f.name: _identity(getattr(value, f.name)) for f in fields(value) if f.compare}
    return value
