"""Connect to a Dask scheduler when needed, and again when the connection is lost.

Only bytes and plain values are taken from the cluster as results (``deserializers``). Nobody
watches over the connection but those who wait for a trace.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client

from tb_privateuse1.i18n import say
from tb_privateuse1.storage.engines.cluster_task import TOPIC
from tb_privateuse1.trace.errors import TraceError

CONNECT_S = 5.0
_PAUSE_S = 2.0
"""Between two attempts to connect, and two looks at the workers."""
_FILE = "file://"
_log = logging.getLogger(__name__)

Heard = Callable[[dict[str, Any]], None]
"""Gets the progress that a worker tells."""


class Connection:
    """A client of the scheduler at an address; None: the one that Dask's configuration names."""

    def __init__(self, address: str | None, heard: Heard) -> None:
        self._address = address
        self._heard = heard
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._workers: frozenset[str] | None = None
        self._next_s = 0.0
        self._looked_s = 0.0
        self._closed = False

    @property
    def address(self) -> str:
        """Return the scheduler's address for messages. Raises TraceError if none is known."""
        address = self._address or dask.config.get("scheduler-address", None)
        if address is None:
            message = say("Dask's configuration names no scheduler.")
            hint = say("Set DASK_SCHEDULER_ADDRESS, or use --engine dask://HOST:PORT.")
            raise TraceError("cluster_unreachable", message, hint)
        return str(address)

    def client(self) -> Client | None:
        """Return a connected client; None while the scheduler does not answer.

        Raises TraceError if there is no address.
        """
        address = self.address
        with self._lock:
            if self._client is not None and self._client.status == "running":
                return self._client
            if self._closed or time.monotonic() < self._next_s:
                return None
            self._drop()
            try:
                self._client = _connected(address)
                self._client.subscribe_topic(TOPIC, self._event)
                self._looked_s = 0.0
            except Exception as error:  # whatever Dask raises: it is tried again
                _log.warning("the Dask scheduler at %s does not answer: %s", address, error)
                self._next_s = time.monotonic() + _PAUSE_S
            return self._client

    def workers(self) -> frozenset[str] | None:
        """Return the addresses of the workers, of some seconds ago; None if they are not known."""
        client = self.client()
        with self._lock:
            if client is not None and time.monotonic() - self._looked_s > _PAUSE_S:
                self._workers = None
                with contextlib.suppress(Exception):
                    self._workers = frozenset(client.nthreads(callback_timeout=CONNECT_S))
                self._looked_s = time.monotonic()
            return self._workers if client is not None else None

    def close(self) -> None:
        """Leave the cluster."""
        with self._lock:
            self._closed = True
            self._drop()

    def _drop(self) -> None:
        client, self._client = self._client, None
        self._workers = None
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=CONNECT_S)

    def _event(self, event: tuple[float, Any]) -> None:
        _, message = event
        if isinstance(message, dict):
            self._heard(message)


def _connected(address: str) -> Client:
    where: dict[str, Any] = {"address": address}
    if address.startswith(_FILE):
        path = Path(address.removeprefix(_FILE))
        if not path.is_file():  # Dask would wait for it
            raise FileNotFoundError(path)
        where = {"scheduler_file": str(path)}
    return Client(
        **where,
        timeout=CONNECT_S,
        set_as_default=False,
        name="tb_privateuse1",
        serializers=["dask", "msgpack", "pickle"],
        deserializers=["dask", "msgpack"],
    )
