"""Find the critical path: the chain of events that determines when a step ends.

Each node happens when the last of its dependencies allows: that one is binding. Following binding
dependencies back from a step's end covers the step's window without gap or overlap. So the path is
as long as the step, to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.account.classes import NUMBER
from tb_privateuse1.analysis.account.host_activity import KERNELS, LAUNCHES, OPS, TABLES
from tb_privateuse1.analysis.simulation import delays, replay
from tb_privateuse1.analysis.simulation.dependency_graph import LAUNCH, STREAM, TURN, WAIT, Graph
from tb_privateuse1.analysis.simulation.replay import NEVER
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.model import MEMCPY, MEMSET, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I64, Table

_OF_DELAY = np.array(
    [*(NUMBER[delays.CLASS_OF[name]] for name in delays.DELAYS), NUMBER["unattributed"]], np.int64
)
"""By cause of a delay; the last entry is for ``NONE``."""

_OF_EDGE = {
    LAUNCH: NUMBER["launch_latency"],
    WAIT: NUMBER["synchronization"],
    TURN: NUMBER["dispatch"],
    STREAM: NUMBER["queued_gap"],
}
_KERNEL, _PYTHON = NUMBER["kernel"], NUMBER["python"]

_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Path(Table):
    """Pieces of all steps' paths, by time; the pieces of a step tile its window.

    ``time_class`` is an index into ``account.classes.NAMES``. ``row`` is a row of the table
    ``table`` (an index into ``host_activity.TABLES``): the event that spends the time, or that
    waits; ``NONE`` without one. ``thread`` is set for the host's own time, else ``NONE``.
    """

    step: I64
    start_ns: I64
    end_ns: I64
    time_class: I8
    table: I8
    row: I64
    thread: I64


def find_critical_path(trace: Trace, graph: Graph) -> Path:
    """Return the critical path of every step."""
    steps, n = trace.steps, len(graph.time_ns)
    binding, by = _binding(graph)
    last = _lasts(graph, steps.end_ns)
    rows = np.flatnonzero((last != NONE) & (steps.end_ns > steps.start_ns))
    order = np.argsort(graph.time_ns, kind="stable")
    sorted_ = graph.time_ns[order]
    low = np.searchsorted(sorted_, steps.start_ns, side="right")
    high = np.searchsorted(sorted_, steps.end_ns, side="right")
    place = np.full(n + 1, NONE)  # nodes without dependencies read the last one
    paths = [np.empty(0, np.int64)]
    for row in rows.tolist():
        nodes = np.append(order[low[row] : high[row]], last[row])
        place[nodes] = np.arange(len(nodes))
        local = place[binding[nodes]]
        place[nodes] = NONE
        paths.append(nodes[replay.ancestors(local, np.array([len(nodes) - 1]))])
    path = np.concatenate(paths)
    step = np.repeat(rows, [len(one) for one in paths[1:]])
    found = _pieces(graph, path, step, binding[path], by[path], last[rows], rows)
    found = _concat([found, _rest(trace, graph, last[rows], rows)])
    return _resolved(trace, _clipped(found, steps.start_ns[found.step], steps.end_ns[found.step]))


def _binding(graph: Graph) -> tuple[I64, I64]:
    """Return the binding dependency of each node, and its edge (``NONE``: the chain).

    A node that waits for work from before the recording has none.
    """
    time, weights = graph.time_ns, graph.weights
    best = np.full(len(time), np.iinfo(np.int64).min)
    has = np.flatnonzero(graph.before >= 0)
    before = graph.before[has]
    best[has] = time[before] + weights.length[before] + weights.gap[has]
    binding, by = graph.before.copy(), np.full(len(time), NONE)
    came = time[graph.edges.source] + weights.length[graph.edges.source] + weights.edge_gap
    rows = np.argsort(came, kind="stable")  # so that the latest is written last
    rows = rows[came[rows] > best[graph.edges.target[rows]]]
    binding[graph.edges.target[rows]] = graph.edges.source[rows]
    by[graph.edges.target[rows]] = rows
    np.maximum.at(best, graph.edges.target, came)
    fixed = (weights.at > NEVER) & (weights.at > best)
    return np.where(fixed, NONE, binding), np.where(fixed, NONE, by)


def _lasts(graph: Graph, stop: I64) -> I64:
    """Return the node that ends each step's window, or ``NONE``."""
    ends = graph.time_ns[graph.end_node] + graph.weights.length[graph.end_node]
    inside = np.flatnonzero(ends <= stop[graph.end_step])
    # Sorted so that the latest is written last, and of equal ones the first.
    order = inside[np.lexsort((-inside, ends[inside]))]
    last = np.full(len(stop), NONE)
    last[graph.end_step[order]] = graph.end_node[order]
    return last


