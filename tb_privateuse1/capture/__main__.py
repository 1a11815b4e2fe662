"""Record a program without changing it: ``python -m tb_privateuse1.capture [options] script.py``.

The program runs as if Python had started it: the same arguments, ``__main__`` and exit code.
"""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import sys
from typing import Any

from torch.profiler import schedule

from tb_privateuse1 import capture
from tb_privateuse1.capture.program_steps import BY, ProgramSteps

CHECK = "--check"
"""The option that asks for the conformance kit."""
_FEWEST_BETWEEN = 3
"""Steps of a ring: one warms the profiler up, one is recorded, one is not."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tb_privateuse1.capture",
        description="Record a program without changing it.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add(CHECK, action="store_true",
        help="judge the backend instead (docs/guide/conformance.md); comes first")  # fmt: skip
    add("--logdir", default="log", help="where trace and sidecar are written")
    add("--worker-name", help="in the files' names; by default host, process and rank")
    add("--wait", type=_count, default=2, help="steps before the profiler starts")
    add("--warmup", type=_count, default=1, help="steps that the profiler discards")
    add("--active", type=_count, default=3, help="steps that are recorded")
    add("--repeat", type=_count, default=1, help="recordings; 0: until the program ends")
    add("--on-demand", action="store_true",
        help="record when asked to, by tb-privateuse1 record or the dashboard; "
        "--wait, --warmup, --active and --repeat have no meaning then")  # fmt: skip
    add("--ring", type=_count, default=0, metavar="K",
        help="on demand: keep the last K short recordings for the case of a slow step")  # fmt: skip
    add("--every", type=_count, default=100, metavar="N",
        help="on demand: steps from one recording of the ring to the next")  # fmt: skip
    add("--steps-by", choices=BY, default="auto",
        help="what a step is: a call of the first optimizer, or of the model; "
        "none: record the whole program")  # fmt: skip
    add("--no-shapes", action="store_true", help="do not record the shapes of inputs")
    add("--stacks", action="store_true", help="record Python's stacks")
    add("--memory", action="store_true", help="record allocations")
    add("--gzip", action="store_true", help="compress the files")
    add("--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="import it first, such as the backend's; --steps-by none needs that")  # fmt: skip
    add("-m", dest="is_module", action="store_true", help="the program is a module's name")
    add("program", help="a Python file, or with -m a module")
    add("arguments", nargs=argparse.REMAINDER, help="the program's own")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of steps")
    return int(text)


class ProgramRecording:
    """The recording of a program by its steps, or of all of it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._prof: capture.profile | None = None
        self._steps: ProgramSteps | None = None

    def begin(self) -> None:
        """Start now, or once the program begins with its steps."""
        if self._options.steps_by == "none":
            self._start()
        else:
            self._steps = ProgramSteps(self._start, self._step, self._options.steps_by)

    def end(self) -> None:
        """Write what was recorded; say why if it is nothing."""
        if self._prof is not None:
            self._prof.stop()
        before = self._options.wait + self._options.warmup
        if self._steps is None or self._steps.count > before:
            return
        steps = self._steps
        seen = f"{steps.count} by calls of {steps.clock}" if steps.clock else "none"
        sys.stderr.write(
            f"tb_privateuse1: nothing was recorded: recording starts after {before} steps, "
            f"and the program had {seen}. Use a smaller --wait, or --steps-by none.\n"
        )

    def _start(self) -> None:
        options = self._options
        more = _memory(options)
        if options.steps_by != "none":
            more["schedule"] = schedule(
                wait=options.wait,
                warmup=options.warmup,
                active=options.active,
                repeat=options.repeat,
            )
        self._prof = capture.profile(
            record_shapes=not options.no_shapes,
            with_stack=options.stacks,
            on_trace_ready=capture.tensorboard_trace_handler(
                options.logdir, options.worker_name, use_gzip=options.gzip
            ),
            **more,
        )
        self._prof.start()

    def _step(self) -> None:
        if self._prof is not None:
            self._prof.step()


class Service:
    """Recordings of a program on demand."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._by = options.steps_by
        self._job = capture.on_demand(
            options.logdir,
            worker_name=options.worker_name,
            use_gzip=options.gzip,
            ring=options.ring,
            every=options.every,
            record_shapes=not options.no_shapes,
            with_stack=options.stacks,
            **_memory(options),
        )

    def begin(self) -> None:
        """Announce the job, and count its steps once it begins with them."""
        self._job.start()
        ProgramSteps(lambda: None, self._job.step, self._by)

    def end(self) -> None:
        """Write what is being recorded, and tell that the job has ended."""
        self._job.stop()


def _memory(options: argparse.Namespace) -> dict[str, Any]:
    """Return the option only where it was given: its default depends on the route."""
    return {"profile_memory": True} if options.memory else {}


def _run(options: argparse.Namespace) -> None:
    """Run the program in this process, as Python would."""
    sys.argv = [options.program, *options.arguments]
    if options.is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.program))
        runpy.run_path(options.program, run_name="__main__")


def _check(arguments: list[str]) -> int:
    """Run the conformance kit, which stands above the capture and is not in its wheel.

    By its name, as the capture imports nothing that reads recordings.
    """
    try:
        kit: Any = importlib.import_module("tb_privateuse1.testing.conformance")
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"tb_privateuse1: --check reads recordings, which tb-privateuse1-capture alone cannot "
            f"({error}): pip install tb-privateuse1\n"
        )
        return 2
    return int(kit.main(arguments))


def main() -> None:
    """Record the program that the command line names; its exceptions and exit code are its own."""
    if sys.argv[1:2] == [CHECK]:
        sys.exit(_check(sys.argv[1:]))
    options = _parser().parse_args()
    if options.check:
        _parser().error(f"{CHECK} must come first")
    if options.active < 1:
        _parser().error("--active must be 1 or more")
    if options.on_demand and options.steps_by == "none":
        _parser().error("--on-demand needs steps")
    if options.every < _FEWEST_BETWEEN:
        _parser().error(f"--every must be {_FEWEST_BETWEEN} or more")
    for name in options.imports:
        importlib.import_module(name)
    recording = Service(options) if options.on_demand else ProgramRecording(options)
    recording.begin()
    try:
        _run(options)
    finally:
        recording.end()


if __name__ == "__main__":
    main()
