"""Nesting, self time and launchers on the host."""

from __future__ import annotations

from tb_privateuse1.trace.model import ANNOTATION, MISSING, OPERATOR, Trace
from tests.support.make import annotation, frame, kernel, launch, memory, op, trace


def rows(t: Trace) -> dict[str, int]:
    return {t.text(name): i for i, name in enumerate(t.ops.name)}


def test_self_time_is_less_all_direct_children_of_any_kind() -> None:
    t = trace(
        op("outer", 0, 100), op("inner", 10, 30), frame("f.py(1): f", 40, 60),
        op("in_frame", 45, 50), launch(70, 75, 1), op("deep", 12, 20),
    )  # fmt: skip
    row = rows(t)
    assert t.ops.self_ns[row["outer"]] == (100 - 20 - 20 - 5) * 1000
    assert t.ops.self_ns[row["inner"]] == (20 - 8) * 1000
    assert t.frames.self_ns.tolist() == [15_000]


def test_parents_skip_frames_and_frames_skip_operators() -> None:
    t = trace(frame("a", 0, 100), op("outer", 10, 90), frame("b", 20, 80), op("inner", 30, 40))
    row = rows(t)
    assert t.ops.parent[row["inner"]] == row["outer"]
    frames = [t.text(t.frames.name[f]) for f in t.ops.frame[[row["outer"], row["inner"]]]]
    assert frames == ["a", "b"]
    assert t.frames.parent.tolist() == [-1, 0]


def test_threads_do_not_nest_in_each_other() -> None:
    t = trace(op("main", 0, 100), op("other", 10, 20, thread=2))
    assert t.ops.parent.tolist() == [-1, -1]


def test_crossing_ranges_survive() -> None:
    t = trace(op("a", 0, 10), op("b", 5, 15), op("c", 6, 8))
    row = rows(t)
    assert t.ops.parent[row["b"]] == -1
    assert t.ops.parent[row["c"]] == row["b"]
    assert t.ops.self_ns[row["a"]] == 10_000


def test_only_operators_launch() -> None:
    t = trace(
        op("aten::mm", 0, 50, id=1), annotation("mine", 5, 45, id=2), launch(10, 12, 7),
        launch(60, 61, 8), kernel("gemm", 20, 30, 7), kernel("stray", 70, 71, 8),
    )  # fmt: skip
    assert [t.ops.kind[o] if o >= 0 else None for o in t.launches.op] == [OPERATOR, None]
    assert sorted(t.ops.kind.tolist()) == [OPERATOR, ANNOTATION]


def test_a_launch_outside_all_operators_belongs_to_its_external_id() -> None:
    t = trace(op("aten::mm", 0, 5, id=4), launch(50, 51, 1, thread=9, **{"External id": 4}))
    assert t.launches.op.tolist() == [0]


def test_operators_that_torch_does_not_count_are_left_out() -> None:
    t = trace(op("outer", 0, 10), op("profiler::_record_function_enter_new", 1, 3))
    assert [t.text(n) for n in t.ops.name] == ["outer"]
    assert t.ops.self_ns.tolist() == [10_000]


def test_a_lone_call_of_the_same_name_is_marked() -> None:
    t = trace(op("a", 0, 10), op("a", 2, 8), op("b", 20, 30), op("b", 21, 23), op("c", 24, 25))
    assert t.ops.single.tolist() == [False, True, False, False, False]


def test_elapsed_joins_by_external_id() -> None:
    t = trace(op("a", 0, 10, id=5), op("b", 20, 30, id=6), elapsed={5: 7.0, 9: 1.0})
    assert t.ops.elapsed_ns.tolist() == [7000, MISSING]


def test_memory_belongs_to_the_innermost_operator() -> None:
    t = trace(op("outer", 0, 10), op("aten::empty", 2, 5), memory(3, 64, 64), memory(7, -64, 0))
    names = [t.text(t.ops.name[o]) for o in t.memory.op]
    assert names == ["aten::empty", "outer"]
    assert t.memory.bytes.tolist() == [64, -64]
    assert t.memory.reserved_bytes.tolist() == [MISSING, MISSING]


def test_times_count_from_the_first_range() -> None:
    t = trace(op("a", 100, 110), memory(50, 1, 1), baseTimeNanoseconds=7)
    assert (t.ops.start_ns.tolist(), t.start_ns, t.base_ns, t.end_ns) == (
        [0],
        100_000,
        100_007,
        10_000,
    )
    assert t.memory.ts_ns.tolist() == [-50_000]
