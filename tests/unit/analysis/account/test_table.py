"""The account of a window: classes, names, largest intervals, and what is missing."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.account.idle_by_operator import awaited_operators
from tb_privateuse1.analysis.account.table import (
    Account,
    ClassTime,
    account_table,
    has_account,
    step_accounts,
)
from tb_privateuse1.trace.model import Trace
from tests.support.make import frame, kernel, launch, op, span, step, trace


def account(t: Trace, start_us: int, end_us: int, device: int | None = None) -> Account:
    window = (np.array([start_us * 1000]), np.array([end_us * 1000]))
    return account_table(t, window, device)


def one(whole: Account, name: str) -> ClassTime:
    return next(c for c in whole.classes if c.name == name)


def test_a_blocking_copy_is_named_with_its_function() -> None:
    """The class has the call, its thread and the function of the program."""
    t = trace(
        frame("serve.py(3): main", 0, 1000), frame("serve.py(29): copy", 10, 990),
        op("aten::copy_", 15, 985),
        span("hip_runtime", "hipMemcpyWithStream", 20, 980, correlation=1),
        kernel("Memcpy DtoH", 970, 975, 1, category="gpu_memcpy"),
    )  # fmt: skip
    whole = account(t, 0, 1000)
    copy = one(whole, "blocking_copy")
    assert (copy.group, copy.ns, copy.bound_ns, copy.stretches) == ("blocked", 955_000, 0, 2)
    assert copy.share == 0.955
    assert [(p.name, p.ns) for p in copy.parts] == [("hipMemcpyWithStream", 955_000)]
    longest = copy.largest[0]
    assert (longest.start_ns, longest.duration_ns) == (20_000, 950_000)
    assert (longest.table, longest.row) == ("launches", 0)
    assert str(longest.where) == "copy (serve.py)"
    assert sum(c.ns for c in whole.classes) == whole.window_ns == 1_000_000


def test_python_is_named_by_its_innermost_frames() -> None:
    """The time of Python is that of the frames themselves."""
    t = trace(
        frame("train.py(1): main", 0, 100), frame("train.py(7): prepare", 10, 70),
        op("aten::mm", 80, 95), launch(90, 91, 1), kernel("k", 92, 100, 1),
    )  # fmt: skip
    python = one(account(t, 0, 100), "python")
    assert [(p.name, p.ns) for p in python.parts] == [
        ("prepare (train.py)", 60_000), ("main (train.py)", 20_000)
    ]  # fmt: skip
    assert [(one.name, one.table) for one in python.largest[:1]] == [
        ("train.py(7): prepare", "frames")
    ]


def test_frames_that_overlap_share_their_time() -> None:
    """A file may have a call twice, with other times (fuzz: trace 2867 of seed 22)."""
    t = trace(
        frame("train.py(1): main", 0, 60), frame("train.py(1): main", 10, 80),
        frame("train.py(7): prepare", 20, 50), frame("train.py(7): prepare", 40, 75),
        op("aten::mm", 85, 95), launch(90, 91, 1), kernel("k", 92, 100, 1),
    )  # fmt: skip
    python = one(account(t, 0, 100), "python")
    assert 50_000 <= sum(p.ns for p in python.parts) <= 80_000 <= python.ns


def test_kernels_are_named_by_their_kind_of_work() -> None:
    """Kernels are grouped by the kind of work of their operators."""
    t = trace(
        op("aten::mm", 0, 10), launch(1, 2, 1), kernel("a", 10, 40, 1),
        op("aten::add", 11, 20), launch(12, 13, 2), kernel("b", 40, 50, 2),
    )  # fmt: skip
    parts = one(account(t, 10, 50), "kernel").parts
    assert [(p.name, p.ns, p.share) for p in parts] == [
        ("gemm", 30_000, 0.75), ("elementwise", 10_000, 0.25)
    ]  # fmt: skip


def test_without_details_only_names_and_intervals_are_missing() -> None:
    """The longest of many intervals come by length, equal ones by start."""
    many = [launch(100 * i, 100 * i + 1, i + 1) for i in range(12)]
    t = trace(
        op("aten::mm", 0, 1300), *many,
        *[kernel("k", 100 * i + 50, 100 * i + 60 + i // 2, i + 1) for i in range(12)],
    )  # fmt: skip
    window = (np.array([0]), np.array([1_300_000]))
    whole, brief = account_table(t, window), account_table(t, window, detailed=False)
    assert all(not c.parts and not c.largest for c in brief.classes)
    bare = [replace(c, parts=(), largest=()) for c in whole.classes]
    assert replace(whole, classes=tuple(bare)) == brief
    assert [s.duration_ns for s in one(whole, "kernel").largest] == [15000] * 2 + [14000] * 2 + [
        13000
    ]
    assert [s.start_ns // 1000 for s in one(whole, "kernel").largest] == [1050, 1150, 850, 950, 650]


def test_a_window_cuts_intervals() -> None:
    """Only the part of an interval inside the window counts."""
    t = trace(op("aten::mm", 0, 50), launch(40, 41, 1), kernel("k", 50, 90, 1))
    whole = account(t, 45, 60)
    assert {c.name: c.ns for c in whole.classes} == {"kernel": 10_000, "launch_latency": 5_000}
    assert one(whole, "kernel").largest[0].start_ns == 50_000
    assert whole.idle_ns == 5_000


def test_steps_have_accounts_that_sum_to_them() -> None:
    """Each step has its classes."""
    t = trace(
        step(1, 0, 100), step(2, 100, 200), op("aten::mm", 10, 30), launch(20, 21, 1),
        kernel("k", 25, 75, 1), op("aten::mm", 110, 130), launch(120, 121, 2),
        kernel("k", 125, 175, 2),
    )  # fmt: skip
    rows = step_accounts(t, slice(None))
    assert [row.name for row in rows] == ["ProfilerStep#1", "ProfilerStep#2"]
    assert [sum(c.ns for c in row.classes) for row in rows] == [100_000, 100_000]
    assert [(row.idle_ns, row.idle_bound_ns) for row in rows] == [(50_000, 0)] * 2


def test_what_is_missing_is_said() -> None:
    """A class whose reason is not recorded has a sentence."""
    t = trace(op("a", 0, 10), kernel("k", 50, 100), launch(0, 1, 7))
    assert "before activities without a recorded launch" in " ".join(account(t, 0, 100).missing)
    t = trace(
        op("aten::mm", 0, 10), launch(1, 2, 1), kernel("k", 3, 8, 1), op("aten::mm", 90, 100),
        launch(91, 92, 2), kernel("k", 93, 100, 2),
    )  # fmt: skip
    (text,) = account(t, 0, 100).missing
    assert "with_stack=True" in text
    assert account(trace(op("aten::mm", 0, 10)), 0, 10).missing == ()


def test_no_account_without_device_times_of_a_device() -> None:
    """A device whose times are not recorded has none; a program without a device has one."""
    t = trace(op("aten::mm", 0, 10))
    assert has_account(t)
    assert not has_account(replace(t, meta=replace(t.meta, backend="npu")))
    assert account(Trace(), 0, 0).classes == ()


def test_idle_time_by_awaited_operator() -> None:
    """Idle time is listed by the operator that ends it."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1),
        op("a", 10, 20), launch(12, 13, 2), kernel("k", 15, 20, 2),
        op("b", 20, 40), launch(22, 23, 3), kernel("k", 35, 36, 3),
        op("b", 36, 50), launch(42, 43, 4), kernel("k", 45, 46, 4),
    )  # fmt: skip
    rows = awaited_operators(t, (np.array([1000]), np.array([46_000])))
    assert [(r.name, r.gaps, r.idle_ns, r.longest_start_ns) for r in rows] == [
        ("b", 2, 24_000, 20_000), ("a", 1, 5_000, 10_000)
    ]  # fmt: skip
    assert sum(r.share for r in rows) == 1.0
