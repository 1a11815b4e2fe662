"""Find the critical path: the chain of events that determines when a step ends.

Each node happens when the last of its dependencies allows: that one is binding. Following binding
dependencies back from a step's end covers the step's window without gap or overlap. So the path is
as long as the step, to the nanosecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.analysis.account.classes import NUMBER
from tb_privateuse1.analysis.account.host_activity import KERNELS, LAUNCHES, OPS, TABLES
from tb_privateuse1.analysis.simulation import delays, node_order
from tb_privateuse1.analysis.simulation.dependency_graph import LAUNCH, Graph
from tb_privateuse1.analysis.simulation.path_classes import Path, join_pieces, with_classes
from tb_privateuse1.analysis.simulation.replay import NEVER
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup, positions, range_rows
from tb_privateuse1.trace.interruption import checkpoint
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_OF_DELAY = np.array([
    *(NUMBER[delays.CLASS_OF.get(name, "unattributed")] for name in delays.DELAYS),
    NUMBER["unattributed"],
])  # fmt: skip
"""By cause of a delay; the last entry is for ``NONE``."""

_PYTHON = NUMBER["python"]
"""The mark of the host's own time."""

_BATCH_NODES = 1 << 20
"""Nodes of steps that are walked at once: some 50 MB."""

_END = np.iinfo(np.int64).max


def find_critical_path(trace: Trace, graph: Graph) -> Path:
    """Return the critical path of every step."""
    steps = trace.steps
    binding, by = _binding(trace, graph)
    last = _lasts(graph, steps.end_ns)
    rows = np.flatnonzero((last != NONE) & (steps.end_ns > steps.start_ns))
    path, step = _paths(graph, binding, last[rows], steps.start_ns[rows], steps.end_ns[rows])
    step = rows[step]
    nodes = _Nodes(path, step, binding[path], by[path])
    found = join_pieces([
        _pieces(trace, graph, nodes),
        _ran(graph, nodes, last[rows], rows),
        _rest(trace, graph, last[rows], rows),
    ])  # fmt: skip
    found = _clipped(found, steps.start_ns[found.step], steps.end_ns[found.step])
    return with_classes(trace, found)


def _paths(graph: Graph, binding: I64, last: I64, start: I64, end: I64) -> tuple[I64, I64]:
    """Return the nodes on the way back from the last one of each step, and the index of its step.

    A way stays within its step. Many short steps are walked at once.
    """
    order = np.argsort(graph.time_ns, kind="stable")
    place = np.full(len(order) + 1, NONE)  # nodes without dependencies read the last one
    place[order] = np.arange(len(order))
    low, high = (np.searchsorted(graph.time_ns[order], at, side="right") for at in (start, end))
    size = high - low + 1  # and the last one, which may be later
    batch = (np.cumsum(size) - size) // _BATCH_NODES
    paths = [np.empty(0, np.int64)]
    steps = [np.empty(0, np.int64)]
    for number, own in groupby.split_by_value(batch):
        checkpoint(number, int(batch[-1]) + 1)
        step, row = range_rows(low[own], size[own])
        ends = np.cumsum(size[own]) - 1
        near = order[np.minimum(row, len(order) - 1)]
        near[ends] = last[own]
        before = place[binding[near]]
        inside = (before >= low[own][step]) & (before < high[own][step])
        local = np.where(inside, before - row + np.arange(len(row)), NONE)
        local = np.where(before == place[last[own]][step], ends[step], local)
        found = node_order.ancestors(local, ends, int(size[own].max()))
        paths.append(near[found])
        steps.append(own[step[found]])
    return np.concatenate(paths), np.concatenate(steps)


