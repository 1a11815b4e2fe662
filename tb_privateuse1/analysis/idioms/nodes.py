"""Nodes of the data-flow graph: operators that launch kernels, with the tensors they access.

Views launch nothing, so they are no nodes: a chain passes through them, as through the borders of
modules and through autograd. A tensor is known by its size in bytes, since profilers record no
identity of tensors. A view has another shape but the same bytes.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor
from tb_privateuse1.analysis.work.calls import group_calls, read_calls
from tb_privateuse1.analysis.work.list_types import Types, types_by_shape, with_types
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.analysis.work.related_calls import named
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import positions, range_rows, sums_before
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, MISSING, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools, MaybeStepRow, OpRow, Table, ThreadRow

OTHER, PRODUCT, SOFTMAX, ELEMENTWISE, COPY, CAST, ROWS, TOTAL = range(8)
"""``Nodes.role``. ``ROWS`` reduces the last dimension, ``TOTAL`` any other: a pass of its own."""

FUSIBLE = (ELEMENTWISE, COPY, CAST, ROWS, TOTAL)
"""Roles of work that a compiler computes together with its neighbors."""

_DROPOUTS = ("native_dropout", "dropout", "_fused_dropout")
_COPIES = ("copy", "_copy_from")
_PAIRS = ("var_mean", "std_mean")
"""Operators with two results of one size: each of them is a tensor that others read."""
MOST_READS = 64
"""Inputs of a node that count; lists of tensors may have thousands."""


class Nodes(Table, frozen=True):
    """Operators that launch device work themselves, by thread and start.

    ``call`` numbers distinct names with their inputs, ``word`` is an index into ``Graph.words``.
    ``written_bytes`` is the size of a result, ``MISSING`` if it is unknown.
    """

    op: OpRow
    role: I8
    call: I64
    word: I64
    thread: ThreadRow
    step: MaybeStepRow
    duration_ns: I64
    shortest_ns: I64
    written_bytes: I64
    known: Bools
    """The sizes of all tensors are known."""
    in_optimizer: Bools


class Reads(Table, frozen=True):
    """Tensors with dimensions that nodes read, by node."""

    node: I64
    bytes: I64


class Graph(Struct, frozen=True, eq=False):
    """The nodes of a trace, their reads, and the reduced names that ``Nodes.word`` counts."""

    nodes: Nodes
    reads: Reads
    words: tuple[str, ...]
    kernel_node: I64
    """The node of each row of ``trace.kernels``, or -1."""

    def named(self, *names: str) -> Bools:
        """Return a flag per node: its reduced name is one of these."""
        wanted = np.array([word in names for word in self.words] or [False], np.bool_)
        return wanted[self.nodes.word]

    def whole_reads(self) -> I64:
        """Return how many tensors of the size of its result each node reads."""
        nodes, reads = self.nodes, self.reads
        node = reads.node[reads.bytes == nodes.written_bytes[reads.node]]
        return np.bincount(node, minlength=len(nodes)).astype(np.int64)

    def reads_size(self, node: I64, size: I64) -> Bools:
        """Return for each pair of a node and a size whether the node reads such a tensor."""
        low = np.searchsorted(self.reads.node, node)
        high = np.searchsorted(self.reads.node, node, side="right")
        found = np.zeros(len(node), np.bool_)
        for k in range(int((high - low).max(initial=0))):
            read = np.minimum(low + k, len(self.reads) - 1)
            found |= (low + k < high) & (self.reads.bytes[read] == size)
        return found


class _Call(Struct, frozen=True):
    """A distinct call, as far as its nodes need it."""

    role: int
    word: str
    reads: tuple[int, ...]
    written: int | None
    """The size of the result if it is that of an input; None: as the work's model says."""
    known: bool


def operators_named(trace: Trace, *words: str) -> Bools:
    """Return which rows of ``trace.ops`` have a reduced name that is one of these."""
    return groupby.rows_of(np.append(named(trace, frozenset(words)), False), trace.ops.name)


@memoize
def working_graph(trace: Trace) -> Graph:
    """Return the nodes of a trace; of one of a host alone, the operators that work there."""
    return host_graph(trace) if is_on_host_alone(trace) else graph(trace)


@memoize
def host_graph(trace: Trace) -> Graph:
    """Return the nodes of a trace where operators are, whether or not they launch anything."""
    return graph(with_host_activities(trace))


