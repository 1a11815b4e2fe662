"""Estimate the constants of the device, from the capture's measurements and from the trace.

Launch latency: measured by the capture on an idle device, else a default; no trace shows it, as
it shifts every start alike. Event cost: a launch-free operator that the device ran faster than the
host cost the device its events only. Jitter: the scatter of the elapsed times of launch-free
operators on an idle device about their host times.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.device_timeline.event_cost import EventCost
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    EVENT_DOUBT_NS,
    RETURN_NS,
    TORCH_RESOLUTION_NS,
    Calibration,
    EventPairs,
)
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace.columns import sums_before
from tb_privateuse1.trace.inference_basis import Constant, Name
from tb_privateuse1.trace.model import MISSING, Ops
from tb_privateuse1.trace.table import I64, Bools

_LATENCY_NS, _LATENCY_LOW_NS, LATENCY_HIGH_NS = 6_000, 3_000, 25_000
"""From launch to start on an idle device, if it was not measured: likely, least and greatest.

Local devices have 4 to 25 us."""

_LATENCY_MOST_NS = 250_000
"""The greatest one where nothing shows that the device is a local one: behind a hypervisor or a
network, a call and its answer take 40 to 200 us."""

_MEASURED_BOUND_NS = 1_000
"""The least error of a measured latency."""

_EVENT_NS, EVENT_HIGH_NS = 300, 600
"""Likely and largest cost of an event if no backlog shows it."""

_EVENT_MOST_NS = 20_000
"""No backend's event takes longer."""

_FASTEST = 0.05
"""The share of operators without work that run through fastest."""

_GAP_NS, _GAP_HIGH_NS = 800, 2_600
"""Likely and largest time from one kernel or event to the next kernel on a busy device.

Where the next kernel was launched 20 us before: medians of 0.8 to 1.4 us on V100 and H100 (7
recordings of 500 to 7,500 such kernels), and 99 % up to 2.6 us on the H100s."""

_MARK_SPREAD, _MARK_ROOM_NS = 1.25, 100
"""How much more than measured an event may cost: the scatter of single ones."""

_GAP_MOST_NS = 10_000
"""A longer gap that the capture measured is a mistake."""

_LONG_HOST_NS = 4_000
"""Of a shorter operator the rounding of its host and device time is a quarter and more. Half or
twice of it moves activities by 0.1 µs, in 34 of 50 simulated recordings."""

_LEAST_EXCESS_NS, _MOST_EXCESS_NS = -TORCH_RESOLUTION_NS, 15_000
"""Device time less host time of an operator that an idle device ran. Less is beyond rounding: the
device was behind. More is no jitter, which was 16 µs at most."""

_EVENT_SPREAD = 1.5
"""How much more an event may cost than all operators together allow: single ones scatter more than
the median that each of these shows."""

_TAILS = 1.5
"""From the middle 80 % of a normal distribution to its middle 95 %."""

_JITTER_NS = 1_500
"""How late an idle device may run an event, if the recording does not show it. Half or twice of it
moves activities in 10 or 11 of 50 recordings of a simulated device."""

_JITTER_LOW_NS, _JITTER_HIGH_NS = TORCH_RESOLUTION_NS // 2, 20_000
"""Limits of the jitter that a recording shows: rounding alone scatters so far; and 41 simulated
recordings showed 2.4 to 15.6 µs. Half or twice of the limits changes only the two above 10 µs."""

_ENOUGH, _ALIKE = 20, 5
"""The least number of operators for a constant, and of operators with equal segment counts."""


