"""Arrow tables of a trace for exports and SQL, with names, units and nulls.

``row`` has a row's number, also if only some rows are exported. Columns that refer to another row
(``op``, ``parent``, ``launch``, ``thread``, …) have such numbers. Names are text, unknown values
are null, and times are ns since the trace's start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tb_privateuse1.export import work_columns
from tb_privateuse1.export.recorded_columns import RECORDED
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.trace.collective_entries import STATES
from tb_privateuse1.trace.model import EVIDENCE, MISSING, TABLES, Trace
from tb_privateuse1.trace.recorded_metadata import BLOCK_STATES, NOTE_KINDS
from tb_privateuse1.trace.table import I64, Table

_ROWS = 1 << 16

_RANGE = {
    "start_ns": "start",
    "end_ns": "end",
    "duration_ns": "end less start",
}
_EVENT = "number of its event in the trace file; null: no file tells of it"
_THREAD = "row of threads"

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "threads": {
        "row": "its number",
        "pid": "process, as the trace writes it: a number or a word",
        "tid": "thread, as the trace writes it",
        "name": "the thread's name",
    },
    "ops": {
        "row": "its number",
        "name": "operator, or the name given to record_function",
        "kind": "operator or annotation",
        **_RANGE,
        "self_ns": "duration less that of all ranges directly inside",
        "elapsed_ns": "device time between the operator's two events, from a sidecar",
        "thread": _THREAD,
        "external_id": "External id",
        "parent": "row of ops: the innermost one around it",
        "frame": "row of frames: the innermost one around it",
        "step": "row of steps",
        "shapes": "shapes of the inputs, JSON",
        "dtypes": "types of the inputs, JSON",
        "strides": "strides of the inputs, JSON",
        "concrete": "values of the inputs that are no tensors, JSON",
        "kernel_flops": "operations of the kernel, as Inductor recorded them",
        "kernel_bytes": "bytes of the kernel, as Inductor recorded them",
        "stack": "call stack, where it was recorded with the operator",
        "sequence": "sequence number of autograd",
        "forward_thread": "number of the thread of the forward operator",
        "single": "the only range directly inside one of its kind and name",
        "event": _EVENT,
        "flops": "operations of its device activities, or on a host alone its own; null: no model",
        "bytes_moved": "bytes that the same work must read and write",
    },
    "frames": {
        "row": "its number",
        "name": "Python function with its file and the line where it begins, or module",
        **_RANGE,
        "self_ns": "duration less that of all ranges directly inside",
        "thread": _THREAD,
        "parent": "row of frames: the innermost one around it",
        "op": "row of ops: the innermost one around it",
        "python_id": "Python id",
        "module_id": "Python module id",
        "event": _EVENT,
    },
    "launches": {
        "row": "its number",
        "name": "function of the device's runtime or driver",
        **_RANGE,
        "thread": _THREAD,
        "correlation": "correlation id",
        "op": "row of ops: who called it",
        "around": "row of ops: who called it, or without an operator the innermost annotation",
        "frame": "row of frames: the innermost one around it",
        "kernel_name": "the launched kernel, where the call itself names it",
        "event": _EVENT,
    },
    "lanes": {
        "row": "its number",
        "device": "number of the device",
        "stream": "number of the stream",
        "name": "the stream's name",
        "missing": "1: its work has no times, though that of others has; sums lack it",
    },
    "kernels": {
        "row": "its number",
        "name": "kernel, copy or fill",
        "kind": "kernel, memcpy, memset or unknown",
        "communication": "it is communication, not computation",
        **_RANGE,
        "lane": "row of lanes: where it ran",
        "launch": "row of launches: the call that launched it",
        "op": "row of ops: the operator it came from",
        "capture": "row of captures: where a replayed graph has it from",
        "captured_op": "row of captured_ops: the operator of the graph's capture",
        "step": "row of steps",
        "config": "row of configs: how it was launched",
        "correlation": "correlation id",
        "bytes": "bytes copied or filled",
        "evidence": "measured, or what it is inferred from",
        "start_bound_ns": "largest error of the start; 0 where measured, null where not known",
        "shift_bound_ns": "the part of start_bound_ns that all starts share: the launch latency's",
        "duration_bound_ns": "largest error of the duration",
        "error_group": "equal work, whose errors are one; null: measured; below -1: guessed",
        "event": _EVENT,
        "flops": "operations, by the shapes of its operator; null: no model, or no shapes",
        "bytes_moved": "bytes that it must read and write",
        "attainable_ns": "the least time that the device's roofs allow",
    },
    "captures": {
        "row": "its number",
        "name": "operator, annotation or Python function around captured launches",
        "kind": "operator, annotation or frame",
        "parent": "row of captures: the innermost one around it",
    },
    "captured_ops": {
        "row": "its number",
        "name": "operator that ran in the capture of a graph",
        "parent": "row of captured_ops: the innermost one around it",
        "shapes": "shapes of the inputs, JSON",
        "dtypes": "types of the inputs, JSON",
        "strides": "strides of the inputs, JSON",
        "concrete": "values of the inputs that are no tensors, JSON",
    },
    "device_annotations": {
        "row": "its number",
        "name": "the name given to record_function",
        **_RANGE,
        "lane": "row of lanes: whose activities it spans",
        "event": _EVENT,
    },
    "event_waits": {
        "row": "its number",
        "launch": "row of launches: the call that waits, or makes a stream wait",
        "lane": "row of lanes: the stream that waits; null: the host",
        "record": "row of launches: the call that recorded the event",
        "awaited_lane": "row of lanes: the stream that is waited for",
    },
    "memory": {
        "row": "its number",
        "ts_ns": "time",
        "thread": _THREAD,
        "op": "row of ops: the innermost one around it",
        "device_type": "torch's number of the device type: 0 is the CPU",
        "device": "number of the device",
        "address": "address",
        "bytes": "bytes allocated; released: negative",
        "allocated_bytes": "bytes allocated in all from then on",
        "reserved_bytes": "bytes reserved by the allocator from then on",
        "event": _EVENT,
        "stack": "Python frames of an allocation, where a memory snapshot has them",
    },
    "tensors": {
        "row": "its number",
        "op": "row of ops: the operator that takes or returns it, by an execution trace",
        "access": "read, written (an input that the operator writes to) or returned",
        "argument": "its position among the inputs or the results; tensors of a list share one",
        "storage": "number of its memory from the allocation on: tensors of one share it",
        "offset": "its beginning in that memory, in elements",
        "elements": "number of its elements",
        "item_bytes": "bytes of an element",
        "device_name": "torch's name of its device",
    },
    "steps": {
        "row": "its number",
        "name": "ProfilerStep#N",
        "host_start_ns": "start of the range on the host",
        "host_end_ns": "end of the range on the host",
        **_RANGE,
        "incomplete": "cut off by the end of the recording, or partial beside whole steps",
        "primed": "capture kept the device busy in it",
        "partial": "activities of it are missing",
    },
    "configs": {
        "row": "its number",
        "grid": "blocks of the grid in x, y, z, JSON",
        "block": "threads of a block in x, y, z, JSON",
        "registers": "registers per thread",
        "shared_bytes": "shared memory per block",
        "blocks_per_sm": "blocks per multiprocessor, JSON",
        "occupancy": "achieved occupancy that CUPTI estimates, in percent, JSON",
        "unit": "the device's unit that runs it",
    },
    "collectives": {
        "row": "its number",
        "kernel": "row of kernels, where it is one",
        "op": "row of ops, where it is a range on the host",
        "kind": "all_reduce, all_gather, …",
        "process_group": "process group",
        "purpose": "what the group is for",
        "group_size": "ranks in the group",
        "bytes": "bytes, counted as the NCCL tests do",
        "peer": "rank at the other end of a message; null: not recorded",
        "sent_bytes": "bytes that this rank gives",
        "received_bytes": "bytes that this rank gets",
    },
    "collective_entries": {
        "row": "its number",
        "name": "collective or message that a flight recorder has of this rank",
        "process_group": "process group",
        "purpose": "what the group is for",
        "members": "ranks of the group, JSON; null: not recorded",
        "sequence": "its number in the group, equal on all ranks; of a message, of this rank's",
        "message": "a send or receive",
        "state": "scheduled, started, completed, or retired (ended or failed, no times)",
        "whole": "the recorder has lost no entry of this rank",
        "created_ns": "when it was enqueued",
        "started_ns": "when torch noticed that it had started",
        "completed_ns": "when torch noticed that it had ended",
        "shapes": "shapes of the inputs, JSON",
        "dtypes": "types of the inputs, JSON",
        "out_shapes": "shapes of the outputs, JSON",
        "out_dtypes": "types of the outputs, JSON",
        "stack": "Python frames of the call",
        "event": _EVENT,
    },
    "counter_series": {
        "row": "its number",
        "name": "name of a recorded counter",
        "key": "which of its values: the name of the argument, often the unit",
        "process": "name or number of the process that the trace puts it under",
    },
    "counter_samples": {
        "row": "its number",
        "series": "row of counter_series",
        "ts_ns": "time; the value holds until the next one of the series",
        "value": "value, in the counter's own unit",
        "event": _EVENT,
    },
    **RECORDED,
}
"""The meaning of each column of each table; a name ends with the unit."""

_ENUMERATED = {
    ("ops", "kind"): ("operator", "annotation"),
    ("captures", "kind"): ("operator", "annotation", "frame"),
    ("kernels", "kind"): ("kernel", "memcpy", "memset", "unknown"),
    ("kernels", "evidence"): EVIDENCE,
    ("collective_entries", "state"): STATES,
    ("compile_notes", "kind"): NOTE_KINDS,
    ("memory_blocks", "state"): BLOCK_STATES,
    ("tensors", "access"): ("read", "written", "returned"),
}
_FROM_ZERO = {
    *("thread", "parent", "frame", "op", "around", "step", "lane", "awaited_lane", "record"),
    *("launch", "capture", "captured_op", "kernel", "config", "event", "group_size", "peer"),
    *("series", "storage", "line", "guards", "operators", "segment"),
    *("external_id", "correlation", "sequence", "forward_thread", "python_id", "module_id"),
    *("device", "stream"),
}
"""Columns in which a negative number means null."""
_OF_TRACE = {"process_group": "group"}
_WORK = ("flops", "bytes_moved", "attainable_ns", "missing")
"""Columns that are computed (``work_columns``)."""


def schema(table: str) -> pa.Schema:
    """Return the names and types of a table's columns."""
    return pa.schema([(name, _type(table, name)) for name in COLUMNS[table]])


