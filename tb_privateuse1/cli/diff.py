"""``diff``: compare two traces, and fail if a figure grew too much."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.analysis.account.classes import NAMES
from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.flags import add_flags, chosen
from tb_privateuse1.cli.selection import add_selection_options, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.analysis.comparison.memory import DiffMemory
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.export.reports.junit import Judged
    from tb_privateuse1.views.diff import Diff

_PARTS = ("step", "kernel", "memcpy", "memset", "communication", "unknown", "runtime",
          "dataloader", "cpu", "other")  # fmt: skip
_MEMORY = {
    "memory": "peak",
    "reserved": "peak_reserved",
    "growth": "growth",
    "allocated": "allocated",
    "allocations": "allocations",
}
_FIGURES = tuple(dict.fromkeys((*_PARTS, *NAMES, *_MEMORY)))
"""The figures of memory by their names in ``--of``."""


def add(commands: Commands) -> None:
    """Add the command."""
    diff = add_command(
        commands,
        "diff",
        _diff,
        COMMANDS["diff"],
        "./old ./new --fail-over 3%",
    )
    diff.add_argument("base", metavar="BASE", help="a logdir, a run or one trace file")
    diff.add_argument("path", metavar="NEW", help="the same")
    add_selection_options(diff)
    add_selection_options(diff, "base-")
    add_flags(diff, "diff")
    diff.add_argument(
        "--fail-over", metavar="N%", help="exit 1 if a step takes more longer, beyond noise"
    )
    diff.add_argument(
        "--of", action="append", choices=_FIGURES, metavar="WHAT",
        help="what may not be more: step (the default), kernel, a class of time such as "
        "synchronization, … as shares of the step; of memory "
        "memory (its peak), reserved, growth, allocated, allocations, as shares of their own",
    )  # fmt: skip
    add_vendor(diff)
    form = diff.add_mutually_exclusive_group()
    for name, what in (("json", "as the view"), ("markdown", "tables"), ("junit", "XML")):
        form.add_argument(f"--{name}", action="store_true", help=what)
    diff.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _diff(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery import catalog as discovery_catalog
    from tb_privateuse1.export.reports import junit, markdown
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.views.diff import diff
    from tb_privateuse1.views.encoding import encode
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request

    limit = _share(options.fail_over)
    if options.of and limit is None:
        raise UsageError("--of is for --fail-over")
    asked = chosen(options, diff)
    here, there = selected(options), selected(options, "base_")
    with opened(options) as (store, catalog):
        base = discovery_catalog.scan(options.base, READERS)
        reader = Reader(store, catalog, base_catalog=base)
        result = reader.run(Request(diff, here, there, asked))
    failed = [] if limit is None else over(result, limit, options.of or ["step"])
    if options.json:
        body = encode(result)
    elif options.junit:
        body = junit.junit_report(result, failed)
    else:
        body = markdown.markdown_report(result, failed).encode()
    write(body, options.output)
    for figure in failed:
        print(f"tb-privateuse1: {junit.change_text(figure)}", file=sys.stderr)
    return 1 if failed else 0


def over(result: Diff, limit: float, names: list[str]) -> list[Judged]:
    """Return the increases beyond noise, bounds and this share: parts of the step of the
    step, memory of the base's own figure, and growth of the base's peak. Raises UsageError where
    a figure that is to be judged is in neither trace.
    """
    step = result.figures[0].base_ns or 0
    times = {figure.name: figure for figure in (*result.account, *result.figures)}
    failed: list[Judged] = [
        figure
        for figure in times.values()
        if figure.name in names
        and figure.verdict == "longer"
        and (figure.change_ns or 0) > limit * step
    ]
    wanted = {_MEMORY[name] for name in names if name in _MEMORY}
    if missing := wanted - {figure.name for figure in result.memory}:
        what = next(name for name, figure in _MEMORY.items() if figure in missing)
        raise UsageError(
            f"--of {what}: neither trace tells it: it needs profile_memory=True (and torch 1.10)"
        )
    return failed + [
        figure
        for figure in result.memory
        if figure.name in wanted
        and figure.verdict == "more"
        and (figure.change or 0) > limit * _whole(result, figure)
    ]


def _whole(result: Diff, figure: DiffMemory) -> float:
    name = "peak" if figure.name == "growth" else figure.name
    same = (f for f in result.memory if (f.device, f.name) == (figure.device, name))
    return max((f.base or 0 for f in same), default=0)


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d+(\.\d+)?%", text):
        raise UsageError(f"--fail-over {text}: it must be a share like 3%")
    return float(text[:-1]) / 100
