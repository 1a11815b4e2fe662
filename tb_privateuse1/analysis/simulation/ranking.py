"""Rank the estimated savings: each operator, kernel or kind of work twice as fast, or removed.

Within a step a saving is at most the time on the critical path, as the rest of the path remains. So
items with most time there are replayed, and items without any are not. For a long recording a few
steps are replayed, which limits time and memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account.classes import CLASSES
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation import (
    baseline,
    candidates,
    changes,
    critical_path,
    prediction,
    scopes,
)
from tb_privateuse1.analysis.simulation.baseline import Baseline
from tb_privateuse1.analysis.simulation.candidates import Candidate
from tb_privateuse1.analysis.simulation.changes import UNSCALED, Change, Kind
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.path_classes import Path, outside
from tb_privateuse1.analysis.simulation.prediction import GainRange
from tb_privateuse1.analysis.simulation.replayed_part import ReplayedPart
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_WORK = 20_000_000
"""Nodes replayed for the table, some seconds at most."""

_REPLAYS = 3
"""Replays per row besides those under each assumption: twice as fast; removed; a data loader
removed in part."""

_LEAST = 3
"""The rows that also the largest step has, however long they take."""

_ALIASES = 2
"""Candidates that are replayed for each row that is wanted: some are of one thing."""

_ALIKE = 0.01
"""Gains that differ by a lesser share are those of one thing."""

_CHOICES = 500
"""Names offered for completion: more cannot be read."""


class Gain(Struct, frozen=True):
    """The saving of one item, per step.

    The range is that of the item removed; null if it is not known.
    """

    kind: Kind
    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; of a class: its name in a change; null if that is
    ``name``."""
    on_path_ns: int
    """Its time on the critical path of the recording: the limit of the saving within a step."""
    half_gain_ns: int
    half_gain_share: float
    free_gain_ns: int
    free_gain_share: float
    free_gain_low_ns: int | None
    free_gain_high_ns: int | None
    aliases: tuple[str, ...]
    """Other names of the same thing, as changes: same activities, and the same gain."""


class Choice(Struct, frozen=True):
    """A change to choose, per step."""

    text: str
    """Such as ``kernel:gemm``, to which a factor is added."""
    on_path_ns: int
    free_gain_ns: int | None
    """Its gain if it is removed; null if it was not replayed."""


class Ranking(Struct, frozen=True):
    """The rows, the number of steps that they cover, and the number of rows left out."""

    rows: tuple[Gain, ...]
    choices: tuple[Choice, ...]
    """All candidates, at most 500: what gains most first, then by time on the path."""
    steps: int
    left_out: int
    """Requested rows that would take too long to replay."""


def rank_gains(
    trace: Trace,
    replay: ReplayedPart,
    path: Path,
    judged: JudgedPart,
    limit: int,
    made: tuple[Change, ...] = (),
) -> Ranking:
    """Return the items with the largest savings, at most ``limit``; fewer for a large step.

    ``path`` is that of the whole trace. Savings are those of the step with the changes ``made``;
    candidates are on the recorded path.
    """
    rows, graph, recorded = replay.steps, replay.graph, replay.base
    if not len(rows) or not len(graph.time_ns):
        return Ranking((), (), len(rows), 0)
    if replay.trace is not trace:
        trace = replay.trace
        path = critical_path.find_critical_path(trace, graph)
    path = outside(path.take(np.isin(path.step, rows)), judged.apart)
    if made:
        base = baseline.change_baseline(trace, graph, recorded, replay.made(made))
        replay = replace(replay, base=base)
    base = replay.base
    wanted = candidates.candidates(trace, path)
    recorded_ns = _mean_step(judged, recorded, base, rows)
    tried = wanted[: min(_most_replayed(graph, base), _ALIASES * limit)]
    scope = [changes.change_scope(trace, Change(one.kind, one.name, 0)) for one in tried]
    gains = list(_gains(replay, tried))
    free_ns = [free.gain_ns for free, _ in gains]
    same = _same_things(scope, free_ns, graph.latency_ns)
    found = []
    for i, others in same.items():
        one, (free, half) = tried[i], gains[i]
        net_ns = replay.net_ns(recorded_ns, (Change(one.kind, one.name, 0),))
        on_path = one.on_path_ns
        if one.kind in _RANGED:
            on_path = candidates.scope_on_path(path, scope[i])
        found.append(
            Gain(
                kind=one.kind,
                **_names(one),
                aliases=tuple(tried[j].text for j in others),
                on_path_ns=round(on_path / len(rows)),
                half_gain_ns=half,
                half_gain_share=prediction.share_of(half, net_ns),
                free_gain_ns=free.gain_ns,
                free_gain_share=prediction.share_of(free.gain_ns, net_ns),
                free_gain_low_ns=free.low_ns,
                free_gain_high_ns=free.high_ns,
            )
        )
    found.sort(key=lambda row: (-row.free_gain_ns, row.kind, row.name))
    return Ranking(
        rows=tuple(found[:limit]),
        choices=_choices(wanted, free_ns, len(rows)),
        steps=len(rows),
        left_out=max(min(len(wanted), limit) - len(tried), 0),
    )


