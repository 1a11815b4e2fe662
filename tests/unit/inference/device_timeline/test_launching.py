"""Operators that launch device work, by evidence beyond their names."""

from __future__ import annotations

from typing import Any

from tests.support import make, simulate
from tests.support.simulate import Machine, Op, step

US = 1_000


def spurious(machine: Machine, *instants: dict[str, Any]) -> list[int]:
    """The external ids of operators with a kernel that launched none."""
    events = [*machine.events, *instants]
    trace = simulate.infer_from(events, machine.elapsed, launch_latency_ns=simulate.LATENCY)
    ids = trace.ops.external_id[trace.kernels.op]
    assert set(machine.kernels) <= set(ids.tolist())
    return [i for i in ids.tolist() if i not in machine.kernels]


def test_an_operator_that_took_memory_of_the_host_launched_nothing() -> None:
    """The same operator on the same shapes, once per step on a tensor of the host."""
    machine = Machine(shapes={"Input Dims": [[64, 64]]})
    instants = []
    for i in range(4):
        on_host = Op("aten::mul", 9 * US, US, children=(Op("aten::empty", US, 500),))
        on_device = Op("aten::mul", 9 * US, US, 15 * US, children=(Op("aten::empty", US, 500),))
        first = len(machine.events) + 1
        machine.run(step(i, on_device, on_device, on_host))
        for number in (first + 2, first + 4, first + 6):
            inside = machine.events[number - 1]["ts"] + 0.3
            instants.append(make.memory(inside, 4096, 4096, 0 if number == first + 6 else 20))
    assert spurious(machine, *instants) == []


def test_calls_in_different_places_are_judged_apart() -> None:
    """A backlog shows that the optimizer's ``add_`` does nothing; the model's does."""
    machine = Machine(shapes={"Input Dims": [[64, 64]]})
    for i in range(3):
        model = [Op("aten::linear", US, US, children=(Op("aten::add_", 8 * US, US, 60 * US),))] * 3
        scalars = [Op("aten::add_", 8 * US, US)] * 9
        update = Op(
            "Optimizer.step#AdamW.step", US, US, children=scalars, category="user_annotation"
        )
        machine.run(step(i, *model, update))
    assert spurious(machine) == []


def test_without_device_time_between_its_events_an_operator_launched_nothing() -> None:
    """Also where it is not known whether the device was behind."""
    machine = Machine()
    quick = Op("aten::add_", 300, 200)
    for i in range(3):
        machine.run(step(i, *[quick] * 4, Op("aten::mm", 8 * US, US, 90 * US), *[quick] * 4))
    assert spurious(machine) == []


def test_one_call_without_visible_work_does_not_outvote_those_that_worked() -> None:
    """A quick operator's kernel is once so short that it does not show between two events."""
    machine = Machine(gap=0, shapes={"Input Dims": [[64, 64]]})
    behind = Op("aten::mm", 8 * US, US, 90 * US)
    fill = Op("aten::fill_", US, 500, 6 * US)
    tiny = Op("aten::fill_", US, 500, 100)
    for i in range(3):
        machine.run(step(i, *[behind] * 3, fill, fill, tiny if i == 1 else fill, behind))
    shown = {number for number, (begin, end) in machine.kernels.items() if end - begin > US}
    trace = simulate.infer_from(machine.events, machine.elapsed, launch_latency_ns=simulate.LATENCY)
    found = set(trace.ops.external_id[trace.kernels.op].tolist())
    assert shown <= found <= set(machine.kernels)


def test_a_backend_may_implement_what_torch_composes() -> None:
    """Torch composes ``isfinite`` of others; here it has a kernel, and a view has none."""
    layer = Op("aten::mm", 20_000, 3_000, 4_000)
    own = Op("aten::isfinite", 9_000, 3_000, 25_000)
    view = Op("aten::view", 9_000, 3_000)
    result = simulate.simulate([step(i, layer, own, view, layer) for i in range(6)])
    ops = result.trace.ops
    launched = [result.trace.strings[name] for name in ops.name[result.trace.kernels.op].tolist()]
    assert launched == ["aten::mm", "aten::isfinite", "aten::mm"] * 6
