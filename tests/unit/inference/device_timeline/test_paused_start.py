"""A thread that is preempted between an operator's first event and its start time."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import event_pairs, launching_operators
from tests.support.simulate import Op, Result, linear, simulate, step

US = 1_000
REST = Op("rest", 400 * US, 0, category="user_annotation")
MUL = Op("aten::mul", 6 * US, US, 3 * US)


def program(paused: int) -> list[Op]:
    """Short kernels that hide behind the host; one operator's thread is preempted."""
    late = replace(MUL, paused=paused)
    layer = linear(12 * US, 4 * US)
    return [step(0, layer, *[MUL] * 40, late, *[MUL] * 40, REST, layer)]


def inside(result: Result) -> bool:
    kernels = result.trace.kernels
    assert len(kernels) == len(result.start_ns)
    starts = np.abs(kernels.start_ns - result.start_ns) <= kernels.start_bound_ns
    length = result.end_ns - result.start_ns
    lengths = np.abs(kernels.end_ns - kernels.start_ns - length) <= kernels.duration_bound_ns
    return bool(starts.all() and lengths.all())


def room(result: Result) -> list[int]:
    """How much earlier than its time stamp each launching operator's first event may be, in us."""
    ops = result.trace.ops
    events = event_pairs.pair_events(ops)
    busy = np.zeros(len(events), np.bool_)
    keys = launching_operators.operator_keys(ops)
    wide = event_pairs.make_room_for_preemption(events, ops, busy, keys)
    early = ops.start_ns - wide.host_low_ns[events.start]
    return (early[np.isin(ops.external_id, result.ids)] // US).tolist()


@pytest.mark.parametrize("paused", [0, 60 * US, 300 * US])
def test_a_pause_before_the_time_stamp_is_no_backlog(paused: int) -> None:
    """The elapsed time holds the pause, which nothing on the host shows."""
    result = simulate(program(paused), shapes={"Input Dims": [[8, 8]]})
    assert inside(result)
    wide = [us for us in room(result) if us > 10]
    assert len(wide) == (paused > 0)
    assert all(paused // US <= us <= paused // US + 3 for us in wide)


def test_longer_work_after_a_rest_is_work_if_it_always_is() -> None:
    """The thread rests before each step's first operator, whose kernel takes long each time."""
    long = Op("aten::addmm", 12 * US, US, 300 * US)
    result = simulate([step(0, *[REST, long, *[linear(12 * US, 30 * US)] * 6] * 6)])
    assert inside(result)
    assert max(room(result)) < 10


def behind_and_paused(seed: int) -> list[Op]:
    """Layers whose device is a little behind the host, and two pauses inside of such layers."""
    chance = random.Random(seed)
    paused = {random.Random(seed + 99).randrange(5, 38), 20}
    short = [Op("aten::silu", 5 * US, US, 12 * US), Op("aten::mul", 5 * US, US, 7 * US)]
    ops = []
    for i in range(40):
        layer = linear(9 * US, chance.choice([14, 56, 60]) * US)
        if i in paused:
            view, product = layer.children
            layer = replace(layer, children=(view, replace(product, paused=70 * US)))
        ops += [layer, chance.choice(short), chance.choice(short)]
        if chance.random() < 0.25:
            rest = chance.choice([20, 60, 90]) * US
            ops.append(Op("user", rest, 0, category="user_annotation"))
    wait = Op("synchronize", US, 500, blocking=True, category="user_annotation")
    middle = len(ops) // 2
    return [step(0, *ops[:middle], wait), step(1, *ops[middle:], wait)]


@pytest.mark.parametrize("seed", [0, 17, 20])
def test_a_pause_inside_of_a_range_moves_nothing_before_it(seed: int) -> None:
    """The event behind the pause is not late, and so the begin of the range around is not."""
    result = simulate(behind_and_paused(seed), shapes={"Input Dims": [[8, 8]]})
    assert inside(result)
    assert not result.trace.meta.unseen_work
