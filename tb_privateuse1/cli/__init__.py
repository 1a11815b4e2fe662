"""``tb-privateuse1``: the views' results and the merged trace on the command line, and a demo.

One file per command. Exit codes: 0 fine; 1 findings, failures or a regression beyond the limit
asked for; 2 bad use or unreadable input, 130 interrupted, with one line on stderr. Modules are
imported where they are needed, so that ``--help`` is quick; and all of them, the commands too,
within ``main``, which says so when Ctrl-C comes while they are.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tb_privateuse1.cli.commands import Parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        # The reader of our output has seen enough. Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as error:
        print(": ".join(["tb-privateuse1: interrupted", *map(str, error.args)]), file=sys.stderr)
        return 130


def _run(arguments: Sequence[str]) -> int:
    from tb_privateuse1.cli.commands import UsageError

    try:
        return _command(arguments)
    except UsageError as error:
        return _fail(str(error))


def _command(arguments: Sequence[str]) -> int:
    from tb_privateuse1.cli.completion import asks, complete

    arguments = _renamed(arguments)
    parser = _parser(None if asks() else arguments)
    complete(parser)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.unknown(unknown)
    from tb_privateuse1.trace.errors import TraceError

    try:
        code: int = options.command(options)
        sys.stdout.flush()
        return code
    except TraceError as error:
        return _fail(f"{error.message} {error.hint or ''}")


def _renamed(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments with a command's new name; stderr says that the old one ends."""
    from tb_privateuse1.cli.commands import RENAMED

    old = arguments[0] if arguments else ""
    if old not in RENAMED:
        return arguments
    note = f"{old} is now {RENAMED[old]}; the old name ends with the next release"
    print(f"tb-privateuse1: {note}", file=sys.stderr)
    return [RENAMED[old], *arguments[1:]]


def _fail(message: str) -> int:
    line = " ".join(message.split())
    print(f"tb-privateuse1: {line}", file=sys.stderr)
    return 2


def _parser(arguments: Sequence[str] | None = None) -> Parser:
    """Return the parser, with the options of the command that is among the arguments.

    Without arguments it has those of all commands.
    """
    from tb_privateuse1.cli.commands import COMMANDS, Parser, PrintVersion

    parser = Parser(
        prog="tb-privateuse1",
        description="Profiles of any PyTorch accelerator.",
        epilog="Example: tb-privateuse1 view overview ./log",
    )
    parser.add_argument("--version", action=PrintVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    # No option before the command has a value.
    chosen = next((a for a in arguments or () if not a.startswith("-")), None)
    for name, what in COMMANDS.items():
        if arguments is None or name == chosen:
            module = f"tb_privateuse1.cli.{name.replace('-', '_')}"
            importlib.import_module(module).add(commands)
        else:
            commands.add_parser(name, help=what, add_help=False)
    return parser
