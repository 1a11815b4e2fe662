"""Processor time of each test, and by file: ``pytest -p tests.support.test_costs``, then run this.

Each worker appends a line per test to ``build/test-costs``: its own processor time and that of the
child processes that ended meanwhile, in seconds. A server that several tests share counts for the
test in which it ends. ``python -m tests.support.test_costs`` prints the sums by file and the
slowest tests.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path("build/test-costs")


def _processor_s() -> float:
    """Return the processor time of this process and its ended children, in seconds."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write down what a test took, its fixtures included."""
    cpu, wall = _processor_s(), time.perf_counter()
    try:
        return (yield)
    finally:
        row = [item.nodeid, _processor_s() - cpu, time.perf_counter() - wall]
        FOLDER.mkdir(parents=True, exist_ok=True)
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        with (FOLDER / f"{worker}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")


def report(slowest: int) -> None:
    """Print processor seconds, wall seconds and number of tests by file, then the slowest tests."""
    rows = [json.loads(line) for part in FOLDER.glob("*.jsonl") for line in part.open()]
    cpu: Counter[str] = Counter()
    wall: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for name, cpu_s, wall_s in rows:
        file = name.partition("::")[0]
        cpu[file] += cpu_s
        wall[file] += wall_s
        tests[file] += 1
    print(f"{'cpu s':>8} {'wall s':>8} {'tests':>6}")
    print(f"{sum(cpu.values()):8.1f} {sum(wall.values()):8.1f} {len(rows):6} all")
    for file, seconds in cpu.most_common():
        print(f"{seconds:8.1f} {wall[file]:8.1f} {tests[file]:6} {file}")
    print()
    for name, cpu_s, wall_s in sorted(rows, key=lambda row: -row[1])[:slowest]:
        print(f"{cpu_s:8.1f} {wall_s:8.1f} {name}")


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
