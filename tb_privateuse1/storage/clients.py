"""Let clients take turns where several wait: one that asks for much has one turn, too.

The server says who asks (``asking``). The command line and agents do not: they are one client.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Set
from contextvars import ContextVar

NOBODY = ""
"""The client of requests that name none."""
_REMEMBERED = 1000
"""Clients whose turns are counted: far more than wait at a time."""

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


class Clients:
    """The turns of clients. Callers hold a lock of their own."""

    def __init__(self) -> None:
        self._turns = 0
        self._served: dict[str, tuple[int, int]] = {}
        """By client the number of its last turn, and how many it had; the latest is last."""

    def serve(self, waiting: Iterable[tuple[str, int]]) -> tuple[str, int]:
        """Return the client who was served longest ago, and how many turns it has had with this.

        ``waiting`` has clients, each with the number of a request, and is not empty. Of new clients
        the one with the highest number is served.
        """
        unserved = 0, 0
        client, _ = min(waiting, key=lambda one: (self._served.get(one[0], unserved)[0], -one[1]))
        self._turns += 1
        _, turns = self._served.pop(client, unserved)
        self._served[client] = self._turns, turns + 1
        if len(self._served) > _REMEMBERED:
            del self._served[next(iter(self._served))]
        return client, turns + 1
