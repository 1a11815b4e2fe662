"""Rank the estimated savings: each operator, kernel or kind of work twice as fast, or removed.

Within a step a saving is at most the time on the critical path, as the rest of the path remains. So
items with most time there are replayed, and items without any are not. For a long recording a few
steps are replayed, which limits time and memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import CLASSES, NAMES, NUMBER
from tb_privateuse1.analysis.account.host_activity import KERNELS, LAUNCHES, OPS
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation import (
    changes,
    critical_path,
    dependency_graph,
    excerpt,
    prediction,
)
from tb_privateuse1.analysis.simulation.changes import UNSCALED, Change, Kind
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.path_classes import Path, outside
from tb_privateuse1.analysis.simulation.prediction import Baseline, GainRange
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.interruption import checkpoint
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64

_WORK = 20_000_000
"""Nodes replayed for the table, some seconds at most."""

_REPLAYS = 3
"""Replays per row besides those under each assumption: twice as fast; removed; a data loader
removed in part."""

_LEAST = 3
"""The rows that also the largest step has, however long they take."""

_TOGETHER = 1 << 19
"""Nodes times rows that are replayed together: their weights take 200 MB at most."""

_EVENTS = 250_000
"""In a trace with more events, steps from the middle are ranked, so that every row can be
replayed."""


class Gain(Struct, frozen=True):
    """The saving of one item, per step.

    The range is that of the item removed; null if it is not known.
    """

    kind: Kind
    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    on_path_ns: int
    """Its time on the critical path of the recording: the limit of the saving within a step."""
    half_gain_ns: int
    half_gain_share: float
    free_gain_ns: int
    free_gain_share: float
    free_gain_low_ns: int | None
    free_gain_high_ns: int | None


class Ranking(Struct, frozen=True):
    """The rows, the number of steps that they cover, and the number of rows left out."""

    rows: tuple[Gain, ...]
    steps: int
    left_out: int
    """Requested rows that would take too long to replay."""


def rank_gains(
    trace: Trace,
    graph: Graph,
    path: Path,
    base: Baseline,
    judged: JudgedPart,
    limit: int,
    made: tuple[Change, ...] = (),
) -> Ranking:
    """Return the items with the largest savings, at most ``limit``; fewer for a large step.

    Savings are those of the step with the changes ``made``; candidates are on the recorded path.
    """
    rows = judged.steps
    if not len(rows) or not len(graph.time_ns):
        return Ranking((), len(rows), 0)
    part = excerpt.cut_excerpt(trace, rows, _EVENTS)
    if part is not None and part.trace is not trace:
        trace, rows = part.trace, part.steps
        graph = dependency_graph.build_graph(trace)
        path, base = (
            critical_path.find_critical_path(trace, graph),
            prediction.replay_baseline(trace, graph, judged.apart),
        )
    path = outside(path.take(np.isin(path.step, rows)), judged.apart)
    recorded = base
    if made:
        graph, base = prediction.change_baseline(trace, graph, base, made)
    replays = _REPLAYS + len(base.assumptions.names)
    most = max(_LEAST, _WORK // (replays * len(graph.time_ns)))
    wanted = sorted(_candidates(trace, path), key=lambda found: -found[2])
    gained = float((recorded.held[rows] - base.held[rows]).mean())
    step = max(float(judged.lengths_ns.mean()) - gained, 1.0)
    tried = wanted[: min(most, limit)]
    gains = _gains(trace, graph, base, rows, [(kind, name) for kind, name, _ in tried])
    found = []
    for (kind, name, most_ns), (free, half) in zip(tried, gains, strict=True):
        is_ranged = kind in _RANGED
        scope = changes.change_scope(trace, Change(kind, name, 0)) if is_ranged else None
        on_path = most_ns if scope is None else _on_path(path, scope)
        found.append(
            Gain(
                kind=kind,
                **name_fields(name, kernel=kind == "kernel"),
                on_path_ns=round(on_path / len(rows)),
                half_gain_ns=half,
                half_gain_share=half / step,
                free_gain_ns=free.gain_ns,
                free_gain_share=free.gain_ns / step,
                free_gain_low_ns=free.low_ns,
                free_gain_high_ns=free.high_ns,
            )
        )
    found.sort(key=lambda row: (-row.free_gain_ns, row.kind, row.name))
    return Ranking(tuple(found), len(rows), min(len(wanted), limit) - len(found))


def _gains(
    trace: Trace, graph: Graph, base: Baseline, rows: I64, items: Sequence[tuple[Kind, str]]
) -> Iterator[tuple[GainRange, int]]:
    """Yield the gain of each item removed, and that of it twice as fast.

    With half of an item's time the gain is at most that without it. A device that was behind
    catches up in the first steps, which may not be judged: the more of an item stays, the more of
    that falls into the judged ones.
    """
    halves = [(Change(kind, name, 0.5),) for kind, name in items if kind not in UNSCALED]
    weights = [
        base.assumptions.judged(graph.weights, changes.apply_changes(graph, trace, made))
        for made in halves
    ]
    lengths = prediction.durations_each(graph, weights)
    size = max(_TOGETHER // len(graph.time_ns), 1)
    for first in range(0, len(items), size):
        checkpoint(first, len(items))
        some = items[first : first + size]
        free = [(Change(kind, name, 0),) for kind, name in some]
        found = prediction.predict_each(trace, graph, base, free)
        for (kind, _), predicted in zip(some, found, strict=True):
            gain = predicted.mean(rows)
            if kind in UNSCALED:
                yield gain, gain.gain_ns
            else:
                scaled = round(float((base.held - next(lengths))[rows].mean()))
                yield gain, min(scaled, max(gain.gain_ns, 0))


_RANGED = ("operator", "category", "kernel")


def _on_path(path: Path, scope: changes.Scope) -> int:
    """Return the path's time within the scope of a change."""
    spent = path.end_ns - path.start_ns
    ran = np.flatnonzero(np.isin(path.time_class, _RAN))
    device = ran[scope.kernels[path.row[ran]]]
    total = int(spent[device].sum())
    for thread, set_ in scope.ranges.by_thread():
        own = path.thread == thread
        total += int(intervals.covered_length(set_, path.start_ns[own], path.end_ns[own]).sum())
    return total