def batches(trace: Trace, table: str, window: Window = EVERYTHING) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in a window, in batches; texts are plain strings."""
    rows = window.rows(trace, getattr(trace, table))
    kind = schema(table)
    for first in range(0, len(rows), _ROWS):
        chunk = rows[first : first + _ROWS]
        arrays = [_array(trace, table, name, chunk, None) for name in COLUMNS[table]]
        yield pa.record_batch(arrays, schema=kind)


def whole_table(trace: Trace, table: str, strings: pa.Array) -> pa.RecordBatch:
    """Return all rows of a table; texts are indices into ``strings`` (``string_table``)."""
    rows = np.arange(len(getattr(trace, table)))
    arrays = [_array(trace, table, name, rows, strings) for name in COLUMNS[table]]
    return pa.record_batch(arrays, names=list(COLUMNS[table]))


def string_table(trace: Trace) -> pa.Array:
    """Return a trace's strings for Arrow; a lone surrogate becomes ``?``."""
    return pa.array([s.encode("utf-8", "replace").decode() for s in trace.strings], pa.string())


def _is_text(table: str, name: str) -> bool:
    rows = TABLES[table].references().get(_OF_TRACE.get(name, name))
    return rows is not None and rows.table == "strings"


def _type(table: str, name: str) -> pa.DataType:
    if (table, name) in _ENUMERATED or _is_text(table, name):
        return pa.string()
    if name in ("row", "duration_ns", *_WORK):
        return pa.int64()
    kind = TABLES[table].column_types()[_OF_TRACE.get(name, name)]
    return pa.from_numpy_dtype(np.dtype(kind))


