"""The inferred timeline of whole programs: the truth lies inside its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.inference.device_timeline import elapsed_kind
from tb_privateuse1.inference.device_timeline.timeline_inputs import MOST_DRIFT
from tb_privateuse1.trace.model import EVENTS, EVIDENCE, MEMCPY, MISSING, Trace
from tb_privateuse1.trace.table import I64
from tests.support import make, simulate
from tests.support.repeats import repeats
from tests.support.simulate import Op, Result, linear, step

US = 1_000


def codes(result: Result) -> set[str]:
    return {f.code for f in result.trace.meta.findings}


def holds(result: Result) -> None:
    """Every launching operator once, in order, apart, and the truth inside the bounds."""
    trace = result.trace
    kernels = trace.kernels
    ids = trace.ops.external_id[kernels.op]
    assert sorted(ids.tolist()) == sorted(result.ids.tolist())
    row = np.argsort(ids)
    truth = np.argsort(result.ids)
    start, end = result.start_ns[truth], result.end_ns[truth]
    bounded = kernels.start_bound_ns[row] != MISSING
    error = np.abs(kernels.start_ns[row] - start)
    assert (error <= kernels.start_bound_ns[row])[bounded].all()
    length = kernels.end_ns - kernels.start_ns
    assert (np.abs(length[row] - (end - start)) <= kernels.duration_bound_ns[row]).all()
    assert (np.diff(kernels.start_ns) >= 0).all()
    assert (kernels.start_ns[1:] >= kernels.end_ns[:-1]).all()
    assert (np.diff(result.start_ns[truth][np.argsort(kernels.start_ns[row])]) >= 0).all()


leaf = st.builds(
    Op,
    st.sampled_from(["aten::relu", "aten::mul", "aten::add"]),
    st.integers(3 * US, 40 * US),
    st.integers(600, 3 * US),
    st.integers(4 * US, 120 * US),
)
composite = st.builds(linear, st.integers(4 * US, 30 * US), st.integers(4 * US, 200 * US))
view = st.builds(Op, st.just("aten::view"), st.integers(500, 4 * US), st.integers(300, US))
programs = st.lists(st.one_of(leaf, composite, view), min_size=1, max_size=30)


@pytest.mark.long
@settings(max_examples=repeats(150))
@given(st.lists(programs, min_size=1, max_size=3), st.integers(0, 3_000 * US))
def test_truth_is_inside_the_bounds(steps: list[list[Op]], backlog: int) -> None:
    program = [step(i, *ops) for i, ops in enumerate(steps)]
    if any(op.kernel or op.children for ops in steps for op in ops):
        holds(simulate.simulate(program, backlog=backlog))


def test_a_busy_device_of_two_steps_does_not_pass_for_sums() -> None:
    """Found by the property above: nothing idles, so that sums are equal in these two."""

    def relu(device_ns: int = 4000) -> Op:
        return Op("aten::relu", 3000, 600, device_ns)

    view = Op("aten::view", 500, 300)
    many = [relu(), view, relu(), relu()]
    first = [relu(), relu(), relu(49_900), linear(4000, 30_528), relu(), linear(4000, 83_462)]
    second = [relu(), relu(49_900), relu(120_000), linear(4000, 11_547), relu(), view]
    result = simulate.simulate([step(0, *first, *many), step(1, *second, *many)], backlog=9032)
    assert result.trace.meta.grounds is not None
    assert result.trace.meta.grounds.kind == "event"
    holds(result)


@pytest.mark.long
@settings(max_examples=repeats(30))
@given(programs, st.integers(1, 10**12))
def test_shifting_all_times_shifts_the_result(ops: list[Op], shift: int) -> None:
    here = simulate.simulate([step(0, *ops)])
    there = simulate.simulate([step(0, *ops)], shift=shift // 1000 * 1000)
    assert (here.trace.kernels.start_ns == there.trace.kernels.start_ns).all()
    assert (here.trace.kernels.end_ns == there.trace.kernels.end_ns).all()


def test_a_backlog_is_measured_by_events() -> None:
    ops = [linear(8 * US, 90 * US) for _ in range(40)]
    result = simulate.simulate([step(i, *ops) for i in range(3)])
    holds(result)
    kernels = result.trace.kernels
    assert (kernels.evidence == EVENTS).mean() > 0.9
    error = (kernels.end_ns - kernels.start_ns) - 90 * US
    assert np.abs(error).max() <= 2 * US
    assert np.abs(kernels.start_ns - result.start_ns).max() <= 15 * US


def test_host_bound_starts_are_close() -> None:
    ops = [linear(12 * US, 5 * US) for _ in range(40)]
    result = simulate.simulate([step(0, *ops), step(1, *ops)])
    holds(result)
    error = np.abs(result.trace.kernels.start_ns - result.start_ns)
    assert np.median(error) <= 3 * US


def test_durations_hidden_behind_the_host_come_from_instances_under_backlog() -> None:
    """A long kernel first queues one step; what it tells holds in the others too."""
    ops = [linear(12 * US, 7 * US) for _ in range(20)]
    primed = step(0, Op("aten::add", 5 * US, US, 2_000 * US), *ops)
    result = simulate.simulate([primed, *(step(i, *ops) for i in range(1, 4))])
    holds(result)
    length = result.trace.kernels.end_ns - result.trace.kernels.start_ns
    assert np.abs(length[1:] - 7 * US).max() <= 2 * US


@pytest.mark.parametrize("others", [1, 8])
def test_a_host_that_is_held_up_makes_no_kernel_long(others: int) -> None:
    """Before its event is recorded: then the device was done long ago, as with its like."""
    busy = [
        Op("aten::mm", 8 * US, 900, 300 * US),
        *[Op("aten::relu", 6 * US, 900, 20 * US)] * others,
    ]
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    waits = Op("aten::item", US, 500, children=(read,))
    held = Op("aten::relu", 6 * US, 900, 20 * US, held=2_000 * US)
    program = [step(i, *busy, waits, Op("aten::add", 30 * US, 900, 5 * US)) for i in range(2)]
    result = simulate.simulate([*program, step(2, held, *busy)], shapes={"Input Dims": [[64, 64]]})
    holds(result)
    kernels = result.trace.kernels
    row = int(np.argmax(kernels.duration_bound_ns))
    assert EVIDENCE[kernels.evidence[row]] == "catalogue"
    assert abs(kernels.end_ns[row] - kernels.start_ns[row] - 20 * US) < 2 * US
    assert 1_900 * US < kernels.duration_bound_ns[row] < 2_100 * US


def test_a_pause_is_told_by_calls_of_which_none_is_visible() -> None:
    """All hide behind host time, but what bounds the others bounds this one's usual length."""
    calls = [Op("aten::relu", 12 * US, 900, 11 * US), Op("aten::view", 20 * US, US)] * 12
    held = Op("aten::relu", 12 * US, 900, 11 * US, held=2_000 * US)
    program = [step(0, *calls), step(1, *calls, held, *calls)]
    result = simulate.simulate(program, shapes={"Input Dims": [[64, 64]]})
    holds(result)
    assert (result.trace.kernels.end_ns - result.trace.kernels.start_ns).max() < 30 * US


