"""``take-away``: write recorded calls as scripts to run elsewhere, and compare their results."""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, positive
from tb_privateuse1.cli.selection import add_selection, opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands

_TOP = 10
_INDEX = "taken.json"
"""In the folder of the scripts: their names and digests, so that the next call knows its own."""


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
        texts = {script.filename(call, i): script.script(call) for i, call in enumerate(calls, 1)}
        _write(folder, texts)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from error
    print(f'Next: for f in {shlex.quote(str(folder))}/*.py; do python "$f" --json here.jsonl; done')
    return 0


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the scripts, and remove those that an earlier call wrote and nobody has edited."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / _INDEX
    for name, digest in _written(index).items():
        path = folder / name
        if name in texts or Path(name).name != name or not path.is_file():
            continue
        if _digest(path.read_bytes()) == digest:
            path.unlink()
        else:
            print(f"{path} stays: it was edited")
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
        print(folder / name)
    known = {name: _digest(text.encode()) for name, text in texts.items()}
    index.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _written(index: Path) -> dict[str, str]:
    """Return the scripts of the last call and their digests; none if that is not known."""
    try:
        found = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
