"""The flame graph's call tree: merging, self time, pruning, roots."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.flame import Flame, flame
from tests.support.make import annotation, frame, kernel, launch, op, step, trace


def paths(result: Flame) -> dict[str, tuple[int, int, int]]:
    """Calls, total and self in us by path."""
    found: dict[str, tuple[int, int, int]] = {}
    names: list[str] = []
    for row in result.rows:
        path = row.name if row.parent is None else f"{names[row.parent]};{row.name}"
        names.append(path)
        assert row.total_ns % 1000 == row.self_ns % 1000 == 0
        found[path] = (row.calls, row.total_ns // 1000, row.self_ns // 1000)
    return found


def closes(result: Flame) -> bool:
    """Whether each row is the sum of its own time, the rows inside and what was merged."""
    inside = [0] * len(result.rows)
    outermost = 0
    for row in result.rows:
        if row.parent is None:
            outermost += row.total_ns
        else:
            inside[row.parent] += row.total_ns
    rows = zip(result.rows, inside, strict=True)
    return outermost + result.merged_ns == result.total_ns and all(
        r.total_ns == r.self_ns + r.merged_ns + n for r, n in rows
    )


def program() -> Trace:
    """Two steps of the same: a frame, a module in it, operators in that, and a kernel."""
    events = []
    for n, at in ((1, 0), (2, 200)):
        events += [
            step(n, at, at + 100),
            frame("a.py(1): f", at + 10, at + 90),
            frame(f"nn.Module: Linear_{n}", at + 20, at + 80),
            op("aten::linear", at + 30, at + 70), op("aten::mm", at + 40, at + 60),
            launch(at + 45, at + 46, n), kernel("gemm", at + 50, at + 75, n),
        ]  # fmt: skip
    return trace(*events, kernel("stray", 500, 505, 99))


def test_by_host_time_steps_are_merged() -> None:
    result = flame(program(), by="host", group="class")
    assert paths(result) == {
        "a.py(1): f": (2, 160, 40),
        "a.py(1): f;Linear": (2, 120, 40),
        "a.py(1): f;Linear;aten::linear": (2, 80, 40),
        "a.py(1): f;Linear;aten::linear;aten::mm": (2, 40, 40),
    }
    assert [r.kind for r in result.rows] == ["frame", "module", "operator", "operator"]
    assert (result.total_ns, result.nodes) == (160_000, 4)
    assert result.has_frames
    assert result.has_modules
    assert closes(result)


def test_by_device_time_kernels_are_the_leaves() -> None:
    result = flame(program(), group="class", window="all")
    assert result.by == "device"
    assert paths(result) == {
        "a.py(1): f": (2, 50, 0),
        "a.py(1): f;Linear": (2, 50, 0),
        "a.py(1): f;Linear;aten::linear": (2, 50, 0),
        "a.py(1): f;Linear;aten::linear;aten::mm": (2, 50, 0),
        "a.py(1): f;Linear;aten::linear;aten::mm;gemm": (2, 50, 50),
        "no parent operator": (1, 5, 0),
        "no parent operator;stray": (1, 5, 5),
    }
    assert [r.kind for r in result.rows][-3:] == ["kernel", "none", "kernel"]
    assert result.total_ns == 55_000
    assert closes(result)


def test_levels() -> None:
    assert set(paths(flame(program(), by="host", levels="operators", group="class"))) == {
        "Linear",
        "Linear;aten::linear",
        "Linear;aten::linear;aten::mm",
    }
    assert paths(flame(program(), by="host", levels="modules")) == {
        "Linear_1": (1, 60, 60),
        "Linear_2": (1, 60, 60),
    }
    device = paths(flame(program(), levels="modules"))
    assert device["Linear_1;gemm"] == (1, 25, 25)


def test_of_one_step() -> None:
    result = flame(program(), by="host", step=2)
    assert result.total_ns == 80_000
    assert set(paths(result)) > {"a.py(1): f;Linear_2"}
    assert flame(program(), step=2).total_ns == 25_000


def test_a_backward_thread_has_its_own_root() -> None:
    t = trace(op("aten::mm", 0, 10), op("MmBackward0", 5, 12, thread=2))
    assert paths(flame(t)) == {"aten::mm": (1, 10, 10), "MmBackward0": (1, 7, 7)}


def test_ranges_that_cross_do_not_count_twice() -> None:
    """An annotation that is closed in another frame than it was opened in."""
    t = trace(
        frame("f", 0, 100), frame("enter", 10, 30), frame("inner", 12, 28),
        annotation("region", 20, 60), frame("exit", 50, 70),
    )  # fmt: skip
    result = flame(t, by="host")
    assert paths(result) == {
        "f": (1, 100, 40),
        "f;region": (1, 30, 30),
        "f;exit": (1, 20, 20),
        "f;enter": (1, 10, 2),
        "f;enter;inner": (1, 8, 8),
    }
    assert closes(result)


def test_the_smallest_are_merged() -> None:
    t = trace(frame("f", 0, 100), *(op(f"op{i}", 10 * i, 10 * i + i) for i in range(1, 10)))
    result = flame(t, by="host", limit=4)
    assert [r.name for r in result.rows] == ["f", "op9", "op8", "op7"]
    assert (result.rows[0].merged, result.rows[0].merged_ns) == (6, 21_000)
    assert result.nodes == 10
    assert closes(result)
    least = flame(trace(op("a", 0, 1000), op("b", 2000, 2000.2)))
    assert (len(least.rows), least.merged, least.merged_ns, least.nodes) == (1, 1, 200, 2)
    assert closes(least)


def test_from_a_root() -> None:
    result = flame(program(), by="host", root="a.py(1): f;Linear_1;aten::linear")
    assert paths(result) == {"aten::linear": (1, 40, 20), "aten::linear;aten::mm": (1, 20, 20)}
    assert result.total_ns == 40_000
    odd = trace(op(r"a;b\c", 0, 9), op("d", 1, 2))
    assert paths(flame(odd, root=r"a\;b\\c;d")) == {"d": (1, 1, 1)}


@pytest.mark.parametrize("root", ["nothing", "a.py(1): f;nothing", ""])
def test_a_root_that_is_not_there(root: str) -> None:
    with pytest.raises(TraceError) as error:
        flame(program(), root=root)
    assert error.value.code == "unknown_node"


def test_a_bad_limit() -> None:
    with pytest.raises(TraceError, match="at least 1"):
        flame(program(), limit=0)


def test_without_anything() -> None:
    result = flame(Trace())
    assert (result.rows, result.by, result.total_ns) == ((), "host", 0)


def test_an_inferred_time_carries_its_bound() -> None:
    t = trace(op("aten::mm", 10, 40, id=1), elapsed={1: 100})
    result = flame(t)
    assert [r.bound_ns for r in result.rows] == [int(t.kernels.duration_bound_ns[0])] * 2
    assert all(r.bound_ns for r in result.rows)
    assert {r.bound_ns for r in flame(program()).rows} == {0}


def test_a_window_counts_the_part_inside() -> None:
    one = trace(op("a", 0, 40, id=1), op("b", 10, 20, id=2), launch(12, 14, 2), launch(30, 34, 1),
                kernel("k", 15, 35, 2), kernel("l", 36, 60, 1), kernel("far", 90, 95))  # fmt: skip
    device = flame(one, start_ns=20_000, stop_ns=50_000)
    rows = {row.name: (row.total_ns, row.self_ns, row.calls) for row in device.rows}
    assert rows["a"] == (29_000, 0, 1)
    assert rows["b"] == (15_000, 0, 1)
    assert (rows["k"][0], rows["l"][0]) == (15_000, 14_000)
    assert (device.total_ns, "far" in rows) == (29_000, False)
    host = flame(one, by="host", start_ns=15_000, stop_ns=30_000)
    rows = {row.name: (row.total_ns, row.self_ns, row.calls) for row in host.rows}
    assert rows == {"a": (15_000, 10_000, 1), "b": (5_000, 5_000, 1)}
    assert flame(one, by="host", start_ns=50_000).rows == ()


def test_a_window_of_everything_is_the_whole() -> None:
    one = trace(
        op("a", 0, 40, id=1), launch(12, 14, 1), kernel("k", 15, 35, 1), kernel("l", 36, 60)
    )
    for by in ("device", "host"):
        whole, window = flame(one, by=by), flame(one, by=by, start_ns=0)
        assert paths(window) == paths(whole)
        assert closes(window)
        assert window.window_ns == one.end_ns
        assert [row.bound_ns for row in window.rows] == [row.bound_ns for row in whole.rows]


def test_shares_of_a_window_are_of_its_length() -> None:
    one = trace(op("a", 0, 40, id=1), launch(12, 14, 1), kernel("k", 15, 35, 1))
    result = flame(one, start_ns=25_000, stop_ns=45_000, direction="bottom_up")
    assert [(row.name, row.window_share) for row in result.rows] == [("k", 0.5), ("a", 0.5)]
