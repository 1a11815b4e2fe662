"""``take-away``: write recorded calls as scripts to run elsewhere, and compare their results."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, positive
from tb_privateuse1.cli.selection import add_selection, opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands

_TOP = 10


def add(commands: Commands) -> None:
    """Add the command."""
    what = COMMANDS["take-away"]
    parser = add_command(commands, "take-away", _take_away, what, "./log --top 5 -o taken")
    add_selection(parser)
    top = "by their own time; 10 by default"
    parser.add_argument("--top", type=positive, default=_TOP, metavar="N", help=top)
    parser.add_argument("--name", help="only calls of this operator, such as aten::mm")
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder of the scripts")
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="two files that the scripts wrote with --json",
    )
    add_vendor(parser)


def _take_away(options: argparse.Namespace) -> int:
    if options.compare is not None:
        from tb_privateuse1.export.taken.results import compared

        print("\n".join(compared(*map(_read, options.compare))))
        return 0
    if options.path is None or options.output is None:
        raise UsageError("take-away needs PATH and --output DIR, or --compare A B")
    return _take(options)


def _take(options: argparse.Namespace) -> int:
    from tb_privateuse1.analysis.recording.window import Window
    from tb_privateuse1.export.taken import script
    from tb_privateuse1.export.taken.recorded_calls import most_time

    with opened(options) as (store, catalog):
        trace = store.trace(catalog.find(options.run, options.rank, options.span))
        calls = most_time(trace, Window(trace, "steady").ops, options.top, options.name)
    if not calls:
        what = f"call of {options.name}" if options.name is not None else "operator"
        raise UsageError(f"no {what} in this recording has shapes and types of its inputs")
    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, call in enumerate(calls, 1):
            path = folder / script.filename(call, number)
            path.write_text(script.script(call), encoding="utf-8")
            print(path)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from error
    print(f'Next: for f in {shlex.quote(str(folder))}/*.py; do python "$f" --json here.jsonl; done')
    return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
