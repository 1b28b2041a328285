"""The fixtures and hooks of the tests."""

from tests.conftest import *  # noqa: F403
from tests.conftest import _compose_fast as _compose_fast
