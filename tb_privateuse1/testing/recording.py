"""Record the steps of a test: several runs of some steps each; without a budget nothing."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_privateuse1.testing.budget import Budget, BudgetError

if TYPE_CHECKING:
    from tb_privateuse1.testing.judgment import Judgment


class ProfileBudget:
    """Record the steps of a test: the value of the fixture ``profile_budget``.

    ``for _ in profile_budget.steps(): train_step()`` runs as many steps as the budget needs.
    ``with profile_budget.step(): ...`` is a single one, in a loop of the test's own. Without
    ``--profile-budget``, nothing is recorded and ``steps()`` is a single step.
    """

    def __init__(self, budget: Budget, folder: Path | None) -> None:
        self.budget = budget
        self.folder = folder
        """Where the traces are; None if nothing is recorded."""
        self.judgment: Judgment | None = None
        """Set by the plugin as the test ends."""
        self.line_trace: Path | None = None
        self._done = 0
        self._profiler: Any = None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)

    @property
    def traces(self) -> list[Path]:
        """Return the folder of each run. Raises BudgetError before the last one is complete."""
        if self.folder is None:
            return []
        wanted = self.budget.runs * self.budget.steps
        if self._done < wanted:
            budget = self.budget
            raise BudgetError(
                f"the test made {self._done} steps, and its budget needs {wanted}: {budget.runs} "
                f"runs of {budget.warmup} + 1 to warm up and {budget.repeat} to record. "
                "Use: for _ in profile_budget.steps()"
            )
        return [self._folder_of(run) for run in range(self.budget.runs)]

    def steps(self) -> Iterator[int]:
        """Yield the number of each step to run."""
        if self.folder is None:
            yield 0
            return
        for number in range(self.budget.runs * self.budget.steps):
            with self.step():
                yield number
        yield from self._lines()

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Run one step within; those beyond the needed ones are not recorded."""
        run, place = divmod(self._done, self.budget.steps)
        is_recorded = self.folder is not None and run < self.budget.runs
        if is_recorded and place == self.budget.warmup:
            self._start(self._folder_of(run), self.budget.stacks)
        try:
            yield
        except BaseException:
            self._stop()
            raise
        self._done += 1
        self._mark(place == self.budget.steps - 1)

    def _folder_of(self, run: int) -> Path:
        assert self.folder is not None
        return self.folder / f"run-{run}"

    def _lines(self) -> Iterator[int]:
        """Run once more with stacks if the budget is exceeded, so that operators have lines."""
        from tb_privateuse1.testing.judgment import exceeds

        if self.budget.stacks or not exceeds(self.traces, self.budget):
            return
        assert self.folder is not None
        self.line_trace = self.folder / "with-stacks"
        self._start(self.line_trace, stacks=True)
        for number in range(_STEPS_WITH_STACKS + 1):
            yield number
            self._mark(number == _STEPS_WITH_STACKS)

    def _start(self, folder: Path, stacks: bool) -> None:
        import torch

        from tb_privateuse1 import capture

        active = _STEPS_WITH_STACKS if stacks and not self.budget.stacks else self.budget.repeat
        self._profiler = capture.profile(
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=active, repeat=1),
            on_trace_ready=capture.tensorboard_trace_handler(str(folder), worker_name="test"),
            record_shapes=True,
            profile_memory=True,
            with_stack=stacks,
        )
        self._profiler.start()

    def _mark(self, is_last: bool) -> None:
        if self._profiler is not None:
            self._profiler.step()
            if is_last:
                self._stop()

    def _stop(self) -> None:
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            profiler.stop()


_STEPS_WITH_STACKS = 3
