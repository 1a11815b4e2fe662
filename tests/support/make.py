"""Build a Trace in one line: ``trace(op("aten::mm", 0, 10), kernel("gemm", 5, 8, id=1))``.

Times are microseconds. Events go through the real reader and the real inference.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS

Event = dict[str, Any]

MAIN = {"pid": 1, "tid": 1}


def span(category: str, name: str, start: float, end: float, **args: Any) -> Event:
    """A complete event; ``thread`` sets its tid, other keywords are its arguments."""
    place = {"pid": 1, "tid": args.pop("thread", 1)}
    return {"ph": "X", "cat": category, "name": name, **place, "ts": start, "dur": end - start,
            "args": args}  # fmt: skip


def op(name: str, start: float, end: float, id: int = -1, **args: Any) -> Event:
    """An operator."""
    return span("cpu_op", name, start, end, **{"External id": id}, **args)


def annotation(name: str, start: float, end: float, id: int = -1, **args: Any) -> Event:
    """A ``record_function`` range."""
    return span("user_annotation", name, start, end, **{"External id": id}, **args)


def step(number: int, start: float, end: float) -> Event:
    """A ``ProfilerStep#N`` range."""
    return annotation(f"ProfilerStep#{number}", start, end)


def frame(name: str, start: float, end: float, **args: Any) -> Event:
    """A Python frame."""
    return span("python_function", name, start, end, **args)


def launch(start: float, end: float, correlation: int, **args: Any) -> Event:
    """A call of the device's runtime."""
    return span("cuda_runtime", "cudaLaunchKernel", start, end, correlation=correlation, **args)


def kernel(
    name: str, start: float, end: float, correlation: int = -1, stream: int = 7, **args: Any
) -> Event:
    """A kernel, or with ``category`` another device activity, on a stream of device 0."""
    category = args.pop("category", "kernel")
    told = {"correlation": correlation, "stream": stream, "device": 0, **args}
    return span(category, name, start, end, thread=stream, **told)


def memory(ts: float, bytes: int, allocated: int, device_type: int = 20, **args: Any) -> Event:
    """A ``[memory]`` instant."""
    told = {"Bytes": bytes, "Total Allocated": allocated, "Device Type": device_type,
            "Device Id": 0, "Addr": 4096, **args}  # fmt: skip
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", **MAIN, "ts": ts,
            "args": told}  # fmt: skip


def document(*events: Event, **keys: Any) -> dict[str, Any]:
    """The content of a trace file."""
    return {"schemaVersion": 1, **keys, "traceEvents": list(events)}


def sidecar(elapsed_us: dict[int, float | None], **facts: Any) -> dict[str, Any]:
    """The content of a sidecar, from elapsed us by External id."""
    return {
        "schema": "tb_privateuse1.kernel_event/1",
        "backend": "refdev",
        "rank": 0,
        "torch_version": "2.13.0",
        "profiler_state": "KINETO_PRIVATEUSE1_FALLBACK",
        "elapsed_resolution_ns": 1000,
        "launch_latency_ns": None,
        "external_id": list(elapsed_us),
        "elapsed_us": list(elapsed_us.values()),
        **facts,
    }


def trace(
    *events: Event,
    elapsed: dict[int, float | None] | None = None,
    beside: dict[str, Any] | None = None,
    known: Sequence[Vendor] = VENDORS,
    **keys: Any,
) -> Trace:
    """The Trace of some events, with a sidecar if ``elapsed`` is given, and ``beside`` in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "worker.1.pt.trace.json")
        path.write_text(json.dumps(document(*events, **keys)))
        side = None
        if elapsed is not None:
            file = Path(folder, "worker.1.kernel_event.json")
            file.write_text(json.dumps(sidecar(elapsed, **(beside or {}))))
            side = readers_sidecar.read_sidecar(str(file))
        return inference.build_trace(
            chrome.read(str(path)), side, worker="worker", files=(path.name,), known=known
        )