def _array(trace: Trace, table: str, name: str, rows: I64, strings: pa.Array | None) -> pa.Array:
    if name == "row":
        return _plain(rows.astype(np.int64), None)
    if name in _WORK:
        work = work_columns.BY_TABLE[table](trace)[name][rows]
        return _plain(work, work == MISSING)
    columns: Table = getattr(trace, table)
    if name == "duration_ns":
        start, end = (getattr(columns, key)[rows] for key in ("start_ns", "end_ns"))
        return _plain(end - start, None)
    values = getattr(columns, _OF_TRACE.get(name, name))[rows]
    if words := _ENUMERATED.get((table, name)):
        return _worded(values, pa.array(words), plain=strings is None)
    if _is_text(table, name):
        if strings is None:
            return _few(trace, values)
        return _worded(values, strings, plain=False)
    if values.dtype == np.bool_:
        packed = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, packed])
    if values.dtype == np.float64:
        return _plain(values, None)
    missing = values < 0 if name in _FROM_ZERO else values == MISSING
    return _plain(values, missing)


def _few(trace: Trace, values: NDArray[Any]) -> pa.Array:
    """Return the texts of some rows; builds only the distinct ones."""
    ids, index = np.unique(values, return_inverse=True)
    texts = [trace.text(i).encode("utf-8", "replace").decode() for i in ids]
    return _worded(np.where(values < 0, -1, index), pa.array(texts, pa.string()), plain=True)


def _worded(values: NDArray[Any], words: pa.Array, *, plain: bool) -> pa.Array:
    index = _plain(values.astype(np.int32), values < 0)
    array = pa.DictionaryArray.from_arrays(index, words)
    return array.cast(pa.string()) if plain else array


def _plain(values: NDArray[Any], missing: NDArray[np.bool_] | None) -> pa.Array:
    # From buffers, because ``pa.array`` of numpy imports pandas if that is installed.
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, data])
