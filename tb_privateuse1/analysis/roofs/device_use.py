"""The use of the device in steps: MFU and HFU, and samples and tokens per second."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.roofs.rates import DeviceRates, device_rates, shapes_hint
from tb_privateuse1.analysis.roofs.recomputed import recomputed_operators
from tb_privateuse1.analysis.roofs.roofs import compute_ceilings, roofs_of
from tb_privateuse1.analysis.roofs.step_use import StepUse, step_use
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.work.batches import batches
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_SHARES = ("mfu", "mfu_low", "mfu_high", "hfu", "hfu_low", "hfu_high", "known_share")


class StepShares(Struct, frozen=True):
    """The use of the device's peak in one step; null where no product has FLOPs and a peak."""

    step: str
    mfu: float | None
    hfu: float | None
    product_flops: int | None


class DeviceUse(Struct, frozen=True):
    """The use of the device in the complete steps, or in the selected one.

    A ``_low`` and a ``_high`` are the values for the longest and the shortest duration that the
    error bounds of the steps allow; null if a bound is not known.
    """

    mfu: float | None
    """FLOPs of products that the model needs, by the peak, as a share of the steps' time."""
    mfu_low: float | None
    mfu_high: float | None
    hfu: float | None
    """The same with recomputed activations."""
    hfu_low: float | None
    hfu_high: float | None
    product_flops: int | None
    """Of the products in a step on average, recomputed ones included."""
    known_share: float | None
    """The part of the products' device time whose FLOPs and peak are known."""
    use_missing: str | None
    """Why there is no MFU, and what to do; null if there is."""
    samples_per_s: float | None
    samples_per_s_low: float | None
    samples_per_s_high: float | None
    samples_missing: str | None
    """Why the samples are not known."""
    tokens_per_s: float | None
    tokens_per_s_low: float | None
    tokens_per_s_high: float | None
    tokens_missing: str | None
    step_shares: tuple[StepShares, ...]
    """Of each step of the trace; empty without any MFU."""


def device_use(trace: Trace, steps: I64, time: intervals.Set, chosen: Bools) -> DeviceUse:
    """Return the use in rows of ``trace.steps``.

    ``time`` is what counts of them, and ``chosen`` has a flag per device activity that counts.
    """
    start, end = trace.steps.start_ns, trace.steps.end_ns
    whole = int(intervals.covered_length(time, start[steps], end[steps]).sum())
    bound = steps_bounds.total_bound(trace, steps)
    missing = _use_missing(trace, steps)
    place = np.full(len(trace.steps) + 1, NONE, np.int32)
    place[steps] = 0
    use = None
    if missing is None:
        step = np.where(chosen, place[trace.kernels.step], NONE)
        (use,) = _use(trace, step, np.array([whole]), np.array([_column(bound)]))
        missing = _no_product(trace) if use is None else None
    count = batches(trace, steps)
    lacking = _lacking(trace, steps)
    return DeviceUse(
        **{name: getattr(use, name, None) for name in _SHARES},
        product_flops=round(use.product_flops / len(steps)) if use else None,
        use_missing=missing,
        **_throughput("samples", count.samples, whole, bound),
        samples_missing=lacking or count.samples_missing,
        **_throughput("tokens", count.tokens, whole, bound),
        tokens_missing=lacking or count.tokens_missing,
        step_shares=_step_shares(trace) if use else (),
    )


def _column(bound: int | None) -> int | np.int64:
    return MISSING if bound is None else bound


def _use(trace: Trace, step: I32, length_ns: I64, bound_ns: I64) -> list[StepUse | None]:
    """Return the use of steps; ``step`` has the index of each activity's, or ``NONE``.

    Several devices have several times the peak.
    """
    rates, ceilings = device_rates(trace), _peaks(trace)
    devices = max(len(np.unique(trace.lanes.device[trace.kernels.lane])), 1)
    bound = np.where(bound_ns == MISSING, MISSING, bound_ns * devices)
    return step_use(rates.rows, ceilings, _recomputed(trace), step, length_ns * devices, bound)


def _peaks(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the peak of each activity by vendor data or a vendor file: no best rate is one."""
    rates: DeviceRates = device_rates(trace)
    return compute_ceilings(rates.rows, rates.given, tf32=rates.tf32)


@memoize
def _recomputed(trace: Trace) -> Bools:
    op = kernel_work(trace).op
    found = np.zeros(len(op), np.bool_)
    rows = np.flatnonzero((op >= 0) & device_rates(trace).rows.product)
    found[rows] = recomputed_operators(trace, op[rows])
    return found


def _step_shares(trace: Trace) -> tuple[StepShares, ...]:
    steps = trace.steps
    bounds = steps_bounds.step_windows(trace).bound(steps)
    found = _use(trace, trace.kernels.step, steps.end_ns - steps.start_ns, bounds)
    names = [trace.text(name) for name in steps.name.tolist()]
    return tuple(
        StepShares(name, *(getattr(use, key, None) for key in ("mfu", "hfu", "product_flops")))
        for name, use in zip(names, found, strict=True)
    )


def _throughput(
    name: str, count: int | None, ns: int, bound: int | None
) -> dict[str, float | None]:
    """Return a number per second of the steps' time, with the least and the greatest."""

    def per_s(time_ns: int | None) -> float | None:
        return count / time_ns * 1e9 if count is not None and time_ns else None

    return {
        f"{name}_per_s": per_s(ns),
        f"{name}_per_s_low": per_s(None if bound is None else ns + bound),
        f"{name}_per_s_high": per_s(None if bound is None else max(ns - bound, 0)),
    }


def _lacking(trace: Trace, steps: I64) -> str | None:
    """Return the sentence on what no figure of work can do without."""
    if not len(steps):
        return say("No step is complete.")
    return None if (trace.ops.shapes >= 0).any() else shapes_hint()


def _use_missing(trace: Trace, steps: I64) -> str | None:
    if not len(trace.kernels):
        return say("This recording has no device times, so no work of the device is known.")
    if (lacking := _lacking(trace, steps)) is not None:
        return lacking
    if all(roof.kind != "compute" for roof in roofs_of(trace)):  # work is not needed to know this
        return say(
            "No data sheet of this device is known, so there is no peak to compare with. "
            "A vendor file can give its peaks: docs/reference/vendors.md."
        )
    return None


def _no_product(trace: Trace) -> str:
    if not device_rates(trace).rows.product.any():
        return say("No matrix product, convolution or attention with recorded shapes ran.")
    return say(
        "The peak of the types that products use is not known. "
        "A vendor file can give it: docs/reference/vendors.md."
    )