def calibrate(
    ops: Ops, sidecar: Sidecar, resolution_ns: int, events: EventPairs, launch_free: Bools
) -> Calibration:
    """Return the calibration of a stream; ``launch_free`` is per segment.

    A resolution below torch's is that of the device's own clock, which cuts both events.
    """
    claim = _claim(sidecar, "launch_latency_ns")
    latency = _latency(sidecar, claim)
    exact = resolution_ns < TORCH_RESOLUTION_NS
    resolution = resolution_ns
    rounding = "both" if exact else sidecar.facts.get("elapsed_rounding")
    if not exact and rounding not in ("floor", "round"):
        rounding = "floor" if resolution == TORCH_RESOLUTION_NS else "both"
    launch_free_ops = _launch_free_operators(ops, events, launch_free)
    event, event_high, shown_event = _mark_cost(sidecar, ops, events, launch_free_ops, resolution)
    gap, gap_high, shown_gap = _kernel_gap(sidecar)
    jitter, idle = _jitter(ops, events, launch_free_ops, resolution, event_high)
    constants = (
        latency,
        _sync_return(sidecar),
        shown_event,
        shown_gap,
        _of_trace("jitter", jitter, 0, None, idle, say("Scatter of idle operators without work.")),
        _resolution(ops, resolution, str(rounding)),
    )
    c = Calibration(
        latency_ns=latency.value_ns,
        latency_bound_ns=latency.width_ns,
        latency_measured=claim is not None,
        jitter_ns=jitter,
        event_ns=event,
        event_high_ns=event_high,
        gap_ns=gap,
        gap_high_ns=gap_high,
        resolution_ns=resolution,
        rounding=str(rounding),
        cut_ns=resolution // 2 if rounding == "floor" else 0,
        constants=constants,
    )
    return replace(c, slower=_with_slower_events(c, ops, events, launch_free_ops))


def _claim(sidecar: Sidecar, key: str) -> int | None:
    """Return a time that the capture measured, or None."""
    value = sidecar.facts.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _tries(sidecar: Sidecar, key: str) -> int | None:
    """Return the number of measurements that a value of the capture is from."""
    evidence = sidecar.facts.get("calibration")
    tries = evidence.get(key) if isinstance(evidence, dict) else None
    return len(tries) if isinstance(tries, list) else None


def _latency(sidecar: Sidecar, value: int | None) -> Constant:
    """Return the launch latency: ``value`` if the capture measured it."""
    if value is None:
        why = say("No trace can tell it: it shifts every start alike.")
        limits = (_LATENCY_NS, _LATENCY_LOW_NS, _LATENCY_MOST_NS)
        return Constant("launch_latency", *limits, "assumed", None, why)
    returned = _claim(sidecar, "sync_return_ns") or 0
    if value < _LATENCY_LOW_NS and returned > LATENCY_HIGH_NS:
        # A query that says "done" at once tells nothing: no device answers within 3 us. What a wait
        # took in the same tries is then the latency, but for its return.
        why = say("What a wait on the idle device took: asking for the event said done at once.")
        likely = value + returned - RETURN_NS
        return Constant("launch_latency", likely, value, value + returned, "capture", None, why)
    # Launches take at least as long as the fastest; its spread shows how much longer they take.
    spread = _claim(sidecar, "launch_latency_spread_ns") or 0
    above = max(_MEASURED_BOUND_NS, min(spread, LATENCY_HIGH_NS))
    least, most = max(value - _MEASURED_BOUND_NS, 0), value + above
    why = say("An event recorded on the idle device, until it was done.")
    tries = _tries(sidecar, "executed_ns")
    return Constant("launch_latency", value, least, most, "capture", tries, why)


def _sync_return(sidecar: Sidecar) -> Constant:
    value, latency = (_claim(sidecar, f"{name}_ns") for name in ("sync_return", "launch_latency"))
    if value is not None and latency is not None:
        is_latency = latency < _LATENCY_LOW_NS and value > LATENCY_HIGH_NS
        value = None if is_latency else value
    if value is None:
        why = say("From the end of the work to the return of a call that waits.")
        return Constant("sync_return", RETURN_NS, None, None, "assumed", None, why)
    why = say("A wait for an event on the idle device, less the launch latency.")
    spread = _claim(sidecar, "sync_return_spread_ns")
    least, most = (None, None) if spread is None else (value, value + spread)
    tries = _tries(sidecar, "waited_ns")
    return Constant("sync_return", value, least, most, "capture", tries, why)


