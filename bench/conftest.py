"""The fixtures and hooks of the tests."""

from tests.conftest import *  # noqa: F403
from tests.conftest import _parse_a_config_once as _parse_a_config_once
