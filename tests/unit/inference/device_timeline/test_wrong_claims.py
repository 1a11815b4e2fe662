"""Claims that launches or other phases refute cost themselves alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np

from tb_privateuse1.inference.device_timeline import event_pipeline
from tests.support import simulate
from tests.support.simulate import Op, linear, step

US = 1_000


def results_of(name: str, program: Sequence[Op]) -> tuple[simulate.Result, Any]:
    """The program behind a backlog, and what a phase of the pipeline returned."""
    kept: list[Any] = []
    phase = getattr(event_pipeline, name)

    def keep(*args: Any) -> Any:
        kept.append(phase(*args))
        return kept[-1]

    with mock.patch.object(event_pipeline, name, keep):
        result = simulate.simulate(program, backlog=500 * US)
    return result, kept[-1]


def layers(count: int, *between: Op) -> list[Op]:
    """Layers that keep the device behind, some operators in their middle, and a wait."""
    lengths = np.random.default_rng(7).integers(25_000, 65_000, count)
    ops = [linear(6 * US, int(ns)) for ns in lengths]
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    item = Op("aten::item", US, 500, children=(read,))
    return [*ops[: count // 2], *between, *ops[count // 2 :], item]


def test_one_wrong_claim_leaves_the_statistics_of_rounding() -> None:
    """All events up to the wait cross by it: how many says nothing of how many claims are wrong."""
    works = Op("aten::view", 20 * US, 500, 500 * US)
    quiet = layers(400)
    _, likely = results_of("solve_likely", [step(0, *layers(60, works)), step(1, *quiet)])
    assert likely.solution.lost >= 1
    assert likely.narrowed


def test_a_phase_claims_nothing_where_the_one_before_shows_work() -> None:
    """What is too quick to launch, and four times did not, worked for 500 us once."""
    rests, works = Op("aten::fill_", US, 200), Op("aten::fill_", US, 200, 500 * US)
    wait = Op("torch.cuda.synchronize", US, 500, blocking=True, category="user_annotation")
    program = [step(0, *layers(60, rests, rests, works, wait, rests, rests), wait)]
    result, cautious = results_of("solve_cautious", program)
    ops = result.trace.ops
    at = cautious.events.op[cautious.solution.dropped]
    names = {result.trace.strings[name] for name in ops.name[at].tolist()}
    assert names == {"aten::fill_"}
    assert len(at) == 1
