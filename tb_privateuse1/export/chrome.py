"""Chrome trace JSON: the recorded trace with the inferred device timeline merged in.

Every recorded event stays as it is. Added are, as the published PrivateUse1 recipe did: the
inferred kernels (``X``, category ``device_kernel``) on the device's process and stream's thread,
an ``ac2g`` arrow from the operator to its kernel, names of process and thread, and counters of
the allocated and reserved memory. Unlike there, every event is marked as inferred and carries
its bounds. Format: the Chrome Trace Event Format, for Perfetto and chrome://tracing.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1 import infer
from tb_privateuse1.discover.base import shown
from tb_privateuse1.read import chrome, kernel_events
from tb_privateuse1.trace import EVIDENCE, I64, MISSING, Trace, TraceError

_PRIVATEUSE1 = 20
_DEVICE_TYPES = {0: "CPU", 1: "CUDA", 6: "HIP", 12: "XPU", 19: "MTIA", _PRIVATEUSE1: "PrivateUse1"}


def merge(trace_path: str, sidecar_path: str | None, out_path: str) -> Trace:
    """Write the merged trace to ``out_path`` (gzipped if it ends in ``.gz``), atomically.

    A trace with measured kernels only gains the memory counters. Returns what was merged. Raises
    TraceError if a file cannot be read or written, or there are no device times at all
    (``no_device_times``).
    """
    try:
        sidecar = kernel_events.read(sidecar_path) if sidecar_path else None
        trace = infer.build(chrome.read(trace_path), sidecar)
    except TraceError as error:
        message = error.message
        for path in filter(None, (trace_path, sidecar_path)):  # a URL may hold a token
            message = message.replace(path, shown(path))
        raise TraceError(error.code, message, error.hint) from None
    if trace.meta.timeline == "none":
        finding = trace.meta.findings[-1]
        raise TraceError("no_device_times", finding.message, finding.hint)
    added = [*_counters(trace)]
    if trace.meta.timeline == "inferred":
        added += [*_kernels(trace), *_labels(trace)]
    _write(out_path, _document(chrome.Verbatim(trace_path), added))
    return trace


def _document(recorded: chrome.Verbatim, added: list[dict[str, Any]]) -> Iterable[bytes]:
    """The recorded events window by window, so that a large trace is never held."""
    encode = msgspec.json.encode
    windows = recorded.events()
    first = next(windows, b"")
    head = dict(recorded.keys)
    yield b"{"
    for key, value in head.items():
        yield encode(key) + b": " + bytes(value) + b",\n"
    yield b'"traceEvents": [\n' + first
    comma = b",\n" if first else b""
    for window in windows:
        yield comma + window
    if added:
        yield comma + b",\n".join(encode(event) for event in added)
    yield b"\n]"
    for key, value in recorded.keys.items():
        if key not in head:
            yield b",\n" + encode(key) + b": " + bytes(value)
    yield b"\n}\n"


def _write(out_path: str, parts: Iterable[bytes]) -> None:
    out = Path(out_path)
    try:
        handle, partial = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                if out.suffix == ".gz":
                    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6) as packed:
                        packed.writelines(parts)
                else:
                    file.writelines(parts)
            # mkstemp makes files that only their owner can read.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(partial, 0o666 & ~umask)
            os.replace(partial, out)
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as error:
        raise TraceError("unwritable", f"{out_path} cannot be written: {error}") from error


def _us(trace: Trace, ns: I64) -> list[msgspec.Raw]:
    """Times on the file's own clock in us, exact: as decimals, not through a float."""
    absolute = (ns + trace.start_ns).tolist()
    return [msgspec.Raw(b"%d.%03d" % divmod(t, 1000)) for t in absolute]


def _duration(ns: I64) -> list[msgspec.Raw]:
    return [msgspec.Raw(b"%d.%03d" % divmod(t, 1000)) for t in ns.tolist()]


def _thread(trace: Trace, thread: int) -> dict[str, Any]:
    texts = (trace.text(trace.threads.pid[thread]), trace.text(trace.threads.tid[thread]))
    pid, tid = (int(t) if t.isascii() and t.isdigit() else t for t in texts)
    return {"pid": pid, "tid": tid}


def _kernels(trace: Trace) -> Iterable[dict[str, Any]]:
    kernels, ops = trace.kernels, trace.ops
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
                "class": EVIDENCE[kernels.evidence[i]],
                "start_bound_ns": _known(kernels.start_bound_ns[i]),
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


def _counters(trace: Trace) -> Iterable[dict[str, Any]]:
    memory = trace.memory
    times = _us(trace, memory.ts_ns)
    for i, ts in enumerate(times):
        kind, device = int(memory.device_type[i]), int(memory.device[i])
        values = {"Allocated": memory.allocated_bytes[i], "Reserved": memory.reserved_bytes[i]}
        known = {key: int(value) for key, value in values.items() if value != MISSING}
        if known:
            name = _DEVICE_TYPES.get(kind, f"device type {kind}")
            place = _thread(trace, int(memory.thread[i]))
            yield {
                "ph": "C",
                "name": f"Memory of {name}" + ("" if device < 0 else f" {device}") + " (bytes)",
                "pid": place["pid"],
                "tid": 0,
                "ts": ts,
                "args": known,
            }
