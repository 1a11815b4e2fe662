"""Keep the last few short recordings of a job, to save them when something happens."""

from __future__ import annotations

import shutil
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb_privateuse1.capture.demand import window
from tb_privateuse1.capture.demand.watches import LossWatch, SlowSteps
from tb_privateuse1.capture.warnings import Notes

MOST_REASONS = 10
"""For which one job moves recordings into the logdir."""


@dataclass
class Ring:
    """The last ``size`` recordings of ``steps`` steps in ``folder``, one each ``every`` steps."""

    folder: Path
    size: int
    every: int
    steps: int
    notes: Notes
    slow: SlowSteps = field(default_factory=SlowSteps)
    _loss: LossWatch = field(init=False)
    _reasons: int = 0
    _recorded: deque[tuple[Path, dict[str, Any]]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._loss = LossWatch(self.notes)

    def is_due(self, count: int) -> bool:
        """Return whether to record now; all ranks do it at the same steps."""
        return count % self.every == 0

    def reason(self, step: int, duration_ns: int | None, loss: Any) -> dict[str, Any] | None:
        """Take a step that was not recorded; return why to keep the ring now, if there is a reason.

        ``duration_ns`` is None if it says nothing about the program.
        """
        usual_ns = self.slow.usual_ns
        is_slow = duration_ns is not None and self.slow.is_slow(duration_ns)
        lost = self._loss.lost(step, loss)
        if self._reasons >= MOST_REASONS or not (is_slow or lost is not None):
            return None
        self._reasons += 1
        if lost is not None:
            return {"kind": "loss", "step": lost}
        return {"kind": "slow_step", "step": step, "step_ns": duration_ns, "usual_ns": usual_ns}

    def add(self, trace: Path, facts: dict[str, Any]) -> None:
        """Add a recording; the oldest is removed if there are too many."""
        self._recorded.append((trace, facts))
        while len(self._recorded) > self.size:
            window.remove(self._recorded.popleft()[0])

    def take(self) -> list[tuple[Path, dict[str, Any]]]:
        """Return all recordings, and forget them."""
        taken = list(self._recorded)
        self._recorded.clear()
        return taken

    def close(self) -> None:
        """Remove what was not moved."""
        shutil.rmtree(self.folder, ignore_errors=True)
