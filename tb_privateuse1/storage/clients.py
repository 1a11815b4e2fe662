"""Let clients take turns where several wait: one that asks for much has one turn, too.

The server says who asks (``asking``). The command line and agents do not: they are one client.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Iterator, Set
from contextvars import ContextVar

NOBODY = ""
"""The client of requests that name none."""
_REMEMBERED = 1000
"""Clients whose turns are counted, besides those who wait: far more than do so at a time."""
_TOGETHER = 64
"""Clients that have an own part in one request: of more, any of these gives it a turn."""

ASKING: ContextVar[frozenset[str]] = ContextVar("asking", default=frozenset({NOBODY}))
"""The clients for whom this thread works."""


@contextlib.contextmanager
def asking(clients: Set[str]) -> Iterator[None]:
    """Have this thread work for these clients."""
    token = ASKING.set(frozenset(clients))
    try:
        yield
    finally:
        ASKING.reset(token)


def joined(clients: frozenset[str], more: Set[str]) -> frozenset[str]:
    """Return the clients of a request with those who ask for the same; not any number of them."""
    return clients if clients and len(clients) + len(more) > _TOGETHER else clients | more


class Clients:
    """The turns of clients. Callers hold a lock of their own.

    A new one has its place behind all who wait already, but for the one with the last turn: a
    client that makes up names cannot pass another again and again.
    """

    def __init__(self) -> None:
        self._turns = 0
        self._served: dict[str, tuple[int, int]] = {}
        """By client the number of its last turn, or of the one before it came; and how many it had.
        The latest is last."""

    def serve(self, waiting: Iterable[tuple[str, int]]) -> tuple[str, int]:
        """Return the client who was served longest ago, and how many turns it has had with this.

        ``waiting`` has clients, each with the number of a request, and is not empty. Of clients
        that came at one time the one with the highest number is served.
        """
        numbers: dict[str, int] = {}
        for client, number in waiting:
            numbers[client] = max(number, numbers.get(client, number))
            self._served.setdefault(client, (self._turns, 0))
        client = min(numbers, key=lambda one: (*self._place(one), -numbers[one]))
        self._turns += 1
        _, turns = self._served.pop(client)
        self._served[client] = self._turns, turns + 1
        self._forget(numbers)
        return client, turns + 1

    def _place(self, client: str) -> tuple[int, bool]:
        """Return a place in the order: a new client is ahead of the one with the last turn."""
        number, turns = self._served[client]
        return number, turns > 0

    def _forget(self, waiting: Container[str]) -> None:
        idle = [client for client in self._served if client not in waiting]
        for client in idle[: max(len(idle) - _REMEMBERED, 0)]:
            del self._served[client]
