"""Tests that need an optional dependency skip without it; `tests.ci_rules` turns that into a failure in CI."""

import sys

import pytest

from benchmark.core.errors import UserError
from benchmark.core.extras import EXTRAS, install_command, require


def has_extra(name: str) -> bool:
    """Whether the extra `name` is installed."""
    try:
        require(name)
    except UserError:
        return False
    return True


def needs_extra(name: str) -> pytest.MarkDecorator:
    """Skip without the extra `name`, with the command that installs it."""
    return pytest.mark.skipif(
        not has_extra(name), reason=f"the extra {name} is absent; run `{install_command(name)}`"
    )


def hide_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the modules of the extra `name` look as if they were not installed."""
    for module in EXTRAS[name].modules:
        monkeypatch.setitem(sys.modules, module, None)
