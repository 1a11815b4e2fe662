"""Chrome trace JSON: the recorded trace with the inferred device timeline merged in.

Every recorded event stays as it is. As in the published PrivateUse1 recipe, these are added:

* the inferred kernels (``X``, category ``device_kernel``) on the device's process,
  with a thread per stream,
* an ``ac2g`` arrow from the operator to its kernel,
* names of process and thread, and counters of the allocated and reserved memory.

Unlike in the recipe, every event is marked as inferred and has its bounds. Format: the Chrome Trace
Event Format, for Perfetto and chrome://tracing.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1 import i18n, inference, readers
from tb_privateuse1.analysis.counters.curves import Curve
from tb_privateuse1.discovery.file import printable
from tb_privateuse1.export import atomic_output
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.i18n import say
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.readers.reader import Verbatim
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import EVIDENCE, MEASURED, MISSING, NONE, Trace
from tb_privateuse1.trace.recorded_counters import COMPUTED
from tb_privateuse1.trace.table import I64
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS, device_types

_TOGETHER = 4096

KNOWN = frozenset(
    {
        *("schemaVersion", "traceName", "trace_id", "displayTimeUnit", "baseTimeNanoseconds"),
        *("deviceProperties", "distributedInfo", "record_shapes", "profile_memory", "with_stack"),
        *("with_flops", "with_modules", "cupti_version", "cuda_runtime_version", "nccl_version"),
        *("cuda_driver_version", "hip_runtime_version", "hip_driver_version"),
    }
)
"""Top-level keys that viewers read. All other keys are users' metadata and may be secret."""


def merge_files(
    trace_path: str,
    sidecar_path: str | None,
    out_path: str,
    known: Sequence[Vendor] = VENDORS,
) -> Trace:
    """Write the merged trace to ``out_path`` (gzipped if it ends in ``.gz``), atomically.

    Returns the merged trace; one with measured kernels only gains the memory counters. Raises
    TraceError if a file cannot be read or written, or ``no_device_times``.
    """
    try:
        sidecar = readers_sidecar.read_sidecar(sidecar_path) if sidecar_path else None
        trace = inference.build_trace(readers.read(trace_path), sidecar, known=known)
    except TraceError as error:
        message = error.message
        for path in filter(None, (trace_path, sidecar_path)):  # a URL may hold a token
            message = i18n.replace_text(message, path, printable(path))
        raise TraceError(error.code, message, error.hint) from None
    if trace.meta.timeline == "none":
        errors = [finding for finding in trace.meta.findings if finding.severity == "error"]
        finding = errors[-1] if errors else trace.meta.findings[-1]
        raise TraceError("no_device_times", finding.message, finding.hint)
    atomic_output.save(out_path, write(trace, trace_path))
    return trace


def write(
    trace: Trace,
    trace_path: str,
    window: Window = EVERYTHING,
    keys: Collection[str] | None = None,
    curves: Iterable[Curve] = (),
) -> Iterator[bytes]:
    """Yield the merged trace in pieces; ``trace_path`` is the file of the trace.

    A window limits recorded and added events, but not the names of processes and threads.
    ``keys`` are the top-level keys to write; None writes all. ``curves`` are added as counters,
    except those of memory, which are always there. Raises TraceError ``not_chrome`` if the
    recorded events are not in Chrome's format, and others if the file cannot be read.
    """
    reader = readers.reader_named(trace.meta.reader)
    if reader.verbatim is None:
        message = say(
            "A trace of the format {format} cannot be exported as a Chrome trace.",
            format=reader.name,
        )
        raise TraceError("not_chrome", message, say("Export it as a Perfetto trace or as tables."))
    select = None if window.whole else _EventFilter(trace, window)
    added = itertools.chain(_added(trace, window), _curves(trace, window, curves))
    return _document(reader.verbatim(trace_path), select, added, keys)


def _added(trace: Trace, window: Window) -> Iterator[dict[str, Any]]:
    yield from _counters(trace, window.rows(trace, trace.memory))
    rows = window.rows(trace, trace.kernels)
    # A kernel of an earlier export is a recorded event already.
    rows = rows[(trace.kernels.evidence[rows] != MEASURED) & (trace.kernels.event[rows] == NONE)]
    if len(rows):
        yield from _kernels(trace, rows)
        yield from _labels(trace)