def test_one_long_pause_among_four_visible_calls_is_no_typical_length() -> None:
    queue = Op("aten::mm", 8 * US, 900, 100 * US)
    calls = [queue, Op("aten::relu", 6 * US, 900, 20 * US), Op("aten::add", 90 * US, 900, 5 * US)]
    held = [queue, Op("aten::relu", 6 * US, 900, 20 * US, held=3_000 * US), calls[2]]
    program = [*(step(i, *calls, *calls[2:]) for i in range(3)), step(3, *held)]
    result = simulate.simulate(program, shapes={"Input Dims": [[64, 64]]})
    holds(result)
    assert (result.trace.kernels.end_ns - result.trace.kernels.start_ns).max() < 150 * US


def test_a_pause_inside_an_operator_tells_nothing_of_where_it_launched() -> None:
    """Launches lie late in their segments; of a paused one, the pause may come before it."""
    calls = [Op("aten::relu", 8 * US, 4 * US, 20 * US), Op("aten::view", 20 * US, US)] * 30
    primed = step(0, Op("aten::mm", 5 * US, US, 900 * US), *calls)
    paused = Op("aten::relu", 9_000 * US, 4 * US, 20 * US)
    result = simulate.simulate(
        [primed, step(1, *calls, paused, *calls)], shapes={"Input Dims": [[64, 64]]}
    )
    holds(result)
    assert (result.trace.kernels.end_ns - result.trace.kernels.start_ns)[1:].max() < 40 * US


def test_a_blocking_read_is_a_copy_that_ends_before_it_returns() -> None:
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    item = Op("aten::item", US, 500, children=(read,))
    ops = [*[linear(8 * US, 60 * US) for _ in range(5)], item]
    result = simulate.simulate([step(i, *ops) for i in range(3)])
    holds(result)
    kernels = result.trace.kernels
    assert (kernels.kind == MEMCPY).sum() == 3


