"""``stacks``: make a recording of collapsed stacks, so that the dashboard draws its flame graph."""

from __future__ import annotations

import argparse
import gzip
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands

_UNITS = ("ns", "us", "ms", "samples")
_GZIP = b"\x1f\x8b"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "stacks", _stacks, COMMANDS["stacks"], "stacks.txt -o log/stacks"
    )
    parser.add_argument("path", metavar="FILE", help="lines of frame;frame;frame 123")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the run's folder")
    unit = "what a count is: us by default, as torch's export_stacks writes"
    parser.add_argument("--unit", choices=_UNITS, default="us", help=unit)


def _stacks(options: argparse.Namespace) -> int:
    from tb_privateuse1.export.stacks_trace import trace_of_stacks

    source = Path(options.path)
    try:
        made = trace_of_stacks(
            _unpacked(source).decode(errors="replace").splitlines(), options.unit
        )
        folder = Path(options.output)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{source.name.partition('.')[0] or 'stacks'}.1.pt.trace.json"
        path.write_text(json.dumps(made), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{source} or {options.output}: {error}") from error
    print(f"{path}\nNext: tensorboard --logdir {folder}, page Flame graph; or")
    print(f"tb-privateuse1 view flame {path}")
    return 0


def _unpacked(source: Path) -> bytes:
    content = source.read_bytes()
    if not content.startswith(_GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{source} is a damaged gzip file: {error}") from error