class _Time(msgspec.Struct):
    """The phase and times of an event, undecoded: a broken exporter may write any text."""

    ph: msgspec.Raw = msgspec.Raw(b"")
    ts: msgspec.Raw = msgspec.Raw(b"")
    dur: msgspec.Raw = msgspec.Raw(b"")


# At import: msgspec crashes if two threads inspect a class at once.
_TIME = msgspec.json.Decoder(_Time)


class _EventFilter:
    """Test of recorded events: names and events inside a window pass, events without time fail."""

    def __init__(self, trace: Trace, window: Window) -> None:
        self._window = window
        self._zero_ns = trace.start_ns

    def __call__(self, events: list[msgspec.Raw]) -> list[bool]:
        """Return a flag per event: it passes."""
        times = [self._time(event) for event in events]
        ranges_ns = [(_ns(time.ts), _ns(time.dur)) for time in times]
        start = np.array([MISSING if ts is None else ts - self._zero_ns for ts, _ in ranges_ns])
        end = start + np.array([duration or 0 for _, duration in ranges_ns], np.int64)
        overlaps = self._window.touches(start, end) & (start != MISSING)
        names = [bytes(time.ph) == b'"M"' for time in times]
        passes: list[bool] = (overlaps | np.array(names, np.bool_)).tolist()
        return passes

    def _time(self, event: msgspec.Raw) -> _Time:
        try:
            return _TIME.decode(event)
        except msgspec.MsgspecError:  # not a JSON object
            return _Time()


def _ns(us: msgspec.Raw) -> int | None:
    """Return a time in ns; None for what is none, or so large that sums of such are no int64."""
    try:
        ns = int((Decimal(bytes(us).decode().strip('"')) * 1000).to_integral_value())
    except (ArithmeticError, ValueError):
        return None
    return ns if abs(ns) < 1 << 61 else None


def _document(
    recorded: Verbatim,
    select: _EventFilter | None,
    added: Iterator[dict[str, Any]],
    keys: Collection[str] | None,
) -> Iterator[bytes]:
    """Yield the document; recorded events come in windows to bound the memory."""
    encode = msgspec.json.encode
    windows = recorded.events(select)
    first = next(windows, b"")
    head = dict(recorded.keys)
    yield b"{"
    for key, value in head.items():
        if keys is None or key in keys:
            yield encode(key) + b": " + bytes(value) + b",\n"
    yield b'"traceEvents": [\n' + first
    comma = b",\n" if first else b""
    for window in windows:
        yield comma + window
        comma = b",\n"
    while chunk := list(itertools.islice(added, _TOGETHER)):
        yield comma + b",\n".join(map(encode, chunk))
        comma = b",\n"
    yield b"\n]"
    for key, value in recorded.keys.items():
        if key not in head and (keys is None or key in keys):
            yield b",\n" + encode(key) + b": " + bytes(value)
    yield b"\n}\n"


def _us(trace: Trace, ns: I64) -> list[msgspec.Raw]:
    """Return times on the file's clock in µs, as exact decimals instead of floats."""
    absolute = (ns + trace.start_ns).tolist()
    return [msgspec.Raw(b"%d.%03d" % divmod(t, 1000)) for t in absolute]


def _duration(ns: I64) -> list[msgspec.Raw]:
    return [msgspec.Raw(b"%d.%03d" % divmod(t, 1000)) for t in ns.tolist()]


def _thread(trace: Trace, thread: int) -> dict[str, Any]:
    texts = (trace.text(trace.threads.pid[thread]), trace.text(trace.threads.tid[thread]))
    pid, tid = (int(t) if t.isascii() and t.isdigit() and len(t) < 19 else t for t in texts)
    return {"pid": pid, "tid": tid}


