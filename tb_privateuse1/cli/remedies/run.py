"""One run of a program, with or without a remedy: what each of its steps took.

Steps are found as the capture's launcher finds them. The first ones warm up. The device is
synchronized at both edges of the window and nowhere in it, so that a host may run ahead as it does.
The process ends behind the window: what the program does at its own end is not done.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tb_privateuse1.capture.program_steps import By, ProgramSteps
from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, device_type
from tb_privateuse1.cli.remedies.results import StepResults


class Window(NamedTuple):
    """The steps that are measured, behind those that warm up; and what a step is."""

    warmup: int
    steps: int
    by: By


class Run:
    """Measures the steps of the program that this process runs."""

    def __init__(self, remedy: Remedy, window: Window, report: Path, *, as_it_is: bool) -> None:
        self._remedy = remedy
        self._warmup = window.warmup
        self._wanted = window.steps
        self._report = report
        self._effects = Effects()
        self._wall_ns: list[int] = []
        self._cpu_ns: list[int] = []
        self._last = (0, 0)
        self._synchronize = torch.accelerator.synchronize  # a remedy may replace it
        if not as_it_is:
            remedy.apply(self._effects)
        self._results = StepResults(self._effects)
        self._steps = ProgramSteps(lambda: None, self._step, window.by)

    def write(self) -> None:
        """Write the report; it has no times if the program ended before the window did."""
        complete = len(self._wall_ns) == self._wanted
        texts = ("what", "applies_to", "tolerance", "is_wider", "keeps_backward")
        document = {
            "remedy": {name: getattr(self._remedy, name) for name in texts},
            "warmup": self._warmup,
            "steps": self._steps.count,
            "clock": self._steps.clock,
            "device": device_type(),
            "applied": dict(self._effects.counts),
            "calls_backward": self._results.calls_backward,
            "wall_ns": self._wall_ns if complete else [],
            "cpu_ns": self._cpu_ns if complete else [],
            "losses": self._results.losses() if complete else None,
            "outputs": self._results.outputs() if complete else None,
        }
        self._report.write_text(json.dumps(document), encoding="utf-8")

    def _step(self) -> None:
        count = self._steps.count
        if count == 1:
            for call in self._effects.after_first_step:
                call()
            self._effects.after_first_step.clear()
        if count < self._warmup:
            return
        if count in (self._warmup, self._warmup + self._wanted):
            self._wait()
        now = time.perf_counter_ns(), time.process_time_ns()
        if count == self._warmup:
            self._results.forget()
        else:
            self._wall_ns.append(now[0] - self._last[0])
            self._cpu_ns.append(now[1] - self._last[1])
            self._results.step()
        self._last = now
        if len(self._wall_ns) == self._wanted:
            self._end()

    def _wait(self) -> None:
        if device_type() != "cpu":
            self._synchronize()

    def _end(self) -> None:
        """End the process here: its own end may write files, or train for days to come."""
        self.write()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def seed(value: int) -> None:
    """Seed the generators that a program may use; it may seed them again."""
    random.seed(value)
    torch.manual_seed(value)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:  # torch has imported it where it is installed
        numpy.random.seed(value)
