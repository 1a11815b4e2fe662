"""End a window that has reached a limit, and go on with the schedule as if it had been over."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from torch.profiler.profiler import ProfilerAction

from tb_privateuse1.capture.limits.limits import Limits, Unit
from tb_privateuse1.capture.thread_times import OWN
from tb_privateuse1.capture.warnings import CaptureWarning, Notes

_LOOK_S = 1.0


class WindowLimits:
    """The limits of a profiler's windows, and what they did to the last one."""

    def __init__(self, limits: Limits) -> None:
        self.stopped_by: Unit | None = None
        self._limits = limits
        self._schedule = LimitedSchedule(lambda _: ProfilerAction.NONE)
        self._recording = False
        self._has_steps = False
        self._first_step = 0
        self._watch: Watch | None = None

    def attach(self, prof: Any) -> None:
        """Give a constructed profiler a schedule whose windows can end before their time."""
        self._has_steps = prof.record_steps  # a schedule was given
        self._schedule = prof.schedule = LimitedSchedule(prof.schedule)

    def resume(self, prof: Any) -> None:
        """The profiler is started, maybe again after a window that ended at a limit."""
        if prof.current_action is ProfilerAction.NONE:
            prof.current_action = self._schedule.begin_again(prof.step_num)

    def start(self, prof: Any, notes: Notes) -> None:
        """A window begins."""
        self.stopped_by = None
        self._first_step = prof.step_num
        self._limits.start(stacks=prof.with_stack)
        self._recording = True
        if not self._has_steps:
            self._watch = Watch(self._limits, notes)
            self._watch.start()

    def end_step(self, prof: Any, notes: Notes) -> None:
        """A step ends, and the window with it if it is beyond a limit."""
        if not self._recording:
            return
        if self._watch is not None:
            self._watch.stop()  # this program has steps
        if prof.current_action is not ProfilerAction.RECORD:
            return  # the window ends here anyway
        reached = self._limits.reached()
        if reached is None:
            return
        self.stopped_by = reached.unit
        steps = prof.step_num + 1 - self._first_step
        notes.add(
            "limit-reached",
            f"the window was ended after {steps} {'step' if steps == 1 else 'steps'}, "
            f"because it {reached.what}",
        )
        prof.current_action = ProfilerAction.RECORD_AND_SAVE
        self._schedule.end_window()

    def stop(self) -> None:
        """The window is over."""
        self._recording = False
        if self._watch is not None:
            self._watch.stop()
            self._watch = None


class LimitedSchedule:
    """A schedule whose window can end before its time; the next one begins when it should."""

    def __init__(self, schedule: Callable[[int], ProfilerAction]) -> None:
        self._schedule = schedule
        self._over = False

    def __call__(self, step: int) -> ProfilerAction:
        """Return the action for ``step``."""
        action = self._schedule(step)
        if not self._over:
            return action
        self._over = action is ProfilerAction.RECORD
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            return ProfilerAction.NONE  # the rest of the window
        return action

    def end_window(self) -> None:
        """Let the step that ends now be the last one of its window."""
        self._over = True

    def begin_again(self, step: int) -> ProfilerAction:
        """Return the action for ``step``, whatever ended before."""
        self._over = False
        return self._schedule(step)


class Watch:
    """Warns while a window without steps is beyond a limit.

    Torch lets only the thread that started a recording end it, so no thread of ours can.
    """

    def __init__(self, limits: Limits, notes: Notes) -> None:
        self._limits = limits
        self._notes = notes
        self._ended = threading.Event()
        self.thread = threading.Thread(target=self._look, name=OWN + "limits", daemon=True)

    def start(self) -> None:
        """Look each second from here on."""
        self.thread.start()

    def stop(self) -> None:
        """The window is over, or it has steps."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            reached = self._limits.reached()
            if reached is None:
                continue
            self._notes.add(
                "limit-passed",
                f"the window goes on, though it {reached.what}: call prof.step() between the "
                "steps of the program, or end the recording. Only its own thread can end it",
            )
            with contextlib.suppress(CaptureWarning):  # an error that nobody could catch here
                self._notes.show()
            return