def _mark_cost(
    sidecar: Sidecar, ops: Ops, events: EventPairs, launch_free_ops: I64, resolution: int
) -> tuple[int, int, Constant]:
    """Return the cost of an event, its largest one, and both as shown.

    What the capture measured behind a backlog counts; else what the trace shows.
    """
    value, bound = (_claim(sidecar, f"mark_cost{part}_ns") for part in ("", "_bound"))
    if value is not None and bound is not None and value <= _EVENT_MOST_NS:
        most = max(value + bound, round(value * _MARK_SPREAD)) + _MARK_ROOM_NS
        why = say("Ranges without work behind a long one, while nothing else was recorded.")
        return value, most, Constant("event_cost", value, 0, most, "capture", None, why)
    value, most, samples = _event_cost(ops, events, launch_free_ops, resolution)
    why = say("Operators without work that the device ran through faster than the host.")
    return value, most, _of_trace("event_cost", value, 0, most, samples, why)


def _kernel_gap(sidecar: Sidecar) -> tuple[int, int, Constant]:
    """Return the gap before a kernel on a busy device, its largest one, and both as shown.

    What the capture measured are limits: the gap of known devices counts as far as it is in them.
    """
    value, bound = (_claim(sidecar, f"kernel_gap{part}_ns") for part in ("", "_bound"))
    if value is None or bound is None or value + bound > _GAP_MOST_NS:
        why = say("As on known devices.")
        shown = Constant("kernel_gap", _GAP_NS, 0, _GAP_HIGH_NS, "assumed", None, why)
        return _GAP_NS, _GAP_HIGH_NS, shown
    # The host times the kernel alone, so that limits that reach 0 show no gap: then it is that of
    # known devices.
    least, most = max(value - bound, 0), value + bound
    most = most if least else _GAP_HIGH_NS
    value = min(max(_GAP_NS, least), most)
    why = say("Short kernels in a row, less one alone on the idle device.")
    return value, most, Constant("kernel_gap", value, least, most, "capture", None, why)


def with_event_cost(c: Calibration, shown: EventCost) -> Calibration:
    """Return the calibration with the cost of an event that ranges under backlog show.

    Without any range, the constant that is shown stays.
    """
    scatter = EVENT_DOUBT_NS + shown.scatter_ns
    low, high = max(shown.cost_ns - scatter, 0), shown.cost_ns + scatter
    constants = c.constants
    if shown.samples:
        why = say("Ranges run through behind the host, less the launching operators in them.")
        one = Constant("event_cost", shown.cost_ns, low, high, "trace", shown.samples, why)
        constants = tuple(one if k.name == "event_cost" else k for k in constants)
    return replace(
        c,
        event_ns=shown.cost_ns,
        event_low_ns=low,
        event_high_ns=high,
        event_doubt_ns=shown.doubt_ns,
        cut_ns=shown.cut_ns,
        constants=constants,
    )


def _of_trace(
    name: Name, value: int, least: int, most: int | None, samples: int, evidence: str
) -> Constant:
    """Return a constant as shown by the trace if it has samples, else as assumed."""
    if not samples:
        return Constant(name, value, least, most, "assumed", None, say("The trace shows too few."))
    return Constant(name, value, least, most, "trace", samples, evidence)


def _resolution(ops: Ops, value: int, rounding: str) -> Constant:
    known = int((ops.elapsed_ns != MISSING).sum())
    cut = {
        "floor": say("what is below is cut off"),
        "round": say("rounded to the nearest"),
        "both": say("either event is cut before the difference"),
    }[rounding]
    why = say("The largest step of which all elapsed times are multiples; {cut}.", cut=cut)
    return Constant("elapsed_resolution", value, None, None, "trace", known, why)


