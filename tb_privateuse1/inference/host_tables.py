"""Build the host's tables of a trace: operators, frames and launches, nested per thread."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.inference import module_texts, script_modules, task_queue
from tb_privateuse1.inference.equal_ranges import by_ids, find_equal, part_siblings
from tb_privateuse1.inference.process_numbers import process_numbers
from tb_privateuse1.inference.stage_inputs import (
    SELF_TEST,
    MetadataClaims,
    Strings,
    impossible_sizes,
    rows_of,
    rows_of_ids,
)
from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw, Sidecar
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.model import (
    ANNOTATION,
    MISSING,
    NONE,
    OPERATOR,
    Frames,
    Launches,
    Memory,
    Ops,
)
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import HALF_INT64, I8, I32, I64, Bools
from tb_privateuse1.trace.vendor import Vendor

_OPERATORS = frozenset({"cpu_op", "operator"})
_ANNOTATIONS = frozenset({"user_annotation"})
_FRAMES = frozenset({"python_function"})

NO_STEPS = re.compile("gpu|device|kernel|runtime|driver|python_function", re.IGNORECASE)
"""Categories of the device's side, which copy steps, and those with ranges of their own."""

_FRAME_PART = 1
"""The place of the frames among the host's ranges."""

_UNCOUNTED = frozenset(
    {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    }
)
"""Operators that torch leaves out of every table (torch/autograd/profiler_util.py,
``_filter_name``), so that our figures equal ``prof.key_averages()``."""


class Host(Struct, frozen=True):
    """The tables of the host's side; ``step`` columns are filled later.

    ``claims`` are the arguments of collectives that operators have, ``tasks`` the calls that a task
    queue made.
    """

    ops: Ops
    frames: Frames
    launches: Launches
    memory: Memory
    claims: MetadataClaims
    tasks: task_queue.Tasks


class _Nested(Struct, frozen=True):
    """All host ranges in the order of ``intervals.nesting_order``; ``row`` counts in their part."""

    part: I8
    row: I32
    parent: I32
    self_ns: I64
    single: Bools
    """For the first part only."""

    def enclosing(self, wanted: Bools) -> I32:
        """Return the innermost wanted range around each, counted among the wanted ones."""
        at = intervals.nearest(self.parent, wanted)
        number = (np.cumsum(wanted) - 1).astype(np.int32)
        return np.where(at >= 0, number[at], NONE).astype(np.int32)


def build_host(raw: Raw, sidecar: Sidecar | None, vendor: Vendor, strings: Strings) -> Host:
    """Return operators, annotations, frames, launches and memory events with their nesting.

    Removes the groups of ranges from ``raw``. Names of modules that it makes are new ``strings``.
    """
    operators, annotations = _operators_and_annotations(raw)
    operators = _with_module_texts(operators, annotations, strings)
    if uncounted := [i for i, text in enumerate(raw.strings) if text in _UNCOUNTED]:
        operators = operators.take(~np.isin(operators.name, uncounted))
    launched = frozenset(
        c.lower() for c in raw.groups if vendor.launch_categories.search(c.lower())
    )
    dequeued = sum(len(g) for c, g in raw.groups.items() if c.lower() == task_queue.CATEGORY)
    first_annotation = len(operators)
    frames = _of(raw, _FRAMES)
    scripted = script_modules.module_calls(operators, strings)
    parts = [
        Group.join([operators, annotations], MISSING_OF),
        frames if scripted is None else Group.join([frames, scripted], MISSING_OF),
        _of(raw, launched),
    ]
    del operators, annotations, frames
    nested = _nested(parts, frames_outside=scripted is not None)

    is_op, is_frame, is_call = of_part = [nested.part == number for number in range(len(parts))]
    kinds = np.where(nested.row[is_op] < first_annotation, OPERATOR, ANNOTATION).astype(np.int8)
    # Each part is released once its rows are in order: the largest table is never held twice.
    ranges, frames, calls = (parts.pop(0).take(nested.row[mask]) for mask in of_part)
    around = nested.enclosing(is_op)
    parent = around[is_op]
    frame = nested.enclosing(is_frame)
    ops = _ops(
        raw,
        ranges,
        sidecar,
        kind=kinds,
        self_ns=nested.self_ns[is_op],
        parent=parent,
        frame=frame[is_op],
        single=nested.single & (kinds[parent] == kinds),
    )
    # Only operators launch: an annotation around the call is not its caller.
    is_operator = is_op.copy()
    is_operator[is_op] = kinds == OPERATOR
    caller = nested.enclosing(is_operator)[is_call]
    place = around[is_call], frame[is_call]
    launches, tasks = _launches(raw, calls, caller, place, ops, dequeued)
    return Host(
        ops,
        _frames(frames, nested.self_ns[is_frame], frame[is_frame], around[is_frame]),
        launches,
        _memory(raw, ops),
        MetadataClaims.by(ranges),
        tasks,
    )


