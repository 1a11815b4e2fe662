"""Recordings on busy cores, in which waits for the device returned too late.

``late_wait``: two returned 0.2 and 105 ms after the device was done. ``late_idle_wait``: waits on
the idle device, before the first operator and after the last one, took 4 ms. Both are from the
reference device, less what the inference does not read; ``truth.json.gz`` is the device's own log.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import MISSING, UNKNOWN, Trace

TRACES = Path(__file__).parents[3] / "traces"


def infer(name: str) -> tuple[Trace, dict[str, Any]]:
    """Return a recording with its inferred timeline, and the device's log."""
    folder = TRACES / name
    sidecar = readers_sidecar.read_sidecar(str(folder / "refdev.1.kernel_event.json.gz"))
    trace = inference.build_trace(chrome.read(str(folder / "refdev.1.pt.trace.json.gz")), sidecar)
    return trace, json.loads(gzip.decompress((folder / "truth.json.gz").read_bytes()))


def test_a_wait_that_returned_late_does_not_cost_the_timeline() -> None:
    trace, truth = infer("late_wait")
    assert trace.meta.timeline == "inferred"
    launched = trace.ops.external_id[trace.kernels.op].tolist()
    assert set(launched) >= set(truth["external_id"])
    row = np.array([launched.index(i) for i in truth["external_id"]])
    error = np.abs(trace.kernels.start_ns[row] + trace.base_ns - np.array(truth["start_ns"]))
    bound = trace.kernels.start_bound_ns[row]
    assert (bound != MISSING).all()
    assert np.median(error) < 10_000
    assert (error <= bound).mean() > 0.9


def test_a_wait_on_an_idle_device_tells_no_backlog() -> None:
    """Nothing was recorded since the device was idle: the thread was preempted in the wait."""
    trace, truth = infer("late_idle_wait")
    kernels = trace.kernels
    assert not (kernels.kind == UNKNOWN).any()
    launched = set(trace.ops.external_id[kernels.op].tolist())
    busy, true = (kernels.end_ns - kernels.start_ns).sum(), truth_ns(truth, launched)
    assert abs(int(busy) - true) <= kernels.duration_bound_ns.sum()
    assert kernels.duration_bound_ns.sum() < 0.001 * true


def truth_ns(log: dict[str, Any], ids: set[int]) -> int:
    """Return how long the kernels of some operators took, by the device's log."""
    rows = zip(log["external_id"], log["start_ns"], log["end_ns"], strict=True)
    return sum(end - start for number, start, end in rows if number in ids)
