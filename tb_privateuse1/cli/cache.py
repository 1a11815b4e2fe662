"""``cache``: show or clear the cached traces."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, write
from tb_privateuse1.cli.progress import size

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    cache = add_command(commands, "cache", _cache, COMMANDS["cache"], "info ./log")
    cache.add_argument("action", choices=("info", "clear"), help="clear removes all its traces")
    cache.add_argument(
        "path", metavar="PATH", nargs="?", help="a logdir: also the caches beside its runs"
    )
    cache.add_argument("--json", action="store_true", help="the same for a program")


def _cache(options: argparse.Namespace) -> int:
    from tb_privateuse1.storage import cache_directory
    from tb_privateuse1.views.encoding import encode

    act = cache_directory.clear if options.action == "clear" else cache_directory.disk_use
    try:
        found = [act(directory) for directory in _directories(options.path)]
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    if options.json:
        write(encode(found))
        return 0
    for use in found:
        print(use.directory)
        print(f"  {use.traces} traces, {size(use.bytes)} of at most {size(use.limit_bytes)}")
        most = size(use.part_limit_bytes)
        print(f"  {use.parts} parts of ranks, {size(use.part_bytes)} of at most {most}")
    return 0


def _directories(path: str | None) -> list[Path]:
    from tb_privateuse1.discovery import catalog
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.storage import cache_directory

    places = {cache_directory.cache_directory(): None}
    if path is not None:
        for files in catalog.scan(path, READERS).files.values():
            places.update(dict.fromkeys(cache_directory.cache_directories(files.trace.path)))
    return list(places)
