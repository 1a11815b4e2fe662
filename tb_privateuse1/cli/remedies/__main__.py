"""Run a program and measure its steps: ``python -m tb_privateuse1.cli.remedies [options] file.py``.

``tb-privateuse1 try`` starts this for each run. The program runs as if Python had started it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import sys
from pathlib import Path

from tb_privateuse1.capture.program_steps import BY
from tb_privateuse1.cli.remedies import REMEDIES
from tb_privateuse1.cli.remedies.run import Run, Window, seed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tb_privateuse1.cli.remedies",
        description="Run a program with a remedy, or as it is, and measure its steps.",
    )
    add = parser.add_argument
    add("--remedy", choices=list(REMEDIES), required=True, help="what is tried")
    add("--as-it-is", action="store_true", help="the other arm: the remedy changes nothing")
    add("--report", type=Path, required=True, help="the JSON file that is written")
    add("--warmup", type=int, default=3, help="steps that are not measured")
    add("--steps", type=int, default=20, help="steps that are measured")
    add("--steps-by", choices=BY[:-1], default="auto", help="as of the capture's launcher")
    add("--seed", type=int, default=0, help="of Python, NumPy and torch")
    add("--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="import it first, such as the backend's")  # fmt: skip
    add("-m", dest="is_module", action="store_true", help="the program is a module's name")
    add("program", help="a Python file, or with -m a module")
    add("arguments", nargs=argparse.REMAINDER, help="the program's own")
    return parser


def _program(options: argparse.Namespace) -> None:
    """Run the program in this process, as Python would."""
    sys.argv = [options.program, *options.arguments]
    if options.is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.program))
        runpy.run_path(options.program, run_name="__main__")


def main() -> None:
    """Run the program; its exceptions and its exit code are its own."""
    options = _parser().parse_args()
    for name in options.imports:
        importlib.import_module(name)
    remedy = REMEDIES[options.remedy]
    window = Window(max(options.warmup, remedy.warmup), options.steps, options.steps_by)
    run = Run(remedy, window, options.report, as_it_is=options.as_it_is)
    seed(options.seed)
    try:
        _program(options)
    except SystemExit as error:
        if not error.code:
            run.write()
        raise
    run.write()


if __name__ == "__main__":
    main()
