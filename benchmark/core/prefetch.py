"""Work on the next items while the result of the first is awaited."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice, repeat
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def prefetch_map(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` in order, computing at most the next `threads` items ahead in threads."""
    with ThreadPoolExecutor(threads) as pool:
        pending = deque[Future[Result]]()
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def made_ahead(items: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield the items of a generator, the next of which is made in a thread while the caller works on one."""
    with closing(items), closing(prefetch_map(lambda _: list(islice(items, 1)), repeat(None), 1)) as made:
        for item in made:
            if not item:
                return
            yield from item
