"""Read the performance budget of a test from its marker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class BudgetError(Exception):
    """A marker that is wrong, or steps that are missing, in words for the user."""


@dataclass(frozen=True)  # no Struct: each run of pytest imports this, and needs no msgspec
class Budget:
    """The arguments of ``@pytest.mark.profile_budget``; times and sizes have a unit."""

    step: str | None = None
    """The most that the median step may take, such as ``12 ms``."""
    device_time: str | None = None
    """The most device time of a step."""
    memory: str | None = None
    """The most memory within a step, such as ``500 MB``."""
    launches: int | None = None
    """The most device activities of a step."""
    synchronizations: int | None = None
    """The most waits for the device in a step."""
    baseline: str | None = None
    """A baseline file to compare with, from pytest's root directory."""
    name: str | None = None
    """The workload's name in it; the test's id by default."""
    limit: str = "5%"
    """How much longer a step, its device time and its memory may be than in the baseline."""
    runs: int = 3
    repeat: int = 10
    """The recorded steps of a run."""
    warmup: int = 3
    """The steps before each run that are not recorded."""
    stacks: bool = False
    """Record Python stacks in every run, which takes time."""

    @property
    def steps(self) -> int:
        """Return how many steps a run has; torch's profiler warms up in one of them."""
        return self.warmup + 1 + self.repeat


def read_budget(arguments: Mapping[str, Any]) -> Budget:
    """Return the budget of a marker's arguments. Raises BudgetError."""
    known = dict(Budget.__annotations__)
    if unknown := sorted(set(arguments) - set(known)):
        raise BudgetError(
            f"profile_budget has no argument {unknown[0]}. It has: {', '.join(known)}."
        )
    for name, value in arguments.items():
        wanted = str if known[name].startswith("str") else bool if known[name] == "bool" else int
        if value is not None and type(value) is not wanted:
            raise BudgetError(f"profile_budget: {name} must be {wanted.__name__}, not {value!r}")
    budget = Budget(**arguments)
    if min(budget.runs, budget.repeat) < 1 or budget.warmup < 0:
        raise BudgetError("profile_budget: runs and repeat must be at least 1, warmup at least 0")
    return budget
