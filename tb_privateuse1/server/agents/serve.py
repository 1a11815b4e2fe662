"""Serve a logdir to agents, on the standard streams or over HTTP on this machine.

The SDK is imported here and in ``protocol.py`` only; the extra ``[mcp]`` brings it along.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

from werkzeug.wrappers import Request

from tb_privateuse1 import readers
from tb_privateuse1.advice import user_rules
from tb_privateuse1.discovery import roots
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.export import sql
from tb_privateuse1.i18n import say
from tb_privateuse1.server.access import is_local, is_loopback
from tb_privateuse1.server.agents.answers import Answers
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.vendors.user_file import Vendors
from tb_privateuse1.views import user_models
from tb_privateuse1.views.reader import Reader

PATH = "/mcp"
_IDLE_S = 600.0
"""What nobody asks for that long is dropped from memory."""
_MOST_REQUEST_BYTES = 256 << 10
_CLOSING_S = 2


def require_sdk() -> None:
    """Raise TraceError ``no_mcp`` unless the SDK is installed."""
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("mcp_types") is None:
        hint = say("pip install 'tb-privateuse1[mcp]' brings it along.")
        message = say("Agents are served by the MCP SDK, which is not installed.")
        raise TraceError("no_mcp", message, hint)


@contextlib.contextmanager
def opened(logdir: str, vendors: Vendors) -> Iterator[Answers]:
    """Yield the answers for a logdir, a run or one trace; close what reads at the end.

    Raises TraceError ``no_such_path``, or for a user's file that cannot be used.
    """
    roots.locate(logdir)
    user_models.use_from_environment()
    rules = user_rules.from_environment()
    rules.load()
    scanner = Scanner(logdir, readers.READERS, links_out=False)
    store = Store(vendors=vendors)
    BUDGET.drop_when_idle(_IDLE_S)
    answers = Answers(scanner, store, Reader(store, scanner, rules.usable))
    try:
        yield answers
    finally:
        answers.close()


def serve_stdio(answers: Answers) -> None:
    """Serve one client on the standard streams, until it closes them."""
    import anyio
    from mcp.server.stdio import stdio_server

    from tb_privateuse1.server.agents.protocol import Protocol

    server = Protocol(answers, allows_sql=lambda _: True).server()

    async def run() -> None:
        async with anyio.create_task_group() as tasks, stdio_server() as (incoming, outgoing):
            tasks.start_soon(_end_at_signal, answers)
            sending, readable = anyio.create_memory_object_stream[Any](0)
            tasks.start_soon(_answer_unreadable, incoming, sending, outgoing)
            await server.run(readable, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)


async def _answer_unreadable(incoming: Any, readable: Any, outgoing: Any) -> None:
    """Pass messages on, and answer those that are no JSON-RPC: the SDK would drop them.

    A client would wait for its answer. Which request it was is unknown: the error has no id.
    """
    import mcp_types as types
    from mcp.shared.message import SessionMessage

    message = "This line is no message of JSON-RPC in valid Unicode."
    error = types.ErrorData(code=types.PARSE_ERROR, message=message)
    async with incoming, readable:
        async for item in incoming:
            if isinstance(item, Exception):
                answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
                await outgoing.send(SessionMessage(answer))
            else:
                await readable.send(item)


async def _end_at_signal(answers: Answers) -> None:
    """End the process at Ctrl-C or SIGTERM.

    A thread waits for the standard input and cannot be woken: Python would wait for it.
    """
    import anyio

    # Windows has no signal receivers: there Ctrl-C ends it when the client closes.
    with (
        contextlib.suppress(NotImplementedError),
        anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals,
    ):
        async for number in signals:
            answers.close()
            print("tb-privateuse1: interrupted", file=sys.stderr, flush=True)  # noqa: T201
            os._exit(128 + number)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a loopback address.

    Raises TraceError ``not_loopback`` or ``bad_address``.
    """
    if not is_loopback(host):
        hint = say("Use 127.0.0.1, ::1 or localhost; ssh -L reaches it from elsewhere.")
        message = say("Agents are served on this machine only, not on {host}.", host=host)
        raise TraceError("not_loopback", message, hint)
    if not 0 <= port < 1 << 16:
        raise TraceError("bad_address", say("There is no port {port}.", port=port))
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        message = say("{host}:{port} cannot be used: {error}", host=host, port=port, error=error)
        raise TraceError("bad_address", message) from error


def serve_http(answers: Answers, listening: socket.socket) -> None:
    """Serve clients of this machine over streamable HTTP, until Ctrl-C."""
    import uvicorn

    app = application(answers, listening)
    config = uvicorn.Config(
        app, log_level="warning", timeout_graceful_shutdown=_CLOSING_S, access_log=False
    )
    uvicorn.Server(config).run(sockets=[listening])


def application(answers: Answers, listening: socket.socket) -> Any:
    """Return the ASGI application for a socket. Pages of any site are refused, ours has none."""
    from mcp.server.transport_security import TransportSecuritySettings

    from tb_privateuse1.server.agents.protocol import Protocol

    address, port = listening.getsockname()[:2]
    audience = sql.audience(address, bind_all=False)

    def allows_sql(request: Any) -> bool:
        return audience == "everybody" or (audience == "local" and is_local(_werkzeug(request)))

    names = ("127.0.0.1", "localhost", "[::1]")
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in names], allowed_origins=[]
    )
    return (
        Protocol(answers, allows_sql)
        .server()
        .streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=_MOST_REQUEST_BYTES,
            transport_security=security,
        )
    )


def url(listening: socket.socket) -> str:
    """Return the address for a client's configuration."""
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}{PATH}"


def _werkzeug(request: Any) -> Request:
    """Return a request of the SDK as the server's rules of access read it."""
    fields = {f"HTTP_{k.upper().replace('-', '_')}": v for k, v in request.headers.items()}
    client = request.client.host if request.client else ""
    return Request({**fields, "REMOTE_ADDR": client, "REQUEST_METHOD": request.method})
