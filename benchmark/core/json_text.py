"""JSON as every program reads it: infinities and NaN, which JSON does not have, become null."""

import json
import math
from typing import Any


def json_text(value: Any, indent: int | None = None, *, sort_keys: bool = False) -> str:
    """Return a value as JSON."""
    return json.dumps(_finite(value), indent=indent, sort_keys=sort_keys, allow_nan=False)


def finite_or_none(number: float) -> float | None:
    """Return a number as JSON can hold it, None for infinities and NaN."""
    return number if math.isfinite(number) else None


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return finite_or_none(value)
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