def _kernels(trace: Trace, rows: I64) -> Iterable[dict[str, Any]]:
    kernels, ops = trace.kernels.take(rows), trace.ops
    start = _us(trace, kernels.start_ns)
    duration = _duration(kernels.end_ns - kernels.start_ns)
    launch = _us(trace, ops.start_ns[kernels.op])
    for i, op in enumerate(kernels.op.tolist()):
        lane = kernels.lane[i]
        device, stream = int(trace.lanes.device[lane]), int(trace.lanes.stream[lane])
        external_id = int(ops.external_id[op])
        place = {"pid": device, "tid": stream}
        yield {
            "ph": "X",
            "cat": "device_kernel",
            "name": trace.text(kernels.name[i]),
            **place,
            "ts": start[i],
            "dur": duration[i],
            "args": {
                "External id": external_id,
                "device": device,
                "stream": stream,
                "inferred": True,
                "evidence": EVIDENCE[kernels.evidence[i]],
                "start_bound_ns": _known(kernels.start_bound_ns[i]),
                "shift_bound_ns": int(kernels.shift_bound_ns[i]),
                "duration_bound_ns": _known(kernels.duration_bound_ns[i]),
            },
        }
        arrow = {"cat": "ac2g", "name": "ac2g", "id": external_id}
        yield {"ph": "s", **arrow, **_thread(trace, int(ops.thread[op])), "ts": launch[i]}
        yield {"ph": "f", "bp": "e", **arrow, **place, "ts": start[i]}


def _known(value: np.int64) -> int | None:
    return None if value == MISSING else int(value)


def _labels(trace: Trace) -> Iterable[dict[str, Any]]:
    name = trace.meta.backend or "PrivateUse1"
    for device in np.unique(trace.lanes.device).tolist():
        label = {"ph": "M", "ts": 0, "pid": device, "tid": 0}
        yield label | {"name": "process_name", "args": {"name": f"{name} {device} (inferred)"}}
        yield label | {"name": "process_labels", "args": {"labels": f"{name} {device} inferred"}}
        yield label | {"name": "process_sort_index", "args": {"sort_index": 5_000_000 + device}}
    lanes = zip(trace.lanes.device.tolist(), trace.lanes.stream.tolist(), strict=True)
    for device, stream in lanes:
        label = {"ph": "M", "ts": 0, "pid": device, "tid": stream}
        yield label | {"name": "thread_name", "args": {"name": f"stream {stream} (inferred)"}}


def _counters(trace: Trace, rows: I64) -> Iterable[dict[str, Any]]:
    memory = trace.memory.take(rows)
    times = _us(trace, memory.ts_ns)
    for i, ts in enumerate(times):
        kind, device = int(memory.device_type[i]), int(memory.device[i])
        sizes = {"Allocated": memory.allocated_bytes[i], "Reserved": memory.reserved_bytes[i]}
        values = {key: int(value) for key, value in sizes.items() if value != MISSING}
        if values:
            name = device_types.name(kind, trace.vendor) or f"device type {kind}"
            place = _thread(trace, int(memory.thread[i]))
            yield {
                "ph": "C",
                "cat": COMPUTED,
                "name": f"Memory of {name}" + ("" if device < 0 else f" {device}") + " (bytes)",
                "pid": place["pid"],
                "tid": 0,
                "ts": ts,
                "args": values,
            }


def _curves(trace: Trace, window: Window, curves: Iterable[Curve]) -> Iterable[dict[str, Any]]:
    """Yield curves in equal parts: all changes would be more events than the trace has."""
    start = max(window.start_ns or 0, 0)
    end = trace.end_ns if window.end_ns is None else min(window.end_ns, trace.end_ns)
    owner = _thread(trace, 0) if len(trace.threads) else {"pid": 0}
    for curve in curves:
        if curve.what in ("memory", "recorded") or end <= start:
            continue
        at, values = curve.parts(start, end)
        unit = "%" if curve.unit == "share" else curve.unit
        for ts, value in zip(_us(trace, at), values.tolist(), strict=True):
            label = f"{curve.label} ({unit})"
            place = {"pid": owner["pid"], "tid": 0, "ts": ts}
            yield {"ph": "C", "cat": COMPUTED, "name": label, **place, "args": {"value": value}}