def _pieces(graph: Graph, path: I64, step: I64, bound: I64, by: I64, last: I64, steps: I64) -> Path:
    """Return the pieces between consecutive nodes of a path, before operators are looked up.

    ``step``, ``bound`` and ``by`` are each node's; ``last`` is the end of each of ``steps``. The
    host's own time has its thread and no row.
    """
    time, weights, n = graph.time_ns, graph.weights, len(graph.points)
    has = bound >= 0
    device = path >= n
    begun = np.where(has, time[bound] + weights.length[bound], np.iinfo(np.int64).min)
    ready = time[path] - weights.delay[path]
    kind = np.append(graph.edges.kind, -1)[by]
    delay = _OF_DELAY[graph.delay_cause[path]]
    early = ~has & (graph.delay_cause[path] == delays.BEFORE_RECORDING)
    time_class = np.select(
        [kind == edge for edge in _OF_EDGE],
        list(_OF_EDGE.values()),
        np.where(device, NUMBER["queued_gap"], _PYTHON),
    )
    queue = np.append(graph.waits.queue, False)[np.append(graph.edges.wait, NONE)[by]]
    time_class = np.where((kind == WAIT) & queue, NUMBER["launch_call"], time_class)
    # A node without dependencies: its thread's own time, or what it waited for is not recorded.
    time_class = np.where(has, time_class, np.where(device | early, delay, _PYTHON))
    # A latency and a pause belong to the activity behind, a return to the awaited activity.
    of = np.where(device, path - n, np.where(has & (bound >= n), bound - n, NONE))
    host = time_class == _PYTHON
    thread = np.append(graph.points.thread.astype(np.int64), NONE)[np.where(host, path, -1)]
    table, row = _calls(graph, path)
    waited = _path(
        step, begun, ready, time_class, np.where(early, row, np.where(host, NONE, of)), thread,
        np.where(early, table, KERNELS),
    )  # fmt: skip
    late = _path(step, ready, time[path], delay, row, NONE, table)
    ran = np.concatenate((bound[has & (bound >= n)], last[last >= n]))
    of_step = np.concatenate((step[has & (bound >= n)], steps[last >= n]))
    key = np.unique(of_step * len(time) + ran)  # an activity may bind several
    of_step, ran = key // len(time), key % len(time)
    work = _path(of_step, time[ran], time[ran] + weights.length[ran], _KERNEL, ran - n, NONE)
    return _concat([waited, late, work])


def _rest(trace: Trace, graph: Graph, last: I64, steps: I64) -> Path:
    """Return the pieces behind the last node of each step: another thread ends the recording."""
    ends = np.concatenate((trace.ops.end_ns, trace.launches.end_ns))
    threads = np.concatenate((trace.ops.thread, trace.launches.thread))
    thread = int(threads[np.argmax(ends)]) if len(ends) else NONE
    end = graph.time_ns[last] + graph.weights.length[last]
    time_class = NUMBER["unattributed"] if thread == NONE else _PYTHON
    return _path(steps, end, np.full(len(end), _END), time_class, NONE, thread)


def _calls(graph: Graph, path: I64) -> tuple[I64, I64]:
    """Return table and row of each node: of an activity, or of the call whose return it is."""
    waits, n = graph.waits, len(graph.points)
    wait = np.full(len(graph.time_ns), NONE)
    wait[graph.wait_end] = np.arange(len(waits.start_ns))
    launch = np.append(waits.launch, np.int32(NONE))[wait[path]].astype(np.int64)
    op = np.append(waits.op, np.int32(NONE))[wait[path]].astype(np.int64)
    call = launch >= 0
    device = path >= n
    table = np.where(device, KERNELS, np.where(call, LAUNCHES, OPS))
    return table, np.where(device, path - n, np.where(call, launch, op))


def _path(
    step: I64,
    start: I64,
    end: I64,
    time_class: I64 | int,
    row: I64 | int,
    thread: I64 | int,
    table: I64 | int = KERNELS,
) -> Path:
    n = len(start)

    def column(values: I64 | int, dtype: type[np.generic] = np.int64) -> NDArray[Any]:
        return np.broadcast_to(np.asarray(values, dtype), n).copy()

    return Path(
        step=step,
        start_ns=start,
        end_ns=end,
        time_class=column(time_class, np.int8),
        table=column(table, np.int8),
        row=column(row),
        thread=column(thread),
    )


def _clipped(path: Path, start_ns: I64, stop_ns: I64) -> Path:
    """Return the part of each piece that lies within its step."""
    start_ns, end_ns = np.maximum(path.start_ns, start_ns), np.minimum(path.end_ns, stop_ns)
    return replace(path, start_ns=start_ns, end_ns=end_ns).take(np.flatnonzero(end_ns > start_ns))


def _concat(paths: list[Path]) -> Path:
    columns = [dict(path.columns()) for path in paths]
    return Path(**{name: np.concatenate([c[name] for c in columns]) for name in columns[0]})


