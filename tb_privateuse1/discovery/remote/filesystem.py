"""Call a filesystem of fsspec from a few threads per host, each call with a time limit.

Drivers may wait forever. So a call runs in a thread of its host's own pool and is abandoned after
its limit: a host that hangs blocks only its own few threads. Listings never come from fsspec's
cache, because a run may be writing: instances are our own, not the shared ones.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from tb_privateuse1.discovery.daemon_pool import DaemonPool
from tb_privateuse1.discovery.remote.errors import RemoteError, remote_error, unreachable
from tb_privateuse1.discovery.remote.url import host, is_web, shown, web_host
from tb_privateuse1.i18n import say

TIMEOUT_VARIABLE = "TB_PRIVATEUSE1_TIMEOUT_S"
_TIMEOUT_S = 30.0
_BULK = 10
"""A complete listing takes one request per thousand files: it gets this many times the limit."""
THREADS = 8

_T = TypeVar("_T")


def timeout_s() -> float:
    """Return the limit for one answer: ``TB_PRIVATEUSE1_TIMEOUT_S`` or half a minute."""
    try:
        return max(float(os.environ[TIMEOUT_VARIABLE]), 0.1)
    except (KeyError, ValueError):
        return _TIMEOUT_S


class Server:
    """All files below one host (of ``s3://bucket/x``: the bucket)."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool = DaemonPool(THREADS, "remote")
        self._submitting = threading.Lock()
        self._connecting = threading.Lock()
        self._fs: Any = None

    def call(self, url: str, do: Callable[[Any], _T], *, bulk: bool = False) -> _T:
        """Return the result of ``do(filesystem)``. Raises RemoteError about ``url``."""
        return self.wait(url, self.submit(do), bulk=bulk)

    def submit(self, do: Callable[[Any], _T]) -> Future[_T]:
        """Start a call; ``wait`` for it."""
        with self._submitting:
            return self._pool.submit(lambda: do(self._filesystem()))

    def wait(self, url: str, future: Future[_T], *, bulk: bool = False) -> _T:
        """Return the result of a call. Raises RemoteError."""
        limit = timeout_s() * (_BULK if bulk else 1)
        try:
            return future.result(limit)
        except TimeoutError as error:
            future.cancel()  # it may not have begun
            if future.done() and not future.cancelled():  # the driver's own limit
                raise remote_error(error, url) from None
            raise unreachable(
                url, say("there was no answer within {limit:g} seconds", limit=limit)
            ) from None
        except Exception as error:  # without the cause, which may hold secrets
            raise remote_error(error, url) from None

    def each(self, calls: Iterable[tuple[str, Callable[[Any], _T]]]) -> Iterator[_T | RemoteError]:
        """Yield the results of many calls about URLs, a few at a time, in order.

        An error of a call is its result. If the host does not answer, the error is raised, because
        the other calls would fail, too.
        """
        waiting: list[tuple[str, Future[_T]]] = []
        rest = iter(calls)
        try:
            while True:
                while len(waiting) < THREADS and (following := next(rest, None)):
                    waiting.append((following[0], self.submit(following[1])))
                if not waiting:
                    return
                url, future = waiting.pop(0)
                try:
                    yield self.wait(url, future)
                except RemoteError as error:
                    if error.passing:
                        raise
                    yield error
        finally:
            for _, future in waiting:
                future.cancel()

    def _filesystem(self) -> Any:
        with self._connecting:
            if self._fs is None:
                self._fs = _connect(self._url)
            self._fs.invalidate_cache()
            return self._fs


_servers: dict[str, Server] = {}
_lock = threading.Lock()


def server_of(url: str) -> Server:
    """Return the server of a URL, without any request."""
    with _lock:
        return _servers.setdefault(host(url), Server(url))


def _connect(url: str) -> Any:
    import fsspec

    scheme = url.partition("://")[0]
    if "::" in url.partition("://")[2]:
        message = say("{url}: a filesystem within another one is not supported.", url=shown(url))
        raise RemoteError("remote_driver", message, say("Unpack the archive."))
    for protocol in scheme.split("::"):
        if protocol not in fsspec.available_protocols():
            message = say(
                "{url}: {protocol} is no filesystem that fsspec knows.",
                url=shown(url),
                protocol=protocol,
            )
            raise RemoteError("remote_driver", message, say("Check the part before the ://."))
    options = _web_options(fsspec, url) if is_web(url) else {}
    return fsspec.core.url_to_fs(url, skip_instance_cache=True, **options)[0]


def _web_options(fsspec: Any, url: str) -> dict[str, Any]:
    """Return options of fsspec: time limits, no compression, no redirects to another host.

    Compression would change sizes and ranges. The user's own configuration of fsspec still counts.
    """
    import aiohttp

    configured = fsspec.config.conf.get(url.partition("://")[0].lower(), {})
    limit = timeout_s()
    watch = aiohttp.TraceConfig()

    async def redirected(_session: Any, _context: Any, params: Any) -> None:
        target = params.response.headers.get("Location", "")
        if "://" not in target and not target.startswith("//"):
            return  # a path on the same host
        scheme, name, port = web_host(str(params.url.join(type(params.url)(target))))
        own_scheme, own_name, own_port = web_host(url)
        is_upgrade = (own_scheme, scheme) == ("http", "https")
        if name != own_name or not (port == own_port or is_upgrade):
            message = say(
                "{url} sends its readers on to another host, {name}.", url=shown(url), name=name
            )
            hint = say("If you trust that one, name its address instead.")
            raise RemoteError("remote_denied", message, hint)

    watch.on_request_redirect.append(redirected)
    client = dict(configured.get("client_kwargs", {}))
    times = aiohttp.ClientTimeout(total=None, sock_connect=limit, sock_read=limit)
    client.setdefault("timeout", times)
    client["trace_configs"] = [*client.get("trace_configs", ()), watch]
    headers = {"Accept-Encoding": "identity", **configured.get("headers", {})}
    return {"client_kwargs": client, "headers": headers}
