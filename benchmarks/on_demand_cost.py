"""What a job pays for being asked: time per step, and false alarms of slow steps.

``python -m benchmarks.on_demand_cost [steps]`` prints the two tables of docs/guide/on-demand.md.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tb_privateuse1 import capture
from tb_privateuse1.capture.demand.watches import SlowSteps

RUNS = 7
ALARM_STEPS, ALARM_RUNS = 10_000, 20
Draw = Callable[[np.random.Generator, int], np.ndarray]

DISTRIBUTIONS: dict[str, Draw] = {
    "normal, 2.5 %": lambda r, n: r.normal(120, 3, n),
    "normal, 15 %": lambda r, n: r.normal(120, 18, n).clip(1),
    "lognormal, 30 %": lambda r, n: 120 * r.lognormal(0, 0.3, n),
    "two modes, one step in ten is longer": lambda r, n: r.normal(
        np.where(r.random(n) < 0.1, 200, 120), 5
    ),
    "exponential above a constant": lambda r, n: 100 + r.exponential(20, n),
    "Student's t, 3 degrees of freedom": lambda r, n: (120 + 5 * r.standard_t(3, n)).clip(1),
    "Pareto, exponent 3": lambda r, n: 100 * (1 + r.pareto(3, n)),
    "checkpoint each 1,000 steps": lambda r, n: r.normal(
        np.where(np.arange(n) % 1000 == 999, 2000, 120), 3
    ),
}


def step_ns(steps: int, loss: Any = None, **options: Any) -> float:
    """Return the median over runs of the time of one ``step``."""
    times = []
    with tempfile.TemporaryDirectory() as logdir:
        for _ in range(RUNS):
            with capture.on_demand(logdir, **options) as job:
                begin = time.perf_counter_ns()
                for _ in range(steps):
                    job.step(loss)
                times.append((time.perf_counter_ns() - begin) / steps)
    return statistics.median(times)


def look_ns(steps: int) -> float:
    """Return the time of a step that looks for a request."""
    return step_ns(steps, poll_s=0)


def alarms(draw: Draw) -> tuple[int, int]:
    """Return the slow steps of runs in which nothing happens, and the number of runs with one."""
    counts = []
    for seed in range(ALARM_RUNS):
        slow = SlowSteps()
        durations = draw(np.random.default_rng(seed), ALARM_STEPS) * 1e6
        counts.append(sum(slow.is_slow(round(ns)) for ns in durations))
    return sum(counts), sum(count > 0 for count in counts)


def main() -> None:
    """Print both tables."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    ring = {"ring": 2, "every": 10 * steps}
    rows = {
        "nobody asks": step_ns(steps),
        "a step that looks for a request": look_ns(steps),
        "with a ring": step_ns(steps, **ring),
        "with a ring and a loss, a number": step_ns(steps, 1.0, **ring),
        "with a ring and a loss, a tensor of the host": step_ns(steps, torch.tensor(1.0), **ring),
    }
    for name, ns in rows.items():
        print(f"| {name} | {ns / 1000:.2f} |")
    for name, draw in DISTRIBUTIONS.items():
        total, runs = alarms(draw)
        print(
            f"| {name} | {total / (ALARM_STEPS * ALARM_RUNS / 1e6):,.0f} | {runs} of {ALARM_RUNS} |"
        )


if __name__ == "__main__":
    main()
