"""Bottom-up trees, sandwiches and ignored ranges: properties over random programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.flame import Flame, FlameNode, flame
from tests.support.make import frame, kernel, launch, op, step, trace
from tests.support.repeats import repeats

Path = tuple[str, ...]
NAMES = ("torch/nn.py(1): a", "train.py(2): b", "aten::c", "aten::d", "threading.py(3): run")


@st.composite
def programs(draw: st.DrawFn) -> Trace:
    """Nested frames and operators with recursion, and kernels; one may have no operator."""
    events: list[Any] = []
    at = ids = 0

    def call(depth: int) -> None:
        nonlocal at, ids
        name = draw(st.sampled_from(NAMES))
        start = at
        at += draw(st.integers(1, 5))
        for _ in range(draw(st.integers(0, 2 if depth < 4 else 0))):
            call(depth + 1)
            at += draw(st.integers(0, 3))
        if draw(st.booleans()):
            ids += 1
            events.extend((launch(at, at + 1, ids), kernel(f"k{ids % 3}", at, at + ids, ids)))
            at += 2
        at += 1
        events.append((op if name.startswith("aten") else frame)(name, start, at))

    for _ in range(draw(st.integers(1, 3))):
        call(0)
        at += 1
    if draw(st.booleans()):
        events.append(kernel("stray", at, at + 4, 999))
    return trace(*events)


UNITS = st.sampled_from(("device", "host"))


def stacks(result: Flame) -> Counter[Path]:
    """Own time by the names from the outermost on."""
    found: Counter[Path] = Counter()
    for path, row in with_paths(result.rows):
        found[path] += row.self_ns
        assert row.merged == 0
    return +found


def with_paths(rows: tuple[FlameNode, ...]) -> list[tuple[Path, FlameNode]]:
    paths: list[Path] = []
    for row in rows:
        above = () if row.parent is None else paths[row.parent]
        paths.append((*above, row.full_name or row.name))
    return list(zip(paths, rows, strict=True))


@pytest.mark.long
@settings(max_examples=repeats(40))
@given(programs(), UNITS)
def test_bottom_up_has_the_own_time_of_each_name(t: Trace, by: Any) -> None:
    own = stacks(flame(t, by=by))
    turned = flame(t, by=by, direction="bottom_up")
    assert (turned.total_ns or 0) == sum(own.values()) == (flame(t, by=by).total_ns or 0)
    expected: Counter[Path] = Counter()
    for path, ns in own.items():
        for n in range(1, len(path) + 1):
            expected[path[::-1][:n]] += ns
    assert {path: row.total_ns for path, row in with_paths(turned.rows)} == dict(expected)
    outermost = sum(row.total_ns for row in turned.rows if row.parent is None)
    assert outermost == sum(own.values()) == sum(row.self_ns for row in turned.rows)


@pytest.mark.long
@settings(max_examples=repeats(40))
@given(programs(), UNITS, st.sampled_from((*NAMES, "k1")))
def test_a_sandwich_is_the_sum_of_the_outermost_instances(t: Trace, by: Any, name: str) -> None:
    own = stacks(flame(t, by=by))
    inside: Counter[Path] = Counter()
    around: Counter[Path] = Counter()
    for path, ns in own.items():
        if name in path:
            first = path.index(name)
            inside[path[first:]] += ns
            around[path[: first + 1][::-1]] += ns
    if not inside:
        with pytest.raises(TraceError) as error:
            flame(t, by=by, frame=name)
        assert error.value.code == "unknown_node"
        return
    result = flame(t, by=by, frame=name)
    assert result.total_ns == result.rows[0].total_ns == result.callers[0].total_ns
    assert stacks(result) == inside
    ends = Counter({path: row.self_ns for path, row in with_paths(result.callers)})
    assert +ends == around


@pytest.mark.long
@settings(max_examples=repeats(40))
@given(programs(), UNITS, st.booleans(), st.sampled_from((None, "aten::C", "k*;b", "train.py*b")))
def test_ignored_ranges_leave_their_time_to_those_around(
    t: Trace, by: Any, libraries: bool, patterns: str | None
) -> None:
    whole = flame(t, by=by)
    rest = flame(t, by=by, ignore_libraries=libraries, ignore=patterns)
    assert rest.total_ns == whole.total_ns
    gone = set(NAMES[::4] if libraries else ())
    if patterns is not None:
        gone |= {"aten::c"} if patterns == "aten::C" else {"train.py(2): b"}
    expected: Counter[Path] = Counter()
    for path, ns in stacks(whole).items():
        shown = tuple(name for name in path if name not in gone)
        lone = not any(name in NAMES for name in shown) and any(name in gone for name in path)
        expected[("ignored", *shown) if lone else shown] += ns
    assert stacks(rest) == expected


def test_steps_give_shares() -> None:
    events = [step(1, 0, 100), step(2, 100, 200)]
    for at in (0, 100, 300):
        events.append(op("aten::mm", at + 10, at + 60))
    (row,) = flame(trace(*events), window="all").rows
    assert (row.calls, row.total_ns, row.window_share) == (3, 150_000, 0.5)
    (row,) = flame(trace(*events)).rows
    assert (row.calls, row.total_ns, row.window_share) == (2, 100_000, 0.5)
    (row,) = flame(trace(*events), step=2).rows
    assert (row.total_ns, row.window_share) == (50_000, 0.5)


def test_zoom_in_a_turned_tree() -> None:
    t = trace(op("a", 0, 100), op("b", 10, 20), op("c", 200, 300), op("b", 210, 240))
    result = flame(t, direction="bottom_up", root="b;c")
    assert [(r.name, r.total_ns, r.calls) for r in result.rows] == [("c", 30_000, 1)]
    with pytest.raises(TraceError, match="no 'a'"):
        flame(t, direction="bottom_up", root="c;a")


def test_small_callers_are_merged() -> None:
    calls = [op("b", 0, 100_000)]
    calls += [event for i in range(3) for event in (op(f"a{i}", 200_000 + 9 * i, 200_005 + 9 * i),
              op("b", 200_001 + 9 * i, 200_003 + 9 * i))]  # fmt: skip
    result = flame(trace(*calls), direction="bottom_up")
    assert [(r.name, r.calls, r.merged, r.merged_ns) for r in result.rows] == [("b", 4, 3, 6_000)]
    assert result.merged_ns == 9_000


def test_a_sandwich_has_no_other_start() -> None:
    with pytest.raises(TraceError) as error:
        flame(trace(op("a", 0, 1)), frame="a", root="a")
    assert error.value.code == "bad_option"


def test_kernels_by_the_name_that_people_read() -> None:
    """A name that stands for several kernels has all of them."""
    add = (
        "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)"
    )
    names = [f"void at::native::vectorized_elementwise_kernel<{n}, {add}" for n in (2, 4)]
    events = [event for i, name in enumerate(names, 1) for event in (
        op(f"aten::op{i}", 100 * i, 100 * i + 50), launch(100 * i + 1, 100 * i + 2, i),
        kernel(name, 100 * i + 10, 100 * i + 20, i))]  # fmt: skip
    result = flame(trace(*events))
    shown = {row.name for row in result.rows if row.kind == "kernel"}
    assert len(shown) == 1
    both = flame(trace(*events), frame=shown.pop())
    assert both.total_ns == 20_000
    assert [r.name for r in both.callers[1:]] == ["aten::op1", "aten::op2"]
    assert flame(trace(*events), frame=names[0]).total_ns == 10_000