def _launch_free_operators(ops: Ops, events: EventPairs, launch_free: Bools) -> I64:
    """Return the rows of launch-free operators with a device time."""
    launching = sums_before(~launch_free)
    launch_free_ops = launching[events.end + 1] == launching[events.start + 1]
    return np.flatnonzero(launch_free_ops & (ops.elapsed_ns != MISSING))


def _event_cost(
    ops: Ops, events: EventPairs, launch_free_ops: I64, resolution: int
) -> tuple[int, int, int]:
    """Return the likely cost of an event, its upper bound, and the number of operators used.

    The elapsed time of an operator of k segments that cost the device its events only is the
    integer part of k times that cost. So each operator bounds the cost from both sides.
    """
    host = ops.end_ns[launch_free_ops] - ops.start_ns[launch_free_ops]
    row = launch_free_ops[
        (host >= _LONG_HOST_NS) & (2 * (ops.elapsed_ns[launch_free_ops] + resolution) <= host)
    ]
    if len(row) < _ENOUGH or resolution > TORCH_RESOLUTION_NS:
        return _EVENT_NS, EVENT_HIGH_NS, 0
    segments = events.end[row] - events.start[row]
    low, high = 0.0, float(_EVENT_MOST_NS)
    for k, count in zip(*np.unique(segments, return_counts=True), strict=True):
        if count >= _ALIKE:
            middle = float(np.median(ops.elapsed_ns[row][segments == k]))
            low, high = max(low, middle / k), min(high, (middle + resolution) / k)
    # A device that waited took longer than the events cost; none ever takes shorter.
    low = min(low, high)
    return int(low + high) // 2, int(high * _EVENT_SPREAD) + _MARK_ROOM_NS, len(row)


def _with_slower_events(
    c: Calibration, ops: Ops, events: EventPairs, launch_free_ops: I64
) -> Calibration | None:
    """Return the constants with the largest possible cost of an event, or None if it is known.

    No operator runs through faster than its events cost. On a device that is never behind that is
    far more than they do.
    """
    shown = next(k for k in c.constants if k.name == "event_cost")
    if shown.source != "assumed" or len(launch_free_ops) < _ENOUGH:
        return None
    segments = (events.end - events.start)[launch_free_ops]
    each = (ops.elapsed_ns[launch_free_ops] + c.resolution_ns) / np.maximum(segments, 1)
    most = min(int(np.percentile(each, 100 * _FASTEST) * _MARK_SPREAD), _EVENT_MOST_NS)
    if most <= c.event_high_ns:
        return None
    why = say("Cheaper ones contradict the elapsed times; no operator ran through faster.")
    one = Constant("event_cost", most // 2, 0, most, "trace", len(launch_free_ops), why)
    constants = tuple(one if k.name == "event_cost" else k for k in c.constants)
    jitter, _ = _jitter(ops, events, launch_free_ops, c.resolution_ns, most)
    return replace(c, event_ns=most // 2, event_high_ns=most, jitter_ns=jitter, constants=constants)


def _jitter(
    ops: Ops, events: EventPairs, launch_free_ops: I64, resolution: int, event_high: int
) -> tuple[int, int]:
    """Return how late an idle device may run an event, and the number of operators used."""
    host = ops.end_ns[launch_free_ops] - ops.start_ns[launch_free_ops]
    elapsed = ops.elapsed_ns[launch_free_ops]
    excess = elapsed + resolution // 2 - host
    # Shorter than on the host: the device was behind for a while. Events whose cost is the
    # host's time make it late, whatever its jitter.
    idle = (host >= _LONG_HOST_NS) & (excess > _LEAST_EXCESS_NS) & (excess < _MOST_EXCESS_NS)
    idle &= elapsed > (events.end - events.start)[launch_free_ops] * event_high
    if idle.sum() < _ENOUGH or resolution > TORCH_RESOLUTION_NS:
        return _JITTER_NS, 0
    low, high = np.percentile(excess[idle], (10, 90))
    jitter = int(np.clip((high - low) * _TAILS, _JITTER_LOW_NS, _JITTER_HIGH_NS))
    return jitter, int(idle.sum())
