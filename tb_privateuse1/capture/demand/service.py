"""Record a running job when somebody asks for it, or when one of its steps is slow."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from tb_privateuse1.capture import backend
from tb_privateuse1.capture.demand import files as demand_files
from tb_privateuse1.capture.demand import window
from tb_privateuse1.capture.demand.files import RefusedError, Request
from tb_privateuse1.capture.demand.inbox import Inbox
from tb_privateuse1.capture.demand.job_status import JobStatus, unavailable
from tb_privateuse1.capture.demand.ring import Ring
from tb_privateuse1.capture.demand.window import Plan, Window
from tb_privateuse1.capture.step_times import figures
from tb_privateuse1.capture.termination import termination
from tb_privateuse1.capture.trace_handler import default_worker_name
from tb_privateuse1.capture.warnings import Notes

_serving: list[on_demand] = []
"""The one of this process, if any: a process has one status file."""


class on_demand:
    """Record steps of a running job on demand::

        with capture.on_demand("./log") as job:
            for batch in batches:
                loss = train(batch)
                job.step(loss)

    The job announces itself in ``logdir``; ``tb-privateuse1 record`` and the dashboard ask it for
    recordings there. All ranks record the same steps. Until somebody asks, a step costs about a
    microsecond. ``docs/guide/on-demand.md`` explains it.

    ``ring``: record ``ring_steps`` steps each ``every`` steps, and keep the last ``ring`` of these
    recordings out of sight. They are moved into the logdir when a step is slow, when the loss that
    ``step`` is given is no longer finite, or when the program ends with an exception.

    ``options`` are those of ``capture.profile``. A request may ask for shapes, stacks and memory
    instead. Nothing that goes wrong reaches the training; it is a warning, or a text for those
    who asked.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        worker_name: str | None = None,
        use_gzip: bool = False,
        ring: int = 0,
        every: int = 100,
        ring_steps: int = 1,
        poll_s: float = 1.0,
        period_s: float = 10.0,
        **options: Any,
    ) -> None:
        if ring < 0 or ring_steps < 1 or every < ring_steps + 2:
            raise ValueError("ring must be 0 or more, every at least two more than ring_steps")
        self.count = 0
        """The number of steps so far."""
        self.notes = Notes()
        options.setdefault("record_shapes", True)
        self._options = options
        self._worker_name, self._use_gzip = worker_name, use_gzip
        self._logdir = Path(logdir).absolute()
        self._is_url = "://" in os.fspath(logdir)
        self._folder = self._logdir / demand_files.FOLDER
        self._hidden = self._folder / f"recordings-{default_worker_name()}"
        self._ring = Ring(self._hidden, ring, every, ring_steps, self.notes) if ring else None
        self._poll_ns, self._period_s = round(poll_s * 1e9), period_s
        self._pid: int | None = None
        self._thread: int | None = None
        self._since: int | None = None
        """When the step that runs began; None: its duration says nothing."""
        self._times: deque[int] = deque(maxlen=16)
        self._state, self._route = "ready", ""
        self._request: Request | None = None
        self._reason: dict[str, Any] | None = None
        """Why the next steps are recorded, without a request."""
        self._window: Window | None = None
        self._last: dict[str, Any] | None = None
        self._cut_short: str | None = None
        """What ended the program while a window was recorded."""

    def __enter__(self) -> on_demand:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, _: Any) -> None:
        if kind is not None and issubclass(kind, Exception) and self._is_serving():
            self._keep({"kind": "error", "step": self.count, "message": kind.__name__})
        self.stop()

    def start(self) -> None:
        """Announce the job; never raises."""
        if _serving and _serving[0]._pid == os.getpid():
            if _serving[0] is not self:
                self.notes.add("demand-twice", "this process serves recordings on demand already")
        else:
            _serving[:] = [self]
            self._pid, self._state, self._thread = os.getpid(), "ready", None
            self._inbox = Inbox(self._folder / demand_files.REQUEST, time.time_ns())
            self._next_look = time.perf_counter_ns() + self._poll_ns
            self._status = JobStatus(self._folder, self._facts, self._period_s, self.notes)
            self._prepare()
            self._status.start()
            termination.opened(self)
        self.notes.show()

    def step(self, loss: Any = None) -> None:
        """Tell that a step has ended; ``loss`` is a number or a tensor. Never raises."""
        now = time.perf_counter_ns()
        if not self._is_serving():
            return
        if self._window is not None:
            self._window.close_step()
        self.count += 1
        try:
            if self._window is None:
                self._wait(now, loss)
            else:
                with termination.postponed():
                    self._record(self._window, now)
        except Exception as error:
            self._failed(error)
        if len(self.notes.shown) < len(self.notes.found):
            self.notes.show()
        if self._window is not None:
            self._window.open_step()

    def stop(self) -> None:
        """Write a recording that runs, and tell that the job has ended; never raises."""
        if self._pid != os.getpid():
            return
        try:
            if self._window is not None and self._is_serving():
                self._finish(self._window)
        except Exception as error:
            self._failed(error)
        if self._ring is not None:
            self._ring.close()
        shutil.rmtree(self._hidden, ignore_errors=True)
        self._state, self._pid = "ended", None
        self._status.stop()
        termination.closed(self)
        _serving.clear()
        self.notes.show()

    def cut_short(self, reason: str) -> None:
        """Stop, because the process ends."""
        self._cut_short = reason
        self.stop()

    def _is_serving(self) -> bool:
        """Return whether this is the process that announced itself, and the thread of its steps.

        A forked worker has the object, too.
        """
        if self._pid != os.getpid():
            return False
        if self._thread is None:
            self._thread = threading.get_ident()
        return self._thread == threading.get_ident()

    def _wait(self, now: int, loss: Any) -> None:
        """A step is over outside of a recording."""
        duration = None if self._since is None else now - self._since
        self._since = now
        if duration is not None:
            self._times.append(duration)
        ring = self._ring
        if ring is not None:
            reason = ring.reason(self.count - 1, duration, loss)
            if reason is not None:
                with termination.postponed():
                    self._keep(reason)
                self._reason = reason
        is_due = ring is not None and ring.is_due(self.count)
        if is_due or now >= self._next_look:
            self._look()
        if is_due or self._reason is not None or self._inbox.waiting is not None:
            with termination.postponed():
                self._begin(is_due)

    def _look(self) -> None:
        """Look for a request, and say so if there is one."""
        try:
            if self._inbox.look(self.count):
                self._show("waiting" if self._inbox.waiting else "ready")
        except RefusedError as refused:
            self._last = _result(refused.id, error=str(refused))
            self._show("ready")
        now = time.perf_counter_ns()
        self._next_look = now + self._poll_ns
        if self._since is not None:
            self._since = now

    def _begin(self, is_due: bool) -> None:
        """Begin the recording whose turn it is; a request comes before all others."""
        taken = self._inbox.take(self.count)
        if taken is not None:
            self._request, first = taken
            asked = self._request
            self._open(first, asked.steps, asked)
            return
        ring_now = self._inbox.waiting is None and (is_due or self._reason is not None)
        if ring_now and self._ring is not None:
            self._open(self.count + 1, self._ring.steps, None)

    def _open(self, first: int, steps: int, asked: Request | None) -> None:
        options = {**self._options, **(asked.options() if asked else {})}
        plan = Plan(self.count, first, steps)
        self._window = Window(self._hidden, plan, options, self._worker_name)
        self._show("recording")
        if options.get("with_stack"):
            self._status.pause()
        self._window.open(lambda: self._show("writing"))

    def _record(self, running: Window, now: int) -> None:
        """A step of a recording is over."""
        self._status.refresh()
        if running.step():
            self._finish(running)
        elif self._request is None and now >= self._next_look:
            self._look()
            if self._inbox.waiting is not None:
                self._finish(running)

    def _finish(self, running: Window) -> None:
        """End a recording, and bring its files where they belong."""
        running.close()
        self._window, self._since = None, None
        self._route = running.route or self._route
        facts = {
            **running.facts(),
            **figures("usual", self._times),
            "cut_short": self._cut_short,
        }
        request, self._request = self._request, None
        reason, self._reason = self._reason, None
        if request is None and reason is None and self._ring is not None and running.trace:
            self._ring.add(running.trace, facts)
        elif running.trace is not None:
            facts |= {"request": request and request.id, "by": request and request.by}
            name = self._publish(running.trace, {**facts, "reason": reason})
            if request is not None:
                self._last = _result(request.id, name, facts=facts)
        elif request is not None:
            self._last = _result(request.id, error="the job ended before the first step to record")
        self._status.resume()
        self._show("ready")

    def _publish(self, trace: Path, facts: dict[str, Any]) -> str:
        return window.publish(trace, self._logdir, facts, self._use_gzip).name

    def _keep(self, reason: dict[str, Any]) -> None:
        """Move the recordings of the ring into the logdir."""
        try:
            for trace, facts in self._ring.take() if self._ring is not None else ():
                self._publish(trace, {**facts, "reason": reason})
        except OSError as error:
            self._ring_failed(error)

    def _failed(self, error: Exception) -> None:
        """Give up what was being done, and go on."""
        running, self._window, self._since = self._window, None, None
        text = f"{type(error).__name__}: {error}"
        request, self._request, self._reason = self._request, None, None
        if request is None and self._ring is not None:
            self._ring_failed(error)
        else:
            self.notes.renew("demand-failed", f"steps were not recorded on demand: {text}")
        if running is not None:
            running.abandon()
        self._last = _result(request.id, error=text) if request else self._last
        self._status.resume()
        self._show("ready")

    def _ring_failed(self, error: Exception) -> None:
        if self._ring is not None:
            self._ring.close()
        self._ring = None
        self.notes.add(
            "ring-failed", f"the ring has ended, recording failed: {type(error).__name__}: {error}"
        )

    def _prepare(self) -> None:
        """Make the logdir; the rest is made when it is needed."""
        try:
            if self._is_url:
                raise OSError("a job writes into local directories only")
            self._logdir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.notes.add(*unavailable(self._folder, error))

    def _show(self, state: str) -> None:
        self._state = state
        self._status.write()

    def _facts(self) -> dict[str, Any]:
        """Return the content of the status file; also called by its thread."""
        rank, world_size = backend.rank_and_world_size()
        name = backend.backend_name()
        waiting = self._request or self._inbox.waiting
        return {
            "schema": demand_files.JOB_SCHEMA,
            "worker": self._worker_name or default_worker_name(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "rank": rank,
            "world_size": world_size,
            "backend": None if name == backend.UNNAMED else name,
            "route": self._route or None,
            "state": self._state,
            "step": self.count,
            "step_ns": figures("usual", self._times)["usual_ns"],
            "request": waiting.id if waiting else None,
            "last": self._last,
        }


def _result(
    id: str | None, trace: str | None = None, error: str | None = None, facts: Any = None
) -> dict[str, Any]:
    """Return what the status says about the last request."""
    known = facts or {}
    times = ("usual_ns", "recorded_ns", "write_ns")
    return {
        "id": id,
        "trace": trace,
        "error": error,
        "steps": known.get("steps", 0),
        "stopped_by": known.get("stopped_by"),
        "overhead": {key: known[key] for key in times if key in known},
    }