def _with_module_texts(operators: Group, annotations: Group, strings: Strings) -> Group:
    """Return the operators with the texts of TorchScript's modules that are theirs."""
    if "modules" not in operators.texts:
        return operators
    both = Group.join([operators, annotations], MISSING_OF)
    placed = module_texts.placed_texts(both, strings)[: len(operators)]
    return replace(operators, texts={**operators.texts, "modules": placed})


def _operators_and_annotations(raw: Raw) -> tuple[Group, Group]:
    """Remove the host's named ranges from ``raw`` and return them by kind.

    A step is an annotation, whatever its category: old torch and torch_npu write ``cpu_op``, and
    other profilers categories of their own, which count if no usual category has steps.
    """
    operators, annotations = _of(raw, _OPERATORS), _of(raw, _ANNOTATIONS)
    named = step_strings(raw.strings)
    ours = named[operators.name]
    steps = [operators.take(ours)]
    if not ours.any() and not named[annotations.name].any() and named.any():
        others = [c for c in raw.groups if not NO_STEPS.search(c)]
        steps = [raw.groups[c].take(named[raw.groups[c].name]) for c in others]
    if any(map(len, steps)):
        operators = operators.take(~ours)
        annotations = Group.join([annotations, *steps], MISSING_OF)
    return operators, annotations


def _frames(frames: Group, self_ns: I64, parent: I32, op: I32) -> Frames:
    """Return the Python frames; ``op`` is the innermost operator around each."""
    return Frames(
        name=frames.name,
        start_ns=frames.start_ns,
        end_ns=frames.end_ns,
        self_ns=self_ns,
        thread=frames.thread,
        parent=parent,
        op=op,
        python_id=frames.id("python_id"),
        module_id=frames.id("module_id"),
        event=frames.event,
    )


def _launches(
    raw: Raw, calls: Group, caller: I32, place: tuple[I32, I32], ops: Ops, dequeued: int
) -> tuple[Launches, task_queue.Tasks]:
    """Return the launch calls with their operators, and those that a task queue made.

    ``caller`` is the operator around each call, counted among the operators, or ``NONE``: then an
    arrow from the queue shows it, and the External id first. ``place`` are the innermost range and
    the innermost Python frame around each.
    """
    operator = np.append(np.flatnonzero(ops.kind == OPERATOR), NONE).astype(np.int32)
    caller = operator[caller]
    processes = (process_numbers(raw.threads, thread) for thread in (ops.thread, calls.thread))
    of_ops, of_calls = processes
    by_id = rows_of_ids(ops.external_id, of_ops, calls.id("external_id"), of_calls)
    by_arrow, tasks = task_queue.link_tasks(raw.flows, calls, caller < 0, ops, dequeued)
    by_id = np.where(by_id >= 0, by_id, by_arrow)
    around, frame = place
    op = np.where(caller >= 0, caller, by_id)
    launches = Launches(
        name=calls.name,
        start_ns=calls.start_ns,
        end_ns=calls.end_ns,
        thread=calls.thread,
        correlation=calls.id("correlation"),
        op=op,
        around=np.where(op >= 0, op, around).astype(np.int32),
        frame=frame,
        kernel_name=calls.text("kernel"),
        event=calls.event,
    )
    return launches, tasks