def _candidates(trace: Trace, path: Path) -> Iterator[tuple[Kind, str, int]]:
    """Yield the items with time on the path: kind, name, ns over the chosen steps."""
    spent = path.end_ns - path.start_ns
    row, device = _operators(trace, path)
    known = row >= 0
    name = lookup(trace.ops.name, row, NONE)
    inner = dict(_sums(name[known], spent[known]))
    outer = _outermost(trace, row[known])
    around = dict(_sums(trace.ops.name[outer], spent[known]))
    works: dict[str, int] = {}
    for n in {**inner, **around}:
        yield "operator", trace.text(n), max(inner.get(n, 0), around.get(n, 0))
    for n, ns in inner.items():
        kind = kinds_of_work.kind_of(trace.text(n), trace.vendor)
        works[kind] = works.get(kind, 0) + ns
    for word, ns in works.items():
        yield "category", word, ns
    for n, ns in _sums(trace.kernels.name[path.row[device]], spent[device]):
        yield "kernel", trace.text(n), ns
    yield from _others(path)


def _others(path: Path) -> Iterator[tuple[Kind, str, int]]:
    spent = path.end_ns - path.start_ns
    ns = {name: int(spent[path.time_class == i].sum()) for i, name in enumerate(NAMES)}
    whole: tuple[tuple[Kind, int], ...] = (
        ("communication", ns["exposed_communication"]),
        ("copies", ns["exposed_copy"]),
        ("data_loader", ns["input"]),
        ("launches", ns["launch_call"] + ns["launch_latency"]),
        ("synchronization", _behind_waits(path)),
    )
    yield from ((kind, "", most) for kind, most in whole if most)


def _behind_waits(path: Path) -> int:
    """Return the path's time on the device if it returns to the host.

    Removing waits saves no more than this.
    """
    if not np.isin(path.time_class, _WAITS).any():
        return 0
    device = (path.table == KERNELS) & (path.time_class != NUMBER["before_recording"])
    return int((path.end_ns - path.start_ns)[device].sum())


def _outermost(trace: Trace, rows: I64) -> I64:
    """Return the outermost operator around each operator, or itself."""
    ops = trace.ops
    works = (ops.kind == OPERATOR) & ~np.isin(ops.name, trace.steps.name)
    up = np.where(lookup(works, ops.parent, False), ops.parent, np.arange(len(ops)))
    while (up[up] != up).any():
        up = up[up]
    return up[rows]


def _operators(trace: Trace, path: Path) -> tuple[I64, I64]:
    """Return the operator of each piece (or ``NONE``), and which pieces are activities."""
    launches, kernels = trace.launches, trace.kernels
    row = np.full(len(path), NONE)
    of_ops = (path.table == OPS) & (path.time_class == NUMBER["dispatch"])
    row[of_ops] = path.row[of_ops]
    calls = path.table == LAUNCHES
    row[calls] = launches.op[path.row[calls]]
    device = np.flatnonzero((path.table == KERNELS) & np.isin(path.time_class, _RAN))
    row[device] = kernels.op[path.row[device]]
    return row, device


_RAN = [NUMBER[one.name] for one in CLASSES if one.group == "device"]
_WAITS = [NUMBER["synchronization"], NUMBER["blocking_copy"]]


def _sums(names: I64 | I32, spent: I64) -> list[tuple[int, int]]:
    if not len(names):
        return []
    total = sums(names, spent, int(names.max()) + 1)
    return [(int(n), int(total[n])) for n in np.flatnonzero(total)]
