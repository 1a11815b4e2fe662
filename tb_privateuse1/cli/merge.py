"""``merge``: write a Chrome trace with the inferred device timeline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, vendors

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    merge = add_command(
        commands,
        "merge",
        _merge,
        COMMANDS["merge"],
        "trace.pt.trace.json.gz -o merged.json.gz",
    )
    merge.add_argument("trace", metavar="TRACE")
    merge.add_argument("--kernel-events", metavar="FILE", help="by default the one beside TRACE")
    add_vendor(merge)
    merge.add_argument("-o", "--output", metavar="OUT", required=True)


def _merge(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery import catalog, roots, walk
    from tb_privateuse1.discovery.file import printable
    from tb_privateuse1.export import chrome
    from tb_privateuse1.readers import READERS

    known, sidecar = vendors(options).known, options.kernel_events
    if not walk.is_file(roots.locate(options.trace)):
        raise UsageError(f"{printable(options.trace)} is a directory: merge takes one trace")
    if sidecar is None:
        beside = catalog.scan(options.trace, READERS).find().sidecar
        sidecar = beside.path if beside else None
    trace = chrome.merge_files(options.trace, sidecar, options.output, known)
    print(f"{options.output}: {len(trace.kernels)} device activities, {trace.meta.timeline}")
    return 0
