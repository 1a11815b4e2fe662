"""How long all rules take on a million events: ``python -m benchmarks.advice_speed TRACE…``.

A real trace is laid end to end until it has as many events; its strings stay as they are.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import TABLES, Trace

EVENTS = 1_000_000

_COUNTED = ("ops", "frames", "launches", "kernels", "memory")
_ONCE = ("threads", "lanes", "checkpoints")
_TIMES = ("start_ns", "end_ns", "ts_ns", "host_start_ns", "host_end_ns")
_COUNTS = ("external_id", "correlation", "sequence")
"""Numbers that a profiler counts up: in a longer recording they do not come again, or it is taken
for two joined ones, and no rule is asked of these."""
_ROWS = {"op": "ops", "frame": "frames", "launch": "launches", "step": "steps", "kernel": "kernels"}


def size(trace: Trace) -> int:
    """How many events a trace has."""
    return sum(len(getattr(trace, name)) for name in _COUNTED)


def repeated(trace: Trace, times: int) -> Trace:
    """The trace so many times, one after the other."""
    tables: dict[str, Any] = {}
    counted = {column: 1 + _highest(trace, column) for column in _COUNTS}
    for name, kind in TABLES.items():
        table = getattr(trace, name)
        columns = {}
        for column, values in table.columns():
            copies = 1 if name in _ONCE else times
            number = np.repeat(np.arange(copies), len(values))
            many = np.tile(values, copies)
            if column in _TIMES and name not in _ONCE:
                many = many + number * trace.end_ns
            elif column in counted:
                many = np.where(many > 0, many + number * counted[column], many)
            elif of := name if column == "parent" else _ROWS.get(column):
                rows = len(getattr(trace, of))
                many = np.where(many >= 0, many + number * rows, many)
            columns[column] = many.astype(values.dtype)
        tables[name] = kind(**columns)
    return replace(trace, end_ns=trace.end_ns * times, **tables)


def _highest(trace: Trace, column: str) -> int:
    """Return the highest number in a column of all tables that have it."""
    tables = (dict(getattr(trace, name).columns()) for name in TABLES)
    return max(int(one[column].max(initial=0)) for one in tables if column in one)


def main(paths: list[str]) -> None:
    """Print the time of all rules, and of the slowest ones."""
    for path in paths:
        one = Store(jobs=0).trace(catalog.scan(path, READERS).find())
        trace = repeated(one, max(1, EVENTS // size(one)))
        began_s = time.perf_counter()
        advise(trace)
        print(f"{path}: {size(trace):,} events, {time.perf_counter() - began_s:.2f} s")
        case, spent = RuleContext(trace), []
        for rule in RULES.values():
            began_s = time.perf_counter()
            if case.has.issuperset(rule.needs):
                list(rule.check(case))
            spent.append((time.perf_counter() - began_s, rule.name))
        slowest = sorted(spent, reverse=True)[:5]
        print("  " + ", ".join(f"{name} {1000 * s:.0f} ms" for s, name in slowest))


if __name__ == "__main__":
    main(sys.argv[1:])
