"""Record a few steps of a running job into a hidden directory, and move the files to the logdir.

What is known only when the recording has ended goes into its trace as one more top-level key:
Kineto takes metadata only while it records.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.profiler.profiler import ProfilerAction

from tb_privateuse1.capture.guarded import profile
from tb_privateuse1.capture.output_files import TRACE, gzip_file, sidecar_path
from tb_privateuse1.capture.step_times import FACTS, SCHEMA, figures
from tb_privateuse1.capture.trace_handler import tensorboard_trace_handler


@dataclass(frozen=True)
class Plan:
    """The steps to record: ``steps`` from ``first`` on, counted from 0.

    It is made before step ``begin``; the steps before ``first`` warm the profiler up.
    """

    begin: int
    first: int
    steps: int

    @property
    def end(self) -> int:
        """The step behind the last one."""
        return self.first + self.steps

    def action(self, step: int) -> ProfilerAction:
        """Return what the profiler does in a step; it asks for 0 when it is made."""
        at = step or self.begin
        if at < self.first:
            return ProfilerAction.WARMUP
        if at >= self.end:
            return ProfilerAction.NONE
        last = at == self.end - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD


class Window:
    """A recording by ``plan`` into a directory of its own in ``folder``.

    ``options`` are those of ``capture.profile``.
    """

    def __init__(
        self, folder: Path, plan: Plan, options: Mapping[str, Any], worker_name: str | None = None
    ) -> None:
        self.trace: Path | None = None
        """Where the trace lies, with its sidecar beside it; None until it is written."""
        self.route: str | None = None
        self.stopped_by: str | None = None
        """The limit that ended it early."""
        self._options = options
        self._plan = plan
        self._now = plan.begin
        self._folder = folder / str(plan.begin)
        self._handler = tensorboard_trace_handler(str(self._folder), worker_name)
        self._writing: Callable[[], None] = lambda: None
        self._write_ns = 0
        self._since = 0
        self._times: list[int] = []
        self._prof: Any = None

    def facts(self) -> dict[str, Any]:
        """Return what was recorded, and what it cost."""
        return {
            "schema": SCHEMA,
            "first_step": self._plan.first,
            "steps": len(self._times),
            **figures("recorded", self._times),
            "write_ns": self._write_ns,
            "stopped_by": self.stopped_by,
        }

    def open(self, writing: Callable[[], None]) -> None:
        """Start the profiler; raises what torch raises.

        ``writing`` is called when the recording has ended, before the files are written.
        """
        self._writing = writing
        prof: Any = profile(schedule=self._plan.action, on_trace_ready=self._write, **self._options)
        # So that the steps in the trace have the numbers that the job counts.
        prof.step_num = self._plan.begin
        prof.__enter__()
        self._prof, self.route = prof, prof.route
        self._since = time.perf_counter_ns()

    def close_step(self) -> None:
        """End the range of the step, before anything else is done."""
        self._prof.close_step()

    def open_step(self) -> None:
        """Begin the range of the step, when everything else is done."""
        self._prof.open_step()

    def step(self) -> bool:
        """Tell that a step has ended; return whether the recording has ended, too."""
        now = time.perf_counter_ns()
        if self._now >= self._plan.first:
            self._times.append(now - self._since)
        self._now += 1
        if self._now >= self._plan.end:
            return True
        self._prof.advance()
        self._since = time.perf_counter_ns()
        return getattr(self._prof, "stopped_by", None) is not None

    def close(self) -> None:
        """End the recording now, and write what there is; raises OSError if nothing is."""
        prof, self._prof = self._prof, None
        try:
            if self._now >= self._plan.end:
                prof.step()
        finally:
            prof.__exit__(None, None, None)
        self.stopped_by = getattr(prof, "stopped_by", None)
        self.trace = next(iter(self._folder.glob(f"*{TRACE}")), None)
        if self.trace is None and self._times:
            notes = [f"[{code}] {text}" for code, text in prof.notes.found.items()]
            raise OSError("; ".join(notes[-1:]) or "the profiler wrote nothing")

    def abandon(self) -> None:
        """End the recording after a failure; never raises."""
        prof, self._prof = self._prof, None
        if prof is None:
            return
        # To write what was never recorded would be the end of the process.
        prof.on_trace_ready = None
        with contextlib.suppress(Exception):
            prof.__exit__(None, None, None)

    def _write(self, prof: Any) -> None:
        self._writing()  # not before: it would be a part of the last step that is recorded
        before = time.perf_counter_ns()
        self._handler(prof)
        self._write_ns = time.perf_counter_ns() - before


def publish(trace: Path, logdir: Path, facts: Mapping[str, Any], use_gzip: bool) -> Path:
    """Move a recording into the logdir, with ``facts`` in it; return the path of its trace.

    Raises OSError. The sidecar goes first, as a reader looks for traces.
    """
    _add_facts(trace, facts)
    sidecar = sidecar_path(trace)
    moved = logdir / (trace.name + (".gz" if use_gzip else ""))
    if sidecar.exists():
        os.replace(gzip_file(sidecar) if use_gzip else sidecar, sidecar_path(moved))
    os.replace(gzip_file(trace) if use_gzip else trace, moved)
    remove(trace)
    return moved


def remove(trace: Path) -> None:
    """Remove a recording that was not moved, or what is left of one that was."""
    shutil.rmtree(trace.parent, ignore_errors=True)


def _add_facts(trace: Path, facts: Mapping[str, Any]) -> None:
    """Add a key at the end of the trace's JSON object; another form is left as it is."""
    with trace.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - 64)
        file.seek(start)
        tail = file.read().rstrip()
        if not tail.endswith(b"}"):
            return
        file.seek(start + len(tail) - 1)
        file.write(f',"{FACTS}":{json.dumps(facts)}}}\n'.encode())
        file.truncate()
        os.fsync(file.fileno())
