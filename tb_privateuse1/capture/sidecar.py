"""Write the sidecar: the device times that the vendor's events measured, by External id.

A trace in the event route holds host times only. The device time of a row exists while the
profiler's results live and is computed when it is asked for, so it is read here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tb_privateuse1.capture.backend import rank_and_world_size
from tb_privateuse1.capture.calibration.calibration import Calibration
from tb_privateuse1.capture.result_rows import Rows, read_rows
from tb_privateuse1.capture.warnings import Notes

SCHEMA = "tb_privateuse1.kernel_event/1"

COARSE_US = 10
"""From this resolution on, a third of the small kernels is lost (docs/internals/inference.md)."""
CHANCE_BITS = 16
"""A common divisor counts as the resolution if chance gives it once in 2 to the power of this."""
FAR_OFF = 200
"""Device times so many times longer or shorter than the host's, summed over all rows, are in
another unit: rows nest, and where the host runs ahead the wait at the window's end makes up."""
LONG_ENOUGH_US = 10_000
"""Below this sum of the host's times the ratio says nothing."""


def build(
    inner: Any,
    backend: str,
    calibration: Calibration,
    own: dict[str, Any],
    run: Notes,
    cycle: Notes,
) -> dict[str, Any]:
    """The sidecar of the last cycle of ``inner``, a ``torch.autograd.profiler.profile``.

    ``own``: what the capture did itself, by its key: the backend's class of ``accuracy``, or None;
    ``primed``, the steps in which it loaded the device, and for how long; the backend's
    ``launches``, or None; the ``markers`` at the ends of steps, or None; the ``self_test``; and
    what ``ThreadTimes`` tells. A row that cannot be read has the time None. What is wrong with the
    times is added to ``cycle``; the notes of ``run`` stand before it.
    """
    rows = read_rows(inner.kineto_results.events(), backend, cycle)
    elapsed = rows.elapsed_us
    resolution = resolution_us([value for value in elapsed if value])
    _check_presence(elapsed, cycle)
    _check_unit(rows, calibration, cycle)
    if calibration.doubt is not None:
        cycle.add(
            "kind-doubtful",
            "it could not be measured what the device times mean, so that the reader must judge "
            f"by the recording alone: {calibration.doubt}",
        )
    if resolution >= COARSE_US:
        cycle.add(
            "elapsed-coarse",
            f"all device times are multiples of {resolution} us: shorter kernels cannot be seen",
        )
    rank, world_size = rank_and_world_size()
    return {
        "schema": SCHEMA,
        "backend": backend,
        "rank": rank,
        "world_size": world_size,
        "torch_version": str(torch.__version__).partition("+")[0],
        "profiler_state": inner.profiler_kind.name,
        "elapsed_resolution_ns": resolution * 1000,
        "elapsed_kind": calibration.elapsed_kind,
        "elapsed_unit": calibration.elapsed_unit,
        # torch cuts the vendor's float to whole microseconds (KinetoEvent::privateuse1ElapsedUs).
        "elapsed_rounding": "floor",
        "launch_latency_ns": calibration.launch_latency_ns,
        "launch_latency_spread_ns": calibration.launch_latency_spread_ns,
        "sync_return_ns": calibration.sync_return_ns,
        "sync_return_spread_ns": calibration.sync_return_spread_ns,
        "mark_cost_ns": calibration.costs.mark_ns,
        "mark_cost_bound_ns": calibration.costs.mark_bound_ns,
        "kernel_gap_ns": calibration.costs.gap_ns,
        "kernel_gap_bound_ns": calibration.costs.gap_bound_ns,
        "calibration": calibration.evidence,
        **own,
        "warnings": run.as_json() + cycle.as_json(),
        "external_id": rows.external_id,
        "elapsed_us": elapsed,
        **rows.reported,
    }


def resolution_us(times: Sequence[int]) -> int:
    """The grid that all device times lie on; 1 us, torch's own, if that may be chance."""
    distinct = set(times)
    divisor = math.gcd(*distinct)
    return divisor if divisor and len(distinct) * math.log2(divisor) >= CHANCE_BITS else 1


def _check_presence(elapsed: Sequence[int | None], notes: Notes) -> None:
    known = len(elapsed) - elapsed.count(None)
    if not elapsed:
        notes.add(
            "no-rows",
            "the recording holds no operators: nothing was run in it, or the "
            "experimental option trace_only keeps them from us",
        )
    elif not known:
        notes.add(
            "no-elapsed",
            f"none of {len(elapsed)} rows has a device time: are the backend's ProfilerStubs "
            "registered, and do they record events?",
        )
    elif not any(elapsed):
        notes.add(
            "all-zero",
            f"the device time of all {known} rows is 0 us: nothing ran on the device, or elapsed() "
            "of the backend's ProfilerStubs does not return microseconds",
        )


def _check_unit(rows: Rows, calibration: Calibration, notes: Notes) -> None:
    unit, doubt = calibration.elapsed_unit, ""
    if unit == "us":
        return
    device_us, host_us = sum(filter(None, rows.elapsed_us)), rows.host_us()
    if unit is None and device_us and host_us > LONG_ENOUGH_US:
        doubt = "probably "
        if device_us > host_us * FAR_OFF:
            unit = "ns"
        # The sum of the kernels alone may well be that short.
        elif device_us * FAR_OFF < host_us and calibration.elapsed_kind != "kernel_sum":
            unit = "ms"
    if unit in ("ms", "ns"):
        notes.add(
            "elapsed-unit",
            f"elapsed() of the backend's ProfilerStubs {doubt}returns {unit} where torch wants "
            f"microseconds ({device_us} us on the device in {host_us:.0f} us on the host); these "
            "device times are not usable",
        )
