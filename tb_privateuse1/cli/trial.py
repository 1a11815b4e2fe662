"""``try``: apply a finding's remedy to the user's program at run time, and measure the gain."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.progress import Line
from tb_privateuse1.cli.remedies import REMEDIES
from tb_privateuse1.cli.selection import add_selection, opened, selected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tb_privateuse1.advice.engine import AdviceRow
    from tb_privateuse1.advice.rules.rule import Rule
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.cli.trial_report import Trial
    from tb_privateuse1.cli.trial_runs import Arm, RunReport, Window

_RUNS = 6
"""Of each arm. Student's quantile at the level of a verdict, by the root of the pairs: 1.6 for six,
2.9 for four, 45 for two."""
_STEPS = 20


def add(commands: Commands) -> None:
    """Add the command."""
    trial = add_command(
        commands,
        "try",
        _try,
        COMMANDS["try"],
        "optimizer_loop ./log -- python train.py --epochs 1",
    )
    trial.takes_program = True
    trial.add_argument(
        "finding", metavar="FINDING", help="its rule, as of advice; RULE#2 is the second of a rule"
    )
    add_selection(trial)
    trial.add_argument(
        "--remedy", choices=list(REMEDIES), metavar="NAME",
        help=f"another than the finding's: {', '.join(REMEDIES)}",
    )  # fmt: skip
    trial.add_argument(
        "--runs", type=int, default=_RUNS, metavar="N", help="of each arm; 6 by default, at least 2"
    )
    trial.add_argument(
        "--steps", type=int, default=_STEPS, metavar="N", help="measured in a run; 20 by default"
    )
    trial.add_argument(
        "--warmup", type=int, default=3, metavar="N", help="steps before them; 3 by default"
    )
    trial.add_argument(
        "--steps-by", choices=("auto", "optimizer", "forward"), default="auto",
        help="what a step is, as of the capture's launcher; auto by default",
    )  # fmt: skip
    trial.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall",
        help="whose figure is the verdict's; both are shown. cpu: of the process, for a program "
        "that computes on a shared host alone; wall by default",
    )  # fmt: skip
    trial.add_argument(
        "--by", choices=("mean", "least"), default="mean",
        help="the step that a run is judged by; least, the quickest, on a busy host: what others "
        "take only adds time. It does not see work of each n-th step; mean by default",
    )  # fmt: skip
    trial.add_argument("--seed", type=int, default=0, metavar="N", help="of all runs; 0 by default")
    trial.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="the runs import it first, such as the backend's",
    )  # fmt: skip
    add_vendor(trial)
    trial.add_argument("--json", action="store_true", help="the same for a program")
    trial.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _try(options: argparse.Namespace) -> int:
    from tb_privateuse1.cli import trial_report
    from tb_privateuse1.views.encoding import encode

    trial = _tried(options)
    body = encode(trial) if options.json else trial_report.text(trial).encode()
    write(body, options.output)
    return trial_report.exit_code(trial)


def _tried(options: argparse.Namespace) -> Trial:
    """Return the trial that the options ask for. Raises UsageError if there can be none."""
    from tb_privateuse1.cli import trial_report, trial_runs

    program = trial_runs.parse_program(options.program)
    for name, least in (("runs", 2), ("steps", 1), ("warmup", 1)):
        if getattr(options, name) < least:
            raise UsageError(f"--{name} must be {least} or more")
    remedy = _remedy(options)
    row = _finding(options) if options.path else None
    window = trial_runs.Window(
        options.warmup,
        options.steps,
        options.steps_by,
        options.seed,
        tuple(options.imports),
    )

    def check(arm: Arm, report: RunReport) -> bool:
        if not report.wall_ns:
            raise UsageError(_too_short(report, window))
        if report.calls_backward and not report.remedy.keeps_backward:
            return False
        return arm == "as it is" or bool(report.applied)

    with Line(sys.stderr).open() as line:
        found = trial_runs.run_all(
            program,
            remedy,
            window,
            options.runs,
            lambda number, count, arm: line.note(f"run {number} of {count}, {arm}"),
            check,
        )
    return trial_report.trial(options.finding, remedy, found, options.clock, options.by, row)


def _too_short(report: RunReport, window: Window) -> str:
    needed = f"a run needs {report.warmup + window.steps}: {report.warmup} to warm up and "
    needed += f"{window.steps} that are measured"
    if report.clock is None or not report.steps:
        return (
            f"no steps were found, and {needed}. A step is a call of the first optimizer, or of "
            "the model; --steps-by chooses"
        )
    fitting = report.steps - report.warmup
    hint = f"Give --steps {fitting} or less" if fitting >= 1 else "Let it run for more steps"
    return f"the program had {report.steps} steps by {report.clock}, and {needed}. {hint}"


def _remedy(options: argparse.Namespace) -> str:
    """Return the name of the remedy: the one asked for, or that of the finding's rule."""
    name = options.finding.partition("#")[0]
    if options.remedy:
        return str(options.remedy)
    if name in REMEDIES:
        return str(name)
    rules = {rule.name: rule for rule in _rules()}
    if name not in rules:
        known = ", ".join(rule.name for rule in rules.values() if rule.remedy)
        raise UsageError(f"there is no finding {name}. These have a remedy: {known}")
    rule = rules[name]
    if rule.remedy is None:
        raise UsageError(
            f"no remedy of {name} is mechanical: its fix changes the program's own lines. "
            f"Fix: {rule.fix} (--remedy NAME tries another)"
        )
    return rule.remedy


def _rules() -> Sequence[Rule]:
    from tb_privateuse1.advice import user_rules

    return tuple(user_rules.from_environment().load())


def _finding(options: argparse.Namespace) -> AdviceRow:
    """Return the finding in the recording."""
    from tb_privateuse1.views.advice import advice
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request

    name, _, number = options.finding.partition("#")
    if number and not number.isdecimal():
        raise UsageError(f"{options.finding} is no finding: behind # is a number")
    with opened(options) as (store, catalog):
        result = Reader(store, catalog, _rules).run(Request(advice, selected(options)))
    rows: list[AdviceRow] = [row for row in result.rows if row.rule == name]
    at = int(number or 1) - 1
    if not 0 <= at < len(rows):
        known = ", ".join(dict.fromkeys(row.rule for row in result.rows)) or "none"
        raise UsageError(f"{options.path} has no finding {options.finding}. It has: {known}")
    return rows[at]
