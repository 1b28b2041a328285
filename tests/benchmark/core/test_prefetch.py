import threading
from collections.abc import Generator, Iterator

import pytest

from benchmark.core.prefetch import made_ahead, prefetch_map


def test_prefetch_map_keeps_the_order_and_waits() -> None:
    taken = []
    items = (taken.append(i) or i for i in range(50))
    steps = prefetch_map(lambda item: (item, threading.get_ident()), items, 2)
    first = next(steps)
    assert len(taken) <= 3  # the first, and two more
    made = [first, *steps]
    assert [item for item, _ in made] == list(range(50))
    assert threading.get_ident() not in {thread for _, thread in made}
    with pytest.raises(ZeroDivisionError):
        list(prefetch_map(lambda item: 1 // item, iter([1, 0, 1]), 1))


def numbers(made: dict[int, threading.Event], failing: int | None = None) -> Generator[int, None, None]:
    """Yield 0 to 4 and set the event of each; at `failing` raise."""
    try:
        for number in range(5):
            if number == failing:
                raise ZeroDivisionError
            made[number].set()
            yield number
    finally:
        made[-1].set()


@pytest.fixture
def made() -> dict[int, threading.Event]:
    return {number: threading.Event() for number in range(-1, 5)}


def test_the_next_item_is_made_while_the_caller_works_on_one(made: dict[int, threading.Event]) -> None:
    items = made_ahead(numbers(made))
    assert next(items) == 0
    assert made[1].wait(10)
    assert not made[3].is_set()
    assert list(items) == [1, 2, 3, 4]


def test_a_generator_that_is_made_ahead_is_closed_with_its_caller(made: dict[int, threading.Event]) -> None:
    items: Iterator[int] = made_ahead(numbers(made))
    next(items)
    del items
    assert made[-1].is_set()
    assert not made[3].is_set()


def test_a_failure_of_an_item_made_ahead_is_raised_in_its_turn(made: dict[int, threading.Event]) -> None:
    items = made_ahead(numbers(made, failing=2))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(items)