def _most_replayed(graph: Graph, base: Baseline) -> int:
    """Return how many candidates are replayed in a bounded time."""
    replays = _REPLAYS + len(base.assumptions.names)
    return max(_LEAST, _WORK // (replays * len(graph.time_ns)))


def _mean_step(judged: JudgedPart, recorded: Baseline, base: Baseline, rows: I64) -> float:
    """Return the mean length of the steps, with what the changes of ``base`` gain."""
    gained = float((recorded.held[rows] - base.held[rows]).mean())
    return max(float(judged.lengths_ns.mean()) - gained, 1.0)


def _names(one: Candidate) -> dict[str, Any]:
    """Return the name that people read, and the one in a change if that is another."""
    if one.kind == "class":
        label = next(each.label for each in CLASSES if each.name == one.name)
        return {"name": label, "full_name": one.name}
    return name_fields(one.name, kernel=one.kind == "kernel")


def _choices(wanted: Sequence[Candidate], free_ns: Sequence[int], steps: int) -> tuple[Choice, ...]:
    """Return the candidates to choose from; the first ones have gains."""
    found = [
        Choice(one.text, round(one.on_path_ns / steps), ns)
        for one, ns in itertools.zip_longest(wanted[:_CHOICES], free_ns)
        if one is not None
    ]
    return tuple(sorted(found, key=lambda one: (-(one.free_gain_ns or 0), -one.on_path_ns)))


def _same_things(
    scope: Sequence[Scope], free_ns: Sequence[int], least_ns: int
) -> dict[int, list[int]]:
    """Return the items that stand for others, and these.

    Two names are of one thing if they have the same activities, one's ranges lie in the other's,
    and both gain as much, but for what is too little to be known. The one with the greater gain
    stands for the other.
    """
    found: dict[int, list[int]] = {}
    for i in sorted(range(len(scope)), key=lambda i: -free_ns[i]):
        for j in found:
            near = free_ns[j] - free_ns[i] <= max(_ALIKE * abs(free_ns[j]), least_ns)
            if near and scopes.are_nested(scope[i], scope[j]):
                found[j].append(i)
                break
        else:
            found[i] = []
    return found


_RANGED = ("operator", "category", "kernel", "function", "call")


def _gains(replay: ReplayedPart, items: Sequence[Candidate]) -> Iterator[tuple[GainRange, int]]:
    """Yield the gain of each item removed, and that of it twice as fast.

    With half of an item's time the gain is at most that without it. A device that was behind
    catches up in the first steps, which may not be judged: the more of an item stays, the more of
    that falls into the judged ones.
    """
    halves = [(Change(one.kind, one.name, 0.5),) for one in items if one.kind not in UNSCALED]
    scaled = iter(replay.gains(halves))
    free = replay.predict([(Change(one.kind, one.name, 0),) for one in items])
    for one, predicted in zip(items, free, strict=True):
        gain = predicted.mean(replay.steps)
        if one.kind in UNSCALED:
            yield gain, gain.gain_ns
        else:
            yield gain, min(next(scaled), max(gain.gain_ns, 0))
