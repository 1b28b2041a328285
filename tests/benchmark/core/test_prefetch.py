import threading

import pytest

from benchmark.core.prefetch import prefetch_map


def test_prefetch_map_keeps_the_order_and_waits() -> None:
    here = threading.get_ident()
    made = list(prefetch_map(lambda item: (item, threading.get_ident()), iter(range(50)), 2))
    assert [item for item, _ in made] == list(range(50))
    assert here not in {thread for _, thread in made}

    taken = []
    items = (taken.append(i) or i for i in range(50))
    steps = prefetch_map(str, items, 2)
    next(steps)
    assert len(taken) <= 3  # the first, and two prefetch_map


def test_a_failure_while_prefetching_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(prefetch_map(lambda item: 1 // item, iter([1, 0, 1]), 1))
