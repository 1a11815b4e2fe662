"""``baseline``: write the figures of a workload to a file, and check recordings against it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.selection import add_selection_options, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.analysis.comparison.baseline import Workload
    from tb_privateuse1.analysis.comparison.baseline_check import Check, Limit, LimitName
    from tb_privateuse1.analysis.comparison.run_figures import RunFigures
    from tb_privateuse1.cli.commands import Commands

_FILE = "perf-baseline.json"
_NAME = "default"


def add(commands: Commands) -> None:
    """Add the command."""
    baseline = add_command(
        commands,
        "baseline",
        _baseline,
        COMMANDS["baseline"],
        "check ./new --limit step=5%",
    )
    baseline.add_argument(
        "action", choices=("write", "check"), help="check exits with 1 if a limit is exceeded"
    )
    baseline.add_argument(
        "paths", nargs="+", metavar="TRACE",
        help="a logdir, a run or one trace file; all spans of a run are runs of one program",
    )  # fmt: skip
    add_selection_options(baseline)
    baseline.add_argument(
        "-b", "--baseline", default=_FILE, metavar="FILE",
        help=f"of write, the file to write: {_FILE} by default",
    )  # fmt: skip
    baseline.add_argument(
        "--name", metavar="NAME", help=f"of the workload in the file: {_NAME} by default"
    )
    baseline.add_argument(
        "--limit", action="append", default=[], metavar="WHAT=AMOUNT",
        help="how much more is allowed: step=5%%, device=200us, memory=10MB, launches=2, "
        "synchronizations=0, or operator=10%% of each operator's own time",
    )  # fmt: skip
    add_vendor(baseline)
    baseline.add_argument("--json", action="store_true", help="the check, for a program")
    for name, what in (
        ("junit", "also as JUnit XML"),
        ("sarif", "also as SARIF: slower operators at their lines"),
        ("summary", "append Markdown, such as to $GITHUB_STEP_SUMMARY"),
    ):
        baseline.add_argument(f"--{name}", metavar="FILE", help=what)
    baseline.add_argument("--markdown", action="store_true", help="print Markdown")


def _baseline(options: argparse.Namespace) -> int:
    file = Path(options.baseline)
    if options.action == "write":
        _refuse(options, "json", "markdown", "junit", "sarif", "summary", "limit")
        return _write(options, file)
    return _check(options, file)


def _refuse(options: argparse.Namespace, *names: str) -> None:
    if given := next((name for name in names if getattr(options, name)), None):
        raise UsageError(f"--{given} is for baseline check")


def _write(options: argparse.Namespace, file: Path) -> int:
    from tb_privateuse1.analysis.comparison.baseline import summarize_runs
    from tb_privateuse1.storage.baseline_file import write_workload
    from tb_privateuse1.trace.version import VERSION

    runs = list(_runs(options))
    name = options.name or _NAME
    try:
        write_workload(file, name, summarize_runs(runs, VERSION))
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    print(f"{file}: {name}, {len(runs)} run{'s' * (len(runs) != 1)}")
    if len(runs) == 1:
        print("Record several runs: the noise between runs is larger than that between steps.")
    return 0


def _check(options: argparse.Namespace, file: Path) -> int:
    from tb_privateuse1.analysis.comparison.baseline import summarize_runs
    from tb_privateuse1.analysis.comparison.baseline_check import check_workload
    from tb_privateuse1.export.reports import check as reports
    from tb_privateuse1.storage.baseline_file import read_baseline
    from tb_privateuse1.views.encoding import encode

    limits = _limits(options.limit)
    name, base = _workload(read_baseline(file).workloads, options.name, file)
    now = summarize_runs(list(_runs(options)), also=base.operators)
    check = check_workload(name, base, now, limits)
    if options.json:
        write(encode(check))
    else:
        write((reports.check_markdown if options.markdown else reports.check_text)(check).encode())
    if options.junit:
        write(reports.check_junit(check), options.junit)
    if options.sarif:
        write(reports.check_sarif(check).encode(), options.sarif)
    if options.summary:
        _append(reports.check_markdown(check), options.summary)
    _report_failures(check)
    return 1 if check.failed else 0


def _report_failures(check: Check) -> None:
    from tb_privateuse1.export.reports.check import change_line

    for one in (*check.metrics, *(each.figure for each in check.operators)):
        if one.name in check.failed:
            print(f"tb-privateuse1: {change_line(one)}", file=sys.stderr)


def _workload(
    workloads: Mapping[str, Workload], name: str | None, file: Path
) -> tuple[str, Workload]:
    if name is None and len(workloads) == 1:
        return next(iter(workloads.items()))
    wanted = name or _NAME
    if wanted not in workloads:
        raise UsageError(f"{file} has no workload {wanted}. It has: {', '.join(workloads)}.")
    return wanted, workloads[wanted]


def _runs(options: argparse.Namespace) -> Iterator[RunFigures]:
    """Yield the figures of each recording; of a run without ``--span``, those of all its spans."""
    from tb_privateuse1.analysis.comparison.run_figures import run_figures

    for path in options.paths:
        options.path = path
        with opened(options) as (store, catalog):
            chosen = selected(options)
            files = catalog.find(chosen.run, chosen.rank, chosen.span)
            same = [files]
            if chosen.span is None:
                run, rank = next(key[:2] for key, each in catalog.files.items() if each is files)
                same = [each for key, each in catalog.files.items() if key[:2] == (run, rank)]
            for each in same:
                yield run_figures(store.trace(each))


def _limits(given: list[str]) -> Mapping[LimitName, Limit]:
    from tb_privateuse1.analysis.comparison.amounts import parse_limit
    from tb_privateuse1.analysis.comparison.baseline_check import DEFAULT_LIMITS
    from tb_privateuse1.analysis.comparison.run_figures import UNITS

    found: dict[LimitName, Limit] = {}
    for text in given:
        what, equals, amount = text.partition("=")
        name = next((one for one in DEFAULT_LIMITS if one == what), None)
        if name is None or not equals:
            raise UsageError(
                f"--limit {text}: it must be WHAT=AMOUNT, of {', '.join(DEFAULT_LIMITS)}"
            )
        found[name] = parse_limit(amount, "ns" if name == "operator" else UNITS[name])
    return found


def _append(text: str, path: str) -> None:
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