def _binding(trace: Trace, graph: Graph) -> tuple[I64, I64]:
    """Return the binding dependency of each node, and its edge (``NONE``: the chain).

    Of several that allow a node at the same time, the one binds that was over last: a launch as its
    call returned. A node that waits for work from before the recording has none.
    """
    time, weights, edges = graph.time_ns, graph.weights, graph.edges
    best, over = (np.full(len(time), np.iinfo(np.int64).min) for _ in range(2))
    has = np.flatnonzero(graph.before >= 0)
    before = graph.before[has]
    over[has] = time[before] + weights.length[before]
    best[has] = over[has] + weights.gap[has]
    binding, by = graph.before.copy(), np.full(len(time), NONE)
    done = time[edges.source] + weights.length[edges.source]
    came = done + weights.edge_gap
    launched = np.where(edges.kind == LAUNCH, edges.target - len(graph.points), NONE)
    returned = lookup(trace.launches.end_ns, lookup(trace.kernels.launch, launched, NONE), NEVER)
    done = np.maximum(done, np.minimum(returned, time[edges.target]))
    rows = np.lexsort((done, came))  # so that the latest is written last
    target = edges.target[rows]
    later = (came[rows] == best[target]) & (done[rows] > over[target])
    rows = rows[(came[rows] > best[target]) | later]
    binding[edges.target[rows]] = edges.source[rows]
    by[edges.target[rows]] = rows
    np.maximum.at(best, edges.target, came)
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


class _Nodes(Struct, frozen=True):
    """Nodes on the paths, the step of each, its binding dependency, and the edge of that."""

    node: I64
    step: I64
    bound: I64
    by: I64


def _pieces(trace: Trace, graph: Graph, path: _Nodes) -> Path:
    """Return the pieces in front of each node: what it waits for, or the host's own time."""
    time, weights, n = graph.time_ns, graph.weights, len(graph.points)
    node, bound = path.node, path.bound
    has, device = bound >= 0, node >= n
    begun = np.where(has, time[bound] + weights.length[bound], np.iinfo(np.int64).min)
    ready = time[node] - weights.delay[node]
    launched = lookup(graph.edges.kind, path.by, -1) == LAUNCH
    early = ~device & (graph.delay_cause[node] == delays.BEFORE_RECORDING)
    late = np.where(device | early, _OF_DELAY[graph.delay_cause[node]], _PYTHON)
    threads = graph.points.thread.astype(np.int64)
    own = lookup(threads, np.where(device | early, NONE, node), NONE)
    table, row = _calls(graph, node)
    # The launching thread is in its call before the activity can begin.
    call = lookup(trace.kernels.launch, np.where(launched, node - n, NONE), NONE)
    returned = lookup(trace.launches.end_ns, call, NEVER)
    returned = np.clip(np.where(launched, returned, begun), begun, np.maximum(begun, ready))
    queue = np.where(launched, NUMBER["launch_latency"], NUMBER["queued_gap"])
    # An activity without dependencies waited for what is not recorded.
    waits = np.where(device, np.where(has, queue, late), late)
    launching = np.where(launched, bound, NONE)
    return join_pieces([
        _path(path.step, begun, returned, _PYTHON, NONE, lookup(threads, launching, NONE)),
        _path(path.step, returned, ready, waits, row, own, table),
        _path(path.step, ready, time[node], late, row, own, table),
    ])  # fmt: skip


def _ran(graph: Graph, path: _Nodes, last: I64, steps: I64) -> Path:
    """Return the activities on the paths; ``last`` is the end of each of ``steps``."""
    time, length, n = graph.time_ns, graph.weights.length, len(graph.points)
    on_path = path.bound >= n
    ran = np.concatenate((path.bound[on_path], last[last >= n]))
    step = np.concatenate((path.step[on_path], steps[last >= n]))
    key = np.unique(step * len(time) + ran)  # an activity may bind several
    step, ran = key // len(time), key % len(time)
    return _path(step, time[ran], time[ran] + length[ran], NUMBER["kernel"], ran - n, NONE)


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
    wait = positions(graph.wait_end, len(graph.time_ns))[path]
    launch = lookup(waits.launch, wait, NONE).astype(np.int64)
    op = lookup(waits.op, wait, NONE).astype(np.int64)
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


def piece_names(trace: Trace, path: Path) -> I64:
    """Return the name of each piece's row as an index into the trace's strings, or ``NONE``."""
    found = np.full(len(path), NONE)
    for number, table in enumerate(TABLES):
        here = path.table == number
        found[here] = lookup(getattr(trace, table).name, path.row[here], NONE)
    return found
