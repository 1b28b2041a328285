"""The fixtures and hooks of the tests."""

from tests.conftest import *  # noqa: F403
from tests.conftest import compositions_remembered as compositions_remembered
