"""``mcp``: serve a logdir to agents by the Model Context Protocol."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, vendors

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    mcp = add_command(
        commands,
        "mcp",
        _mcp,
        COMMANDS["mcp"],
        "./log",
    )
    mcp.add_argument("path", metavar="PATH", nargs="?", help="a logdir, a run or one trace file")
    mcp.add_argument(
        "--http", action="store_true", help="over streamable HTTP; else on the standard streams"
    )
    mcp.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="a loopback address; 127.0.0.1 by default",
    )
    mcp.add_argument(
        "--port", type=int, default=8765, metavar="N", help="8765 by default; 0: any free one"
    )
    add_vendor(mcp)


def _mcp(options: argparse.Namespace) -> int:
    from tb_privateuse1.server.agents import serve

    if options.path is None:
        raise UsageError("mcp needs PATH: a logdir, a run or one trace file")
    serve.require_sdk()
    listening = serve.bind(options.host, options.port) if options.http else None
    known = vendors(options)
    with serve.opened(options.path, known) as answers:
        if listening is None:
            serve.serve_stdio(answers)
            return 0
        print(f"tb-privateuse1: MCP at {serve.url(listening)}", file=sys.stderr, flush=True)
        serve.serve_http(answers, listening)
    return 0
