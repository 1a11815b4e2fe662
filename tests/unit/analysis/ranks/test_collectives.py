"""All ranks together: parts of a step, and the same collective across ranks."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.ranks import collectives
from tb_privateuse1.analysis.steps.bounds import RANK
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import Event, annotation, kernel, launch, op, step, trace

ARGUMENTS = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
             "Out msg nelems": 1000, "Group size": 2, "Process Group Name": "0"}  # fmt: skip


def reduced(
    at: float, lasts: float, n: int, name: str = "allreduce", **more: object
) -> list[Event]:
    """Build an operator that launches a collective."""
    arguments = ARGUMENTS | {"Collective name": name} | more
    return [
        op("record_param_comms", at, at + 4), launch(at + 1, at + 2, n),
        kernel("ncclKernel", at + 10, at + 10 + lasts, n, stream=9, **arguments),
    ]  # fmt: skip


def one(*lasts: float, **more: object) -> Trace:
    """Build a rank with a step, and a collective every 100 µs of it."""
    events = [reduced(100 * i, d, i + 1, **more) for i, d in enumerate(lasts)]  # type: ignore[arg-type]
    return trace(step(1, 0, 1000), *(e for some in events for e in some))


def matched(*traces: Trace) -> collectives.MatchedCalls:
    return collectives.match_calls([collectives.reduce_trace(t) for t in traces])


def test_the_parts_of_a_step_sum_to_it() -> None:
    """The parts of a step sum to its duration."""
    t = trace(
        step(1, 0, 100), op("aten::mm", 0, 9),
        launch(1, 2, 1), kernel("gemm", 10, 40, 1),
        launch(3, 4, 2), kernel("ncclAllReduce", 30, 60, 2, stream=9),
        launch(5, 6, 3), kernel("copy", 55, 70, 3, stream=8, category="gpu_memcpy"),
    )  # fmt: skip
    part = collectives.reduce_trace(t).steps
    assert part.names == ("ProfilerStep#1",)
    columns = [name for name in part.__struct_fields__ if name not in ("names", "bounds")]
    assert {name: getattr(part, name).tolist() for name in columns} == {
        "duration_ns": [100_000], "computation_ns": [30_000], "communication_ns": [30_000],
        "overlap_ns": [10_000], "exposed_ns": [15_000], "copy_ns": [15_000], "idle_ns": [40_000],
        "incomplete": [False],
    }  # fmt: skip
    assert {name: bound.tolist() for name, bound in part.bounds.items()} == {
        name: [0] for name in RANK
    }


def test_without_a_device_operators_compute_and_gloo_communicates() -> None:
    """Without a device operators are computation."""
    t = trace(
        step(1, 0, 100), op("aten::mm", 10, 40), annotation("gloo:all_reduce", 30, 70, thread=2)
    )
    part = collectives.reduce_trace(t)
    s = part.steps
    assert part.on_host
    assert (s.computation_ns, s.communication_ns, s.overlap_ns) == (30_000, 40_000, 10_000)
    assert (s.copy_ns, s.idle_ns) == (0, 40_000)
    label = collectives.Label("all_reduce", "", "", on_host=True)
    assert part.shapes == (collectives.Shape(label, None, None),)


def test_the_last_to_come_waits_for_nobody() -> None:
    """The last rank's duration is the transfer."""
    found = matched(one(30, 50), one(80, 20))
    assert found.match.tolist() == [0, 1, 0, 1]
    assert found.transfer_ns.tolist() == [30_000, 20_000, 30_000, 20_000]
    assert found.last.tolist() == [True, False, False, True]
    assert found.uneven == 0


def test_calls_are_matched_within_step_and_group() -> None:
    """Calls match within step and group."""
    other = reduced(500, 5, 9, **{"Process Group Name": "1"})
    both = [trace(step(1, 0, 1000), *reduced(0, d, 1), *other) for d in (10, 20)]
    found = matched(*both)
    groups = [found.shapes[shape].label.group for shape in found.shape]
    assert groups == ["0", "1", "0", "1"]
    assert found.match[0] == found.match[2] != found.match[1] == found.match[3]
    later = trace(step(2, 0, 1000), *reduced(0, 10, 1))
    assert matched(both[0], later).match.tolist() == [NONE] * 3


def test_different_numbers_of_calls_are_uneven() -> None:
    """Different numbers of calls are counted as uneven."""
    found = matched(one(10, 20), one(10))
    assert (found.match.tolist(), found.uneven) == ([NONE] * 3, 1)


def test_more_ranks_than_the_group_has_are_several_groups() -> None:
    """More ranks than members are not matched."""
    found = matched(one(10), one(20), one(30))
    assert found.match.tolist() == [NONE] * 3
    assert found.uneven == 0


@pytest.mark.parametrize("kind", ["send", "broadcast", "strange"])
def test_asymmetric_collectives_are_not_matched(kind: str) -> None:
    """A broadcast is not matched."""
    found = matched(one(10, name=kind), one(20, name=kind))
    assert found.match.tolist() == [NONE] * 2
    assert found.transfer_ns.tolist() == [10_000, 20_000]


def test_outside_of_steps_nothing_is_matched() -> None:
    """Calls outside of steps are not matched."""
    apart = [trace(step(1, 0, 50), *reduced(500, d, 1)) for d in (10, 20)]
    assert matched(*apart).match.tolist() == [NONE] * 2


def test_no_ranks() -> None:
    """No ranks give no calls."""
    assert len(matched().match) == 0
    assert len(matched(Trace()).match) == 0


def test_many_ranks_are_matched_quickly() -> None:
    """Hundreds of ranks in one group have all calls matched."""
    part = collectives.reduce_trace(one(*range(10, 110, 10), **{"Group size": 500}))
    found = collectives.match_calls([part] * 500)
    assert len(found.match) == 5000
    assert np.bincount(found.match).tolist() == [500] * 10