def _resolved(trace: Trace, path: Path) -> Path:
    """Return the path with operators and calls for host time, and the kind of each activity."""
    host = path.thread >= 0
    pieces = [_of_device(trace, path.take(~host))]
    own = path.take(host)
    for thread in np.unique(own.thread).tolist():
        pieces.append(_of_thread(trace, own.take(own.thread == thread), thread))
    found = _concat(pieces)
    return found.take(np.lexsort((found.start_ns, found.step)))


def _of_device(trace: Trace, path: Path) -> Path:
    """Return the other pieces, with the class of each activity that runs."""
    kernels = trace.kernels
    row = np.where(path.time_class == _KERNEL, path.row, NONE)
    kind = np.append(kernels.kind, np.int8(NONE))[row]
    time_class = np.select(
        [np.append(kernels.communication, False)[row], kind == MEMCPY, kind == MEMSET],
        [NUMBER["exposed_communication"], NUMBER["exposed_copy"], NUMBER["exposed_fill"]],
        path.time_class,
    )
    return replace(path, time_class=time_class.astype(np.int8))


def _of_thread(trace: Trace, path: Path, thread: int) -> Path:
    """Return a thread's own time, cut where it enters and leaves operators and calls."""
    ops, launches = trace.ops, trace.launches
    rows, calls = np.flatnonzero(ops.thread == thread), np.flatnonzero(launches.thread == thread)
    start = np.concatenate((ops.start_ns[rows], launches.start_ns[calls]))
    end = np.concatenate((ops.end_ns[rows], launches.end_ns[calls]))
    # Rows of launches are numbered behind those of operators.
    row = np.concatenate((rows, calls + len(ops)))
    around = np.concatenate((ops.parent[rows], _around(trace, rows, calls)))
    number = np.arange(len(row))
    # At one instant, inner ranges end before outer ones, then outer ones begin before inner ones.
    order = np.lexsort((
        np.concatenate((-number, number)),
        np.concatenate((-start, -end)),
        np.repeat([0, 1], len(row)),
        np.concatenate((end, start)),
    ))  # fmt: skip
    at = np.concatenate((end, start))[order]
    owner = np.concatenate((around, row))[order]
    by_start = np.argsort(path.start_ns, kind="stable")
    path = path.take(by_start)
    # Each piece is cut at the instants inside it.
    low = np.searchsorted(at, path.start_ns, side="right")
    high = np.searchsorted(at, path.end_ns, side="left")
    cuts = np.maximum(high - low, 0)
    piece = np.repeat(np.arange(len(path)), cuts + 1)
    place = np.arange(len(piece)) - np.repeat(np.cumsum(cuts + 1) - cuts - 1, cuts + 1)
    index = np.repeat(low, cuts + 1) + place - 1
    time = np.append(at, 0)
    starts = np.where(place == 0, path.start_ns[piece], time[index])
    final = place == np.repeat(cuts, cuts + 1)
    ends = np.where(final, path.end_ns[piece], time[index + 1])
    of = np.where(index >= 0, np.append(owner, NONE)[index], NONE)
    keep = np.flatnonzero(ends > starts)
    of, piece = of[keep], piece[keep]
    call = of >= len(ops)
    own = np.where(call, NONE, of)
    loader = call_tree.starts_with(trace, call_tree.LOADER)[ops.name]
    # An operator inside of the data loader prepares a batch, too.
    loader |= intervals.nearest(ops.parent, loader) >= 0
    loads = np.append(loader, False)[own]
    works = np.append((ops.kind == OPERATOR) & ~np.isin(ops.name, trace.steps.name), False)[own]
    time_class = np.select(
        (call, loads, works),
        (NUMBER["launch_call"], NUMBER["input"], NUMBER["dispatch"]),
        _PYTHON,
    )
    return Path(
        step=path.step[piece],
        start_ns=starts[keep],
        end_ns=ends[keep],
        time_class=time_class.astype(np.int8),
        table=np.where(call, LAUNCHES, OPS).astype(np.int8),
        row=np.where(call, of - len(ops), of),
        thread=np.full(len(keep), thread),
    )


def _around(trace: Trace, rows: I64, calls: I64) -> I64:
    """Return the innermost range around each call of a thread, annotations included."""
    ops, launches = trace.ops, trace.launches
    found = launches.op[calls].astype(np.int64)
    alone = np.flatnonzero(found < 0)
    thread = ops.thread[rows], launches.thread[calls[alone]]
    inner = intervals.innermost(
        thread[0], ops.start_ns[rows], ops.end_ns[rows], thread[1], launches.start_ns[calls[alone]]
    )
    found[alone] = np.append(rows, NONE)[inner]
    return found


def piece_names(trace: Trace, path: Path) -> I64:
    """Return the name of each piece's row as an index into the trace's strings, or ``NONE``."""
    found = np.full(len(path), NONE)
    for number, table in enumerate(TABLES):
        here = path.table == number
        found[here] = np.append(getattr(trace, table).name, np.int32(NONE))[path.row[here]]
    return found
