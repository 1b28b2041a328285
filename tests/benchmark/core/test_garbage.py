"""No garbage is collected inside `no_collection`, and as before after it, whatever happens."""

import gc

import pytest

from benchmark.core.garbage import no_collection


def work() -> None:
    with no_collection():
        assert not gc.isenabled()
        with no_collection():
            pass
        assert not gc.isenabled()
        raise ValueError("of the work")


def test_the_collector_is_off_inside_and_as_before_afterwards() -> None:
    with pytest.raises(ValueError, match="of the work"):
        work()
    assert gc.isenabled()
