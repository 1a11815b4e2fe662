"""Totals of pages are those of a computation of its own: plain SQL, or the tool's own tables."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.counters import counters
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.runtime import runtime
from tests.support import ascend, every_format, nsight, rocprof
from tests.support.ascend import edited

Totals = dict[str, tuple[int, int]]
"""Calls and ns by name."""


def trace_of(*paths: Path) -> Trace:
    raw = readers.complete(readers.read(str(paths[0])), [str(path) for path in paths[1:]])
    return inference.build_trace(raw, None)


def sql(path: Path, query: str) -> list[Any]:
    with edited(path) as connection:
        return connection.execute(query).fetchall()


def totals(rows: list[tuple[str, int, int]]) -> Totals:
    return {name: (calls, ns) for name, calls, ns in rows}


def of_kernels(trace: Trace) -> Totals:
    """By full name, over all operators."""
    calls: Counter[str] = Counter()
    ns: Counter[str] = Counter()
    for row in kernels(trace, limit=1000).rows:
        calls[row.full_name] += row.calls
        ns[row.full_name] += row.total_ns
    return {name: (calls[name], ns[name]) for name in calls}


def of_calls(trace: Trace) -> Totals:
    return {row.name: (row.calls, row.total_ns) for row in runtime(trace).rows}


def test_ascend_database_by_sql(tmp_path: Path) -> None:
    """As ``op_statistic`` and ``api_statistic`` sum up: kernels by name, calls by name."""
    path = ascend.Program(steps=7).database(tmp_path / "a.db")
    trace = trace_of(path)
    expected = sql(
        path,
        "SELECT s.value, count(*), sum(t.endNs - t.startNs) FROM TASK t "
        "JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId "
        "JOIN STRING_IDS s ON s.id = c.name GROUP BY s.value",
    ) + sql(
        path,
        "SELECT s.value, count(*), sum(o.endNs - o.startNs) FROM COMMUNICATION_OP o "
        "JOIN STRING_IDS s ON s.id = o.opName GROUP BY s.value",
    )
    found = of_kernels(trace)
    assert {name: found[name] for name, *_ in expected} == totals(expected)
    assert set(found) - {name for name, *_ in expected} == {"MEMCPY_ASYNC"}
    calls = sql(
        path,
        "SELECT s.value, count(*), sum(c.endNs - c.startNs) FROM CANN_API c "
        "JOIN STRING_IDS s ON s.id = c.name GROUP BY s.value",
    )
    assert {n.partition("@")[2]: v for n, v in of_calls(trace).items()} == totals(calls)


def test_ascend_memory_by_sql(tmp_path: Path) -> None:
    path = ascend.Program(steps=7).database(tmp_path / "a.db")
    ((size,),) = sql(path, "SELECT sum(size) FROM OP_MEMORY")
    window = memory(trace_of(path)).window
    assert window is not None
    assert window.allocated_bytes == size


@pytest.mark.parametrize("forms", [("db", "csv"), ("json", "csv")])
def test_ascend_folder_by_its_tables(tmp_path: Path, forms: tuple[str, ...]) -> None:
    """Kernels by ``kernel_details.csv``, per unit, to the table's 1 ns; memory by its table."""
    folder = ascend.Program(steps=7).folder(tmp_path, forms=forms) / "ASCEND_PROFILER_OUTPUT"
    first = next(p for p in folder.iterdir() if p.suffix in (".db", ".json"))
    trace = trace_of(first, *folder.glob("*.csv"))
    with (folder / "kernel_details.csv").open() as file:
        rows = list(csv.DictReader(file))
    expected: Counter[str] = Counter()
    for row in rows:
        expected[row["Name"]] += round(float(row["Duration(us)"]) * 1000)
    found = of_kernels(trace)
    assert {name: found[name][1] for name in expected} == expected
    with (folder / "operator_memory.csv").open() as file:
        size = sum(float(row["Size(KB)"]) * 1024 for row in csv.DictReader(file))
    window = memory(trace).window
    assert window is not None
    assert window.allocated_bytes == size


def test_nsight_by_the_queries_of_nsys_stats(tmp_path: Path) -> None:
    """``cuda_gpu_kern_sum``, ``cuda_gpu_mem_time_sum`` and ``cuda_api_sum`` of ``nsys stats``."""
    path = nsight.Program(steps=7).database(tmp_path / "a.sqlite")
    trace = trace_of(path)
    found = of_kernels(trace)
    expected = totals(sql(
        path,
        "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value",
    ))  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    for table, beginning in (("MEMCPY", "Memcpy"), ("MEMSET", "Memset")):
        ((calls, ns),) = sql(
            path, f"SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_{table}"
        )
        own = [value for name, value in found.items() if name.startswith(beginning)]
        assert (sum(n for n, _ in own), sum(t for _, t in own)) == (calls, ns)
    calls = totals(sql(
        path,
        "SELECT s.value, count(*), sum(r.end - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
        "JOIN StringIds s ON s.id = r.nameId GROUP BY s.value",
    ))  # fmt: skip
    assert of_calls(trace) == {name.partition("_v")[0]: value for name, value in calls.items()}
    metrics = dict(sql(
        path,
        "SELECT i.metricName, sum(value) FROM GPU_METRICS g JOIN TARGET_INFO_GPU_METRICS i "
        "ON i.metricId = g.metricId GROUP BY i.metricName",
    ))  # fmt: skip
    sums: Counter[str] = Counter()
    for series, value in zip(
        trace.counter_samples.series, trace.counter_samples.value, strict=True
    ):
        sums[trace.text(trace.counter_series.name[series])] += int(value)
    assert sums == metrics


@pytest.mark.parametrize("version", [3, 4])
def test_rocprof_by_sql(tmp_path: Path, version: int) -> None:
    """As the view ``top_kernels`` of the file sums up."""
    path = rocprof.Program(steps=7, version=version).database(tmp_path / "1_results.db", ending="")
    times = (
        "k.end - k.start FROM rocpd_kernel_dispatch k"
        if version == 3
        else "e.value - b.value FROM rocpd_kernel_dispatch k "
        "JOIN rocpd_timestamp b ON b.id = k.start_id JOIN rocpd_timestamp e ON e.id = k.end_id"
    )
    expression, _, source = times.partition(" FROM ")
    expected = totals(sql(
        path,
        f"SELECT s.display_name, count(*), sum({expression}) FROM {source} "
        "JOIN rocpd_info_kernel_symbol s ON s.id = k.kernel_id GROUP BY s.display_name",
    ))  # fmt: skip
    found = of_kernels(trace_of(path))
    assert {name: found[name] for name in expected} == expected


def test_counters_by_plain_loops(tmp_path: Path) -> None:
    every_format.RUNS["chrome"](tmp_path / "run")
    (path,) = (tmp_path / "run").iterdir()
    values = [e["args"]["W"] for e in every_format.events() if e["ph"] == "C"]
    (row,) = counters(trace_of(path)).rows
    assert (row.values, row.min, row.max) == (len(values), min(values), max(values))
    samples = trace_of(path).counter_samples.value
    assert math.fsum(samples.tolist()) == sum(values)
