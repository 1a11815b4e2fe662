"""Annotations that cross: a trainer may end its step inside of the optimizer's range."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.inference.device_timeline import event_pairs
from tb_privateuse1.trace.model import MISSING
from tests.support import make, simulate
from tests.support.simulate import Op


def annotation(name: str) -> Op:
    return Op(name, 0, 0, category="user_annotation")


def test_a_step_that_ends_inside_of_the_optimizer_has_a_timeline() -> None:
    """The next step begins there: each crosses the optimizer's ranges before and behind it."""
    machine = simulate.Machine()
    step = None
    for number in range(4):
        ranges = [annotation("run_batch"), annotation("optimizer_step")]
        begun = [machine.begin(one) for one in ranges]
        for _ in range(3):
            machine.run(simulate.linear(20_000, 9_000))
        if step is not None:
            machine.finish(*step)
        named = annotation(f"ProfilerStep#{number}")
        step = (named, *machine.begin(named))
        machine.run(Op("aten::add_", 9_000, 600, 5_000))
        for one, at in zip(reversed(ranges), reversed(begun), strict=True):
            machine.finish(one, *at)
    assert step is not None
    machine.finish(*step)
    trace = simulate.infer_from(machine.events, machine.elapsed, launch_latency_ns=6_000)
    assert trace.meta.timeline == "inferred"
    launched = trace.ops.external_id[trace.kernels.op].tolist()
    assert sorted(launched) == sorted(machine.kernels)
    start, end = np.array([machine.kernels[one] for one in launched]).T - trace.base_ns
    kernels = trace.kernels
    assert (kernels.start_bound_ns != MISSING).all()
    assert (np.abs(kernels.start_ns - start) <= kernels.start_bound_ns).all()
    long = np.abs((kernels.end_ns - kernels.start_ns) - (end - start))
    assert (long <= kernels.duration_bound_ns).all()


def cross(a: tuple[int, int], b: tuple[int, int]) -> bool:
    (a, b) = sorted((a, b))
    return a[0] < b[0] < a[1] < b[1]


@pytest.mark.long
@given(st.permutations(range(16)))
def test_the_ranges_of_the_tree_nest(ends: list[int]) -> None:
    """Any order of starts and ends; those that cross none stay."""
    spans = [(min(pair) * 10, max(pair) * 10) for pair in zip(ends[::2], ends[1::2], strict=True)]
    ops = make.trace(*(make.op("aten::mul", *span, id=i) for i, span in enumerate(spans))).ops
    _, kept = event_pairs.build_tree(event_pairs.pair_events(ops), ops)
    rows = list(zip(ops.start_ns.tolist(), ops.end_ns.tolist(), strict=True))
    stay = [row for row, one in zip(rows, kept.tolist(), strict=True) if one]
    assert not any(cross(*pair) for pair in itertools.combinations(stay, 2))
    assert {row for row in rows if not any(cross(row, other) for other in rows)} <= set(stay)