def test_operators_on_cpu_tensors_are_no_kernels() -> None:
    """Same name, other shapes, too short to launch."""
    machine = simulate.Machine()
    for _ in range(10):
        machine.run(Op("aten::add_", 8 * US, US, 30 * US))
        machine.run(Op("aten::add_", 300, 100))
    for i, event in enumerate(machine.events):
        event["args"]["Input Dims"] = [[], []] if i % 2 else [[64], [64]]
    trace = simulate.infer_from(machine.events, machine.elapsed)
    assert len(trace.kernels) == 10


def test_communication_is_no_kernel_of_the_stream() -> None:
    ops = [linear(8 * US, 30 * US), Op("c10d::allreduce_", 30 * US, 20 * US)]
    holds(simulate.simulate([step(i, *ops * 5) for i in range(2)]))


def test_sums_of_kernel_durations_only_need_a_queue() -> None:
    events: list[make.Event] = []
    elapsed: dict[int, float | None] = {}
    clock = 0.0
    for i in range(3):
        first = clock
        for k in range(12):
            number = len(events) + 1
            events.append(make.op("aten::mm", clock + 1, clock + 50, id=number))
            elapsed[number] = 100.0 + k
            clock += 60
        number = len(events) + 1
        events.append(make.annotation(f"ProfilerStep#{i}", first, clock, id=number))
        elapsed[number] = 1266.0
        clock += 20
    trace = simulate.infer_from(events, elapsed)
    assert "elapsed_kernel_sum" in {f.code for f in trace.meta.findings}
    length = (trace.kernels.end_ns - trace.kernels.start_ns) // US
    assert length.tolist() == list(range(100, 112)) * 3
    assert (trace.kernels.start_ns[1:] >= trace.kernels.end_ns[:-1]).all()


def test_marks_that_fit_no_schedule_of_a_stream_are_refused() -> None:
    assert elapsed_kind.contradiction(20, 1000) is None
    assert elapsed_kind.contradiction(8, 100) is None  # two contradictions
    finding = elapsed_kind.contradiction(21, 1000)
    assert finding is not None
    assert (finding.code, finding.count) == ("elapsed_not_of_a_stream", 21)


def test_a_refusal_is_the_only_error() -> None:
    events = [make.op("aten::mm", i * 3000, i * 3000 + 2500, id=i + 1) for i in range(20)]
    elapsed: dict[int, float | None] = {i + 1: 2.0 + i % 3 for i in range(20)}
    trace = simulate.infer_from(events, elapsed)
    assert [f.code for f in trace.meta.findings if f.severity == "error"] == ["elapsed_unit"]


def test_one_long_range_with_device_time_shows_the_unit() -> None:
    """The others waited for work launched before the recording."""
    events = [make.op("aten::item", i * 9000, i * 9000 + 8000, id=i + 1) for i in range(6)]
    elapsed: dict[int, float | None] = {i + 1: 7.0 + i for i in range(6)}
    refused = simulate.infer_from(events, elapsed)
    assert "elapsed_unit" in {f.code for f in refused.meta.findings}
    elapsed[3] = 900.0
    inferred = simulate.infer_from(events, elapsed)
    assert "elapsed_unit" not in {f.code for f in inferred.meta.findings}


def test_ranges_that_leave_out_the_hosts_time_are_sums() -> None:
    """No steps are needed: an idle device's events would count what the host did in between."""
    events: list[make.Event] = []
    elapsed: dict[int, float | None] = {}
    for i in range(8):
        begin, number = i * 400, 3 * i + 1
        events.append(make.op("aten::linear", begin, begin + 300, id=number))
        events.append(make.op("aten::mm", begin + 50, begin + 90, id=number + 1))
        events.append(make.op("aten::add", begin + 200, begin + 230, id=number + 2))
        elapsed |= {number: 31.0 + i, number + 1: 20.0 + i, number + 2: 11.0}
    trace = simulate.infer_from(events, elapsed)
    assert "elapsed_kernel_sum" in {f.code for f in trace.meta.findings}
    assert ((trace.kernels.end_ns - trace.kernels.start_ns).sum()) == 8 * 31_000 + 28_000


@pytest.mark.parametrize(
    ("unit", "code"), [(1_000_000, "elapsed_coarse"), (1, "elapsed_unit")], ids=["ms", "wrong"]
)
def test_what_gives_no_timeline_is_refused_with_a_reason(unit: int, code: str) -> None:
    events: list[make.Event] = []
    elapsed: dict[int, float | None] = {}
    for i in range(20):
        events.append(make.op("aten::mm", i * 3000, i * 3000 + 2500, id=i + 1))
        elapsed[i + 1] = (2 + i % 3) * unit / 1_000 if unit > 1 else 2.0 + i % 3
    trace = simulate.infer_from(events, elapsed)
    assert trace.meta.timeline == "none"
    found = [f for f in trace.meta.findings if f.code == code]
    assert found
    assert found[0].hint


