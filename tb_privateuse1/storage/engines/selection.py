"""Choose the engine by its name: ``local``, ``dask`` or ``dask://host:port``."""

from __future__ import annotations

import os

from tb_privateuse1.i18n import say
from tb_privateuse1.storage.engines.engine import Engine
from tb_privateuse1.storage.object_cache import shared_url
from tb_privateuse1.trace.errors import TraceError

VARIABLE = "TB_PRIVATEUSE1_ENGINE"
LOCAL = "local"


def local_readers() -> int:
    """Return how many traces the embedded engine reads at a time, unless somebody asks for more."""
    return min(2, os.cpu_count() or 1)


def local_engine(readers: int | None = None) -> Engine:
    """Return the embedded engine, with ``local_readers`` by default."""
    # Here: an engine takes everything that reads a trace.
    from tb_privateuse1.storage.engines.local import LocalEngine

    return LocalEngine(local_readers() if readers is None else readers)


def select_engine(name: str | None = None, readers: int | None = None) -> Engine:
    """Return the engine of a name, by default that of ``$TB_PRIVATEUSE1_ENGINE``.

    ``readers`` are those of the local engine. ``dask`` is the scheduler of Dask's configuration,
    ``dask+tls://host:port`` one behind another protocol of Dask's, and ``dask+file:///path`` that
    of a scheduler file. With ``$TB_PRIVATEUSE1_CACHE_URL`` it shares what is read below that URL.
    Raises TraceError ``unknown_engine`` or ``cluster_missing``.
    """
    url = shared_url()
    engine = _engine(name, readers, url)
    if url is None:
        return engine
    from tb_privateuse1.storage.engines.sharing import SharingEngine

    return SharingEngine(engine, url)


def _engine(name: str | None, readers: int | None, url: str | None) -> Engine:
    name = (name or os.environ.get(VARIABLE) or LOCAL).strip()
    if name == LOCAL:
        return local_engine(readers)
    scheme, separator, place = name.partition("://")
    dask, _, protocol = scheme.partition("+")
    if dask != "dask" or bool(separator) != bool(place):
        message = say("There is no engine {name}.", name=name)
        hint = say("Engines are local, dask and dask://HOST:PORT.")
        raise TraceError("unknown_engine", message, hint)
    try:
        from tb_privateuse1.storage.engines.dask_engine import DaskEngine
    except ImportError as error:
        message = say("The engine {name} needs Dask: {error}.", name=name, error=error)
        hint = say('Install it: pip install "tb-privateuse1[cluster]"')
        raise TraceError("cluster_missing", message, hint) from error
    return DaskEngine(f"{protocol or 'tcp'}://{place}" if place else None, url)
