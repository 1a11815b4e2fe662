"""Generated jobs (``blame_jobs``) as they are found: with files that are missing, and restarts."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from msgspec.structs import fields, replace
from numpy.typing import NDArray

from benchmarks.blame_jobs import Simulated, parts
from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.analysis.ranks.step_parts import StepParts
from tb_privateuse1.views.reduced_traces import Rank

Gap = Literal["none", "files", "late", "attempt"]
"""``files``: a third of the ranks has no trace. ``late``: a quarter of them recorded from a third
of the steps on, as after a restart of these ranks. ``attempt``: the traces of a quarter are of an
earlier attempt, ten minutes before, with the same names of steps."""
GAPS: tuple[Gap, ...] = get_args(Gap)
_MISSING, _OTHER = 1 / 3, 1 / 4
_EARLIER_NS = 600 * 10**9


def recorded(job: Simulated, gap: Gap) -> tuple[Rank, ...]:
    """Return the ranks of a job with a gap. Ranks with a planted cause are recorded as they are."""
    chance = np.random.default_rng(job.seed + 1)
    planted = {rank for one in job.plants for rank in one.ranks}
    draws = chance.random(job.world)
    order = chance.permutation(job.begin.shape[1] - 1)
    found = []
    for number, part in enumerate(parts(job)):
        chosen = number not in planted and draws[number] < (_MISSING if gap == "files" else _OTHER)
        if chosen and gap == "files":
            continue
        found.append(Rank(number, f"w{number}", _altered(part, gap, order) if chosen else part))
    return tuple(found)


def _altered(part: RankPart, gap: Gap, order: NDArray[np.int64]) -> RankPart:
    if gap == "late":
        first = len(order) // 3
        since_ns = int(part.steps.duration_ns[:first].sum())
        return with_steps(
            replace(part, base_ns=(part.base_ns or 0) + since_ns), np.arange(first, len(order))
        )
    if gap == "attempt":
        earlier = with_steps(replace(part, base_ns=part.base_ns - _EARLIER_NS), order)
        return replace(earlier, steps=replace(earlier.steps, names=part.steps.names))
    return part


def with_steps(part: RankPart, chosen: NDArray[np.int64]) -> RankPart:
    """Return a part with some of its steps in an order, one behind the other, with their calls."""
    steps, calls = part.steps, part.calls
    begin = np.cumsum(steps.duration_ns) - steps.duration_ns
    lasts = steps.duration_ns[chosen]
    now = np.cumsum(lasts) - lasts
    rows = [np.flatnonzero(calls.step == step) for step in chosen.tolist()]
    row = np.concatenate(rows)
    place = np.repeat(np.arange(len(chosen)), [len(one) for one in rows])
    moved = calls.end_ns[row] - begin[chosen][place] + now[place]
    own = replace(
        calls,
        step=place.astype(np.int32),
        shape=calls.shape[row],
        duration_ns=calls.duration_ns[row],
        end_ns=moved,
    )
    idle = {name: ns[chosen] for name, ns in part.host.idle.items()}
    host = replace(part.host, idle=idle, held_ns=part.host.held_ns[chosen])
    return replace(part, steps=_rows_of(steps, chosen), calls=own, host=host)


def _rows_of(steps: StepParts, chosen: NDArray[np.int64]) -> StepParts:
    columns = {
        one.name: getattr(steps, one.name)[chosen]
        for one in fields(steps)
        if isinstance(getattr(steps, one.name), np.ndarray)
    }
    names = tuple(steps.names[at] for at in chosen.tolist())
    bounds = {name: ns[chosen] for name, ns in steps.bounds.items()}
    return replace(steps, names=names, bounds=bounds, **columns)