def test_bounds_under_a_backlog_grow_by_the_root_of_what_is_between() -> None:
    wait = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
    lengths = np.random.default_rng(0).integers(8 * US, 30 * US, 3_000)
    largest = []
    for count in (150, 2_400):
        ops = [Op("aten::relu", 3 * US, 600, int(length)) for length in lengths[:count]]
        result = simulate.simulate([step(0, *ops, wait)])
        holds(result)
        largest.append(int(result.trace.kernels.start_bound_ns.max()))
    # Sixteen times as much, added up at worst; but a clock that drifts is off by its share of all.
    assert largest[1] - MOST_DRIFT * lengths[:2_400].sum() < 6 * largest[0]


def test_a_long_wait_for_earlier_work_is_no_other_unit() -> None:
    wait = Op("synchronize", 10 * US, 10 * US, category="user_annotation", blocking=True)
    ops = [Op("aten::relu", 3 * US, 600, 4 * US)] * 5
    result = simulate.simulate([step(0, *ops, wait)], backlog=5_000 * US)
    assert codes(result) == set()
    holds(result)


def test_an_unknown_backlog_is_said() -> None:
    """Nothing waits for the device, and it never catches up: no start has a bound."""
    ops = [linear(8 * US, 90 * US) for _ in range(20)]
    result = simulate.simulate([step(0, *ops)], backlog=50_000 * US)
    assert "backlog_unknown" in codes(result)
    assert (result.trace.kernels.start_bound_ns == MISSING).all()


@pytest.mark.parametrize("name", ["torch.acme.synchronize", "acmeStreamSync", "acmeQueueWaitFor"])
def test_a_call_that_waits_for_the_device_ties_the_backlog(name: str) -> None:
    trace, true = behind_a_backlog(name, 60)
    error = np.abs(trace.kernels.start_ns - true)
    assert error.max() <= 60 * US
    assert (error <= trace.kernels.start_bound_ns).all()


@pytest.mark.parametrize("name", ["run.py(1): synchronize_input_prep", "enqueueSynchronize"])
def test_a_call_that_only_sounds_like_a_wait_ties_nothing(name: str) -> None:
    """It returns 40 ms before the device is done."""
    trace, _ = behind_a_backlog(name, -40_000)
    assert (trace.kernels.start_bound_ns == MISSING).all()


def behind_a_backlog(name: str, later_us: int) -> tuple[Trace, I64]:
    """A call that returns so much later than the device is done, and the true starts."""
    machine = simulate.Machine()
    machine.device = machine.now + 50_000 * US
    for _ in range(20):
        machine.run(linear(8 * US, 90 * US))
    start = machine.now / 1e3
    done = machine.device / 1e3 + later_us
    machine.events.append(make.frame(name, start, done))
    trace = simulate.infer_from(machine.events, machine.elapsed, launch_latency_ns=6000)
    return trace, np.array([s for s, _ in machine.kernels.values()]) - trace.base_ns


def test_one_kernel_without_a_bound_among_many_operators_is_no_timeline() -> None:
    """Nothing ties the device to the host, and nothing tells how long the only work took."""
    view = Op("aten::view", 3 * US, 600)
    program = [*[view] * 120, Op("aten::relu", 9 * US, 600, 4 * US), *[view] * 120]
    result = simulate.simulate(program)
    bounded = result.trace.kernels.start_bound_ns != MISSING
    assert bounded.all()
    lost = simulate.simulate([Op("aten::relu", 9 * US, 600, 4 * US), *[view] * 240], backlog=10**9)
    assert not len(lost.trace.kernels)
    assert "elapsed_places_nothing" in codes(lost)


def test_sums_of_parts_are_sums_whatever_ran_on_the_cpu_instead() -> None:
    """The fallback copies around every operator; the backend adds up its kernels all the same."""
    events: list[make.Event] = []
    elapsed: dict[int, float | None] = {}
    for i in range(12):
        begin, number = i * 400, 3 * i + 1
        events.append(make.op("aten::linear", begin, begin + 300, id=number))
        events.append(make.op("aten::_to_cpu", begin + 50, begin + 90, id=number + 1))
        events.append(make.op("aten::add", begin + 200, begin + 230, id=number + 2))
        elapsed |= {number: 31.0 + i, number + 1: 20.0 + i, number + 2: 11.0}
    trace = simulate.infer_from(events, elapsed)
    assert "elapsed_kernel_sum" in codes_of(trace)


def codes_of(trace: Trace) -> set[str]:
    return {f.code for f in trace.meta.findings}
