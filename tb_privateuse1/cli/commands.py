"""Shared parts of the commands: parser, usage errors, vendor files, output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from tb_privateuse1.vendors.user_file import Vendors

    Commands = argparse._SubParsersAction["Parser"]


COMMANDS = {
    "view": "print a view of a trace",
    "advice": "list what makes a trace slow, with the fix and the saving",
    "try": "apply a finding's remedy to your program as it runs, and measure the gain",
    "whatif": "predict a step with operators, kernels or waits changed",
    "diff": "compare two traces; with --fail-over for CI",
    "baseline": "write a workload's figures to a file, and check recordings against it",
    "report": "write a trace, or the change between two, as one HTML file or as Markdown",
    "event": "print one event with all that the file has of it",
    "export": "write a trace as Chrome, Perfetto, collapsed stacks, Parquet or CSV",
    "stacks": "make a recording of collapsed stacks, for its flame graph",
    "take-away": "write operators as scripts that run on any device, and compare their results",
    "scalars": "write step time and more as TensorBoard scalars",
    "ingest": "read all traces of a logdir into the cache",
    "sql": "ask a trace's tables in SQL (needs the extra [sql])",
    "mcp": "serve a logdir to agents by MCP (needs the extra [mcp])",
    "agents": "print how an agent finds and verifies what makes a run slow",
    "record": "ask a running job for a recording, and wait for its traces",
    "cache": "show or clear the cache of traces that were read",
    "merge": "write a Chrome trace with the inferred device timeline",
    "new-backend": "write the skeleton of a PrivateUse1 backend, with tests and a CI workflow",
    "demo": "show the sample runs, or yours, in TensorBoard",
}
"""The commands by name, each a module of this room, with what it does: in the order of the help."""
MODULES = {"try": "trial", "new-backend": "new_backend", "take-away": "take_away"}
"""The module of a command whose name no module can have."""
RENAMED = {"advise": "advice"}
"""Commands of the last version by their old name, for one release (docs/reference/stability.md)."""


class UsageError(Exception):
    """Bad use, in words for the user."""


def positive(text: str) -> int:
    """Return the whole number of an argument; raises what argparse says if it is below 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number above 0 is needed, not {text}")
    return int(text)


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of ending the process. Help starts with what a command does."""

    takes_program = False
    """Behind ``--`` is a program with its arguments: ``program`` among the options."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Leave the program alone: argparse would look for options in it."""
        if not self.takes_program or args is None:
            return super().parse_known_args(args, namespace)
        own = list(args)
        at = own.index("--") if "--" in own else len(own)
        found, unknown = super().parse_known_args(own[:at], namespace)
        found.program = own[at + 1 :]
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say where help is."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def unknown(self, arguments: Sequence[str]) -> NoReturn:
        """Say which options there are instead of the one that is unknown."""
        name = next((a for a in arguments if a.startswith("-")), None)
        if name is None:
            self.error(f"unexpected argument {arguments[0]!r}")
        flags = (a.option_strings for a in self._actions if a.dest != "help")
        known = [next(s for s in strings if s.startswith("--")) for strings in flags if strings]
        command, name = self.prog.partition(" ")[2], name.partition("=")[0]
        self.error(f"{command} has no option {name}. It has: {', '.join(known)}.")

    def format_help(self) -> str:
        """Put the description before the usage."""
        description, self.description = self.description, None
        try:
            return f"{description}\n\n{super().format_help()}"
        finally:
            self.description = description


class PrintVersion(argparse.Action):
    """An option that imports the version when it is used, not for help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print the version, and end the process."""
        from tb_privateuse1.trace.version import VERSION

        print(VERSION)
        parser.exit()


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    what: str,
    example: str,
    **more: Any,
) -> Parser:
    """Add a command that ``run`` does: ``what`` in one line, an ``example`` of its arguments."""
    parser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:].rstrip('.')}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )
    parser.epilog = f"Example: {parser.prog} {example}"
    parser.set_defaults(command=run, parser=parser)
    return parser


def add_vendor(parser: argparse.ArgumentParser) -> None:
    """Add ``--vendor``, for commands that may read a trace."""
    parser.add_argument(
        "--vendor",
        action="append",
        metavar="FILE",
        help="describes an accelerator; for the server see docs/reference/vendors.md",
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add ``--engine``, for commands that have traces read."""
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        help="who reads: local, dask or dask://HOST:PORT; see docs/guide/cluster.md",
    )


def vendors(options: argparse.Namespace) -> Vendors:
    """Read the vendor files that a command is given, or else those of the environment.

    Raises TraceError ``bad_vendor``.
    """
    from tb_privateuse1.vendors import user_file

    return user_file.load_vendors(options.vendor)


def write(body: bytes, path: str | None = None) -> None:
    """Write a command's result as it is, to a file or the standard output.

    A terminal gets the end of a last line that has none.
    """
    if path is not None:
        try:
            Path(path).write_bytes(body)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    if sys.stdout.isatty() and not body.endswith(b"\n"):
        print()