@memoize
def graph(trace: Trace) -> Graph:
    """Return the nodes of a trace and what they read."""
    ops, kernels = trace.ops, trace.kernels
    work = np.flatnonzero((kernels.op >= 0) & ~kernels.communication)
    rows = groupby.distinct_values(kernels.op[work])
    rows = rows[ops.kind[rows] == OPERATOR]
    rows = rows[np.lexsort((ops.start_ns[rows], ops.thread[rows]))]
    kernel_node = np.full(len(kernels), -1, np.int64)
    kernel_node[work] = positions(rows, len(ops))[kernels.op[work]]
    first, call = group_calls(trace, rows)
    types = types_by_shape(trace)
    pairs = zip(ops.name[rows[first]].tolist(), read_calls(trace, rows[first]), strict=True)
    calls = [_read_call(trace, name, call, types) for name, call in pairs]
    words = tuple(dict.fromkeys(one.word for one in calls))
    at = {word: i for i, word in enumerate(words)}
    role = np.array([one.role for one in calls], np.int8)[call]
    role = _with_copies_over_links(trace, kernel_node, role)
    given = np.array([MISSING if c.written is None else c.written for c in calls], np.int64)[call]
    modeled = operator_work(trace).written_bytes[rows]
    pair = np.array([one.word in _PAIRS for one in calls], np.bool_)[call]
    modeled = np.where(pair & (modeled != MISSING), modeled // 2, modeled)
    written = np.where(given != MISSING, given, modeled)
    known = np.array([one.known for one in calls], np.bool_)[call] & (written != MISSING)
    duration, shortest = _durations(trace, kernel_node, len(rows))
    nodes = Nodes(
        op=rows.astype(np.int32),
        role=role,
        call=call,
        word=np.array([at[one.word] for one in calls], np.int64)[call],
        thread=ops.thread[rows],
        step=ops.step[rows],
        duration_ns=duration,
        shortest_ns=shortest,
        written_bytes=written,
        known=known,
        in_optimizer=_in_optimizer(trace, rows),
    )
    return Graph(nodes, _reads(calls, call), words, kernel_node)


def _durations(trace: Trace, kernel_node: I64, count: int) -> tuple[I64, I64]:
    """Return the device time of each node, and that of its shortest kernel."""
    duration = trace.kernels.end_ns - trace.kernels.start_ns
    shortest = groupby.minima(kernel_node, duration, count)
    return groupby.sums(kernel_node, duration, count), shortest


def _with_copies_over_links(trace: Trace, kernel_node: I64, role: I8) -> I8:
    """Return the roles; a node with an activity that is no kernel interrupts chains.

    A fill beside a product (its workspace) changes nothing.
    """
    moves = (kernel_node >= 0) & (trace.kernels.kind != KERNEL)
    changed = role.copy()
    nodes = kernel_node[moves]
    changed[nodes[role[nodes] != PRODUCT]] = OTHER
    return changed


def _in_optimizer(trace: Trace, rows: I32 | I64) -> Bools:
    """Return which operators run inside of an optimizer's step: other rules judge these."""
    ops = trace.ops
    is_optimizer = groupby.named_rows(
        trace.strings, ops.name, lambda name: name.startswith("Optimizer.")
    )
    inside: Bools = call_tree.around(ops.parent, ops.parent[rows], is_optimizer) >= 0
    return inside


def _reads(calls: list[_Call], call: I64) -> Reads:
    """Return the reads of all nodes, from those of the distinct calls."""
    count = np.array([len(one.reads) for one in calls], np.int64)
    flat = np.array([size for one in calls for size in one.reads], np.int64)
    node, read = range_rows(sums_before(count)[call], count[call])
    return Reads(node=node, bytes=flat[read])


def _read_call(trace: Trace, name_string: int, call: Arguments | None, types: Types) -> _Call:
    name = trace.text(name_string)
    word = reduced_name(name)
    if call is not None:
        call = with_types(call, types) or call
    role = _role(kind_of(name, trace.vendor), word, call)
    tensors = _tensors_read(word, call)
    sized = all(one.dtype for one in tensors)
    return _Call(
        role=role,
        word=word,
        reads=tuple(one.bytes for one in tensors) if sized else (),
        written=_written(word, call),
        known=sized and call is not None,
    )


def _role(kind: str, word: str, call: Arguments | None) -> int:
    if kind == "softmax_loss" and "softmax" in word and "log" not in word:
        return SOFTMAX
    if kind == "reduction":
        return ROWS if call is None or _reduces_rows(call) else TOTAL
    if kind == "copy":
        if word in _COPIES and call is not None and len({t.dtype for t in call.tensors(2)}) == 2:
            return CAST
        return COPY
    if kind == "elementwise" or word.removesuffix("_backward") in _DROPOUTS:
        return ELEMENTWISE
    return PRODUCT if kind == "gemm" else OTHER


def _reduces_rows(call: Arguments) -> bool:
    """Return whether a reduction is of the last dimension alone; unknown dimensions count as it."""
    x = call.optional(0)
    if x is None or not x.shape:
        return False
    dims = call.value(1).strip("[]").strip()
    if not dims:
        # Without values recorded: a reduction with a list of dimensions, or of all of them.
        return len(call.inputs) > 2
    return dims in ("-1", str(len(x.shape) - 1))


def _tensors_read(word: str, call: Arguments | None) -> list[Tensor]:
    """Return the tensors with dimensions that a call reads; a copy writes its first one."""
    if call is None:
        return []
    found = [one for one in call.tensors() if one.shape]
    if word == "copy":
        found = [one for one in (call.optional(1),) if one is not None and one.shape]
    elif word == "_copy_from":
        found = [one for one in (call.optional(0),) if one is not None and one.shape]
    elif word in ("fill", "zero"):
        found = []
    return found[:MOST_READS]


def _written(word: str, call: Arguments | None) -> int | None:
    if call is None or word not in _DROPOUTS:
        return None
    x = call.optional(0)
    return x.bytes if x is not None and x.dtype else None