def _nested(parts: list[Group], *, frames_outside: bool) -> _Nested:
    """Return the parts as one nest; ``frames_outside``: those of equal ranges are."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    sizes = np.array([len(part) for part in parts], np.int64)
    thread, start, end = column("thread"), column("start_ns"), column("end_ns")
    part = np.repeat(np.arange(len(parts), dtype=np.int8), sizes)
    order = intervals.nesting_order(thread, start, end)
    if frames_outside:
        order = np.lexsort((part != _FRAME_PART, -end, start, thread))
    order = by_ids(order, parts[0])
    part = part[order]
    row = (order - (np.cumsum(sizes) - sizes)[part]).astype(np.int32)
    thread, start = thread[order], start[order]  # one at a time: they are large
    end = end[order]
    parent = intervals.nest_ordered(thread, start, end)
    duration = np.subtract(end, start, out=end)
    name = column("name")[order]
    parent = part_siblings(parent, find_equal(parent, name, start, duration, part == 0))
    inside = np.zeros(len(order) + 1, np.int64)  # the last one is for what has no parent
    np.add.at(inside, parent, duration)
    self_ns = np.maximum(np.subtract(duration, inside[:-1], out=end), 0, out=end)
    return _Nested(part, row, parent, self_ns, _single(parent, name, part == 0))


def _ops(raw: Raw, ranges: Group, sidecar: Sidecar | None, **nesting: NDArray[Any]) -> Ops:
    n = len(ranges)
    external_id = ranges.id("external_id")
    elapsed = np.full(n, MISSING, np.int64)
    if sidecar is not None:
        row = rows_of(sidecar.external_id, external_id)
        elapsed[row >= 0] = sidecar.elapsed_ns[row[row >= 0]]
    return Ops(
        name=ranges.name,
        start_ns=ranges.start_ns,
        end_ns=ranges.end_ns,
        elapsed_ns=elapsed,
        thread=ranges.thread,
        external_id=external_id,
        step=np.full(n, NONE, np.int32),
        shapes=ranges.text("shapes"),
        dtypes=ranges.text("dtypes"),
        strides=ranges.text("strides"),
        concrete=ranges.text("concrete"),
        kernel_flops=_recorded(raw, ranges.text("kernel_flop"), 1),
        kernel_bytes=_recorded(raw, ranges.text("kernel_gb"), 1e9),
        stack=ranges.text("stack"),
        sequence=ranges.id("sequence"),
        forward_thread=ranges.id("forward_thread"),
        event=ranges.event,
        **nesting,
    )


def _recorded(raw: Raw, texts: I32, unit: float) -> I64:
    """Return the whole numbers that texts give in a unit; 0 is what torch writes for unknown."""
    numbers = np.full(len(raw.strings) + 1, MISSING, np.int64)
    for text in distinct_values(texts[texts >= 0]).tolist():
        try:
            number = float(raw.strings[text]) * unit
        except ValueError:
            continue
        if 1 <= number < HALF_INT64:
            numbers[text] = round(number)
    return numbers[texts]


def _memory(raw: Raw, ops: Ops) -> Memory:
    order = np.argsort(raw.memory.start_ns, kind="stable")
    instants = raw.memory.take(order)
    if planted := [i for i, text in enumerate(raw.strings) if text == SELF_TEST]:
        # What the capture allocates behind the window is no memory of the program's.
        begun = ops.start_ns[np.isin(ops.name, planted)]
        before = instants.start_ns < begun.min(initial=np.iinfo(np.int64).max)
        instants = instants.take(np.flatnonzero(before))
    is_operator = np.flatnonzero(ops.kind == OPERATOR).astype(np.int32)
    inner = intervals.innermost(
        ops.thread[is_operator],
        ops.start_ns[is_operator],
        ops.end_ns[is_operator],
        instants.thread,
        instants.start_ns,
    )
    row = np.where(inner >= 0, is_operator[inner], NONE) if len(is_operator) else inner
    gap = int(MISSING)
    return Memory(
        ts_ns=instants.start_ns,
        thread=instants.thread,
        op=row.astype(np.int32),
        device_type=instants.id("device_type", gap),
        device=instants.id("device_id", gap),
        address=instants.id("address", gap),
        bytes=_sizes(instants, "memory_bytes"),
        allocated_bytes=_sizes(instants, "allocated_bytes"),
        reserved_bytes=_sizes(instants, "reserved_bytes"),
        event=instants.event,
        stack=instants.text("stack"),
    )


def _sizes(instants: Group, key: str) -> I64:
    column = instants.id(key, int(MISSING))
    return np.where(impossible_sizes(column), MISSING, column)


def _single(parent: I32, name: I32, wanted: Bools) -> Bools:
    """Return which wanted ranges are the only one inside a wanted parent of their own name."""
    rows = np.flatnonzero(wanted)
    up = parent[rows]
    children = np.bincount(parent[parent >= 0], minlength=len(parent) + 1)
    alone: Bools = (up >= 0) & wanted[up] & (children[up] == 1) & (name[up] == name[rows])
    return alone


def _of(raw: Raw, categories: frozenset[str]) -> Group:
    """Remove the events of some categories from ``raw`` and return them."""
    groups = [raw.groups.pop(c) for c in list(raw.groups) if c.lower() in categories]
    return Group.join(groups, MISSING_OF)


def shift_times(host: Host, start: int) -> None:
    """Count the times of all tables from ``start``, in place."""
    for table in (host.ops, host.frames, host.launches):
        for column in (table.start_ns, table.end_ns):
            shift_column(column, start)
    shift_column(host.memory.ts_ns, start)


def shift_column(column: I64, by: int) -> None:
    """Shift the times of a table in place; no other code may hold it yet."""
    column.flags.writeable = True
    column -= by
    column.flags.writeable = False
