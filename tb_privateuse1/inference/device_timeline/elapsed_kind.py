"""Detect what a backend's elapsed times are, with the evidence.

``event``: the time between two events on the stream. ``kernel_sum``: the sum of the durations of
the kernels launched between the events, 0 for none. ``host``: operators run on the host's thread,
so that there is no separate device timeline. ``coarse``: in steps too large to separate kernels.
``unit``: not microseconds. Whether events ran on a stream beside the host shows only after the
constraints are solved (``contradiction``).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.inference.device_timeline.timeline_inputs import TORCH_RESOLUTION_NS
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.groupby import named_rows, sums
from tb_privateuse1.trace.inference_basis import Kind as Name
from tb_privateuse1.trace.model import MISSING, NONE, Ops
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I64

_COARSE_NS = 100_000
"""Elapsed times in steps of this size or more cannot separate kernels."""

_VALUES, _MILLISECOND_NS = 6, 1_000_000
"""The number of different values that show a resolution, except whole milliseconds."""

_CHANCE_BITS = 16
"""A common divisor is the resolution if chance gives it once in 2 to the power of this, as the
capture has it."""

_MICROSECONDS = say("ProfilerStubs::elapsed must return microseconds (torch 2.13).")

_HOST = say("Its operator times on the host are its device times.")

_FALLBACK = 0.9
"""The share of the operators' time in torch's CPU fallback that shows a backend without kernels."""

_LONG_NS = 1_000_000
"""Operators and steps of this host time are long enough to compare the clocks' units."""

_UNIT = 100
"""Device and host times of long ranges that differ by this factor are in different units."""

_SHORT_UNIT = 10
"""Device and host times of all short ranges together that differ by less are in one unit."""

_LEAST_CHILDREN, _LEAST_CHILD_NS = 10, 20_000
"""Parts of a step, and their mean time, that tell a sum from an elapsed time: idle time and the
rounding of few short parts may be equal. Half or twice changes none of 50 recordings."""
_LEAST_STEPS = 3
"""In fewer steps, idle time may be absent rather than not counted."""
_EQUAL_NS = 2_000
"""The difference up to which a step's elapsed time equals the sum of its parts."""
_PARTS_NS, _BESIDE_NS = 5_000, 10_000
"""The least device time of a range's parts, and host time beside them, that show a sum."""
_SUMS = 0.95
"""The share of such ranges that must equal the sum of their parts."""
_ROUNDING = 1_200
"""Four standard deviations of the error of one part's rounding to microseconds."""

_CONTRADICTING, _FEW_CLAIMS = 0.02, 8
"""The largest share of contradicting claims for which there is a timeline, and their number in a
small recording: two contradictions, each with two ends and their neighbors."""


class Kind(Struct, frozen=True):
    """The kind and resolution of the elapsed times, and the reason in words."""

    name: Name
    resolution_ns: int
    evidence: str
    finding: Finding | None = None


def detect(ops: Ops, strings: Strings, claim: object = None, unit: object = None) -> Kind:
    """Return the kind of the trace's elapsed times.

    ``claim`` is the capture's ``elapsed_kind`` in the sidecar; it counts if the trace itself does
    not show the kind. ``unit`` is the ``elapsed_unit`` that the capture measured.
    """
    known = ops.elapsed_ns[ops.elapsed_ns != MISSING]
    positive = known[known > 0]
    if not len(positive):
        return Kind("none", 0, say("No operator has a device time above 0."))
    values = groupby.distinct_values(positive)
    resolution = int(np.gcd.reduce(values))
    bits = len(values) * math.log2(max(resolution / TORCH_RESOLUTION_NS, 1))
    if (len(values) < _VALUES or bits < _CHANCE_BITS) and resolution % _MILLISECOND_NS:
        # A few values have a common divisor by chance.
        resolution = min(resolution, TORCH_RESOLUTION_NS)
    unusable = _unusable_kind(resolution, len(values), claim, unit)
    if unusable is not None:
        return unusable
    equal, steps = _equal_sums(ops, strings)
    if equal == steps and (steps >= _LEAST_STEPS or (steps and claim == "kernel_sum")):
        evidence = say(
            "In {steps} steps the elapsed time equals the sum of its operators'.", steps=steps
        )
        return Kind("kernel_sum", resolution, evidence)
    if claim == "kernel_sum" and not steps:
        return Kind(
            "kernel_sum", resolution, say("The capture says that they are sums of kernels.")
        )
    sums, ranges = _sums_of_parts(ops)
    fallback = _fallback_share(ops, strings)
    # Where torch ran nearly all of it on the CPU, a few ranges may be equal by chance.
    enough = _LEAST_STEPS if fallback < _FALLBACK else _LEAST_CHILDREN
    if claim is None and ranges >= enough and sums >= _SUMS * ranges:
        evidence = say(
            "In {sums} of {ranges} ranges the elapsed time is the sum of the parts', without the "
            "host's time between them.",
            sums=sums,
            ranges=ranges,
        )
        return Kind("kernel_sum", resolution, evidence)
    if claim is None and fallback >= _FALLBACK:
        message = say(
            "In {share} of the operators' time torch ran them on the CPU instead: this backend "
            "has no work of its own.",
            share=percent(fallback),
        )
        return Kind("host", resolution, message, _unusable("elapsed_of_the_host", message, _HOST))
    if reason := _not_microseconds(ops):
        finding = _unusable("elapsed_unit", reason, _MICROSECONDS)
        return Kind("unit", resolution, reason, finding)
    held = _held_back(steps) if claim == "kernel_sum" and steps and not equal else None
    return Kind("event", resolution, _event_evidence(equal, steps, claim), held)


def _unusable_kind(resolution: int, values: int, claim: object, unit: object) -> Kind | None:
    """Return the kind of times that their grid or the capture shows to be of no use; else None."""
    if resolution >= _COARSE_NS and values > 1:
        message = say(
            "All elapsed times are multiples of {step_ms:g} ms: too coarse.",
            step_ms=resolution / 1e6,
        )
        finding = _unusable("elapsed_coarse", message, _MICROSECONDS)
        return Kind("coarse", resolution, message, finding)
    if unit in ("ms", "ns"):
        message = say(
            "The capture measured that the backend's elapsed times are in {unit}.", unit=unit
        )
        return Kind("unit", resolution, message, _unusable("elapsed_unit", message, _MICROSECONDS))
    if claim == "host":
        message = say(
            "The capture found that this backend runs its operators on the host's thread."
        )
        return Kind("host", resolution, message, _unusable("elapsed_of_the_host", message, _HOST))
    return None


def _held_back(steps: int) -> Finding:
    """Return a finding of a device whose idle time counts in steps, but not in an idle range.

    It executes both events of such a range together, with the next work or a flush. So the time up
    to an event says nothing of the work before it.
    """
    message = say(
        "The device works in batches: an idle range took no time on it, but in all {steps} steps "
        "more passed than the sum of the operators'. Nothing tells when work began.",
        steps=steps,
    )
    return _unusable(
        "device_batches", message, say("Let the backend start work at once while it is profiled.")
    )


def _not_microseconds(ops: Ops) -> str | None:
    """Return why the elapsed times are not in microseconds, or None.

    A range that waited for work launched before has no device time: so the range with the largest
    ratio decides. Short ranges count too, as all long ones may have waited.
    """
    host = ops.end_ns - ops.start_ns
    timed = ops.elapsed_ns != MISSING
    long = (host >= _LONG_NS) & timed
    if not long.any():
        return None
    ratio = float(np.max(ops.elapsed_ns[long] / host[long]))
    short = timed & ~long
    fits = int(ops.elapsed_ns[short].sum()) * _SHORT_UNIT > int(host[short].sum())
    if ratio * _UNIT >= 1 or fits:
        return None
    return say(
        "Ranges of 1 ms or more on the host have at most {ratio:.2g} times as much device time: "
        "the elapsed times are probably not in microseconds.",
        ratio=ratio,
    )


def _sums_of_parts(ops: Ops) -> tuple[int, int]:
    """Return how many ranges take as long as their parts, and of how many that would show it.

    These took the host 10 us and more beside their parts, on a device that was idle most of the
    time: between two events, idle time would count.
    """
    known = ops.elapsed_ns != MISSING
    host = ops.end_ns - ops.start_ns
    parent = np.where(known, ops.parent, NONE)
    total, within, count = (
        sums(parent, values, len(ops)) for values in (ops.elapsed_ns, host, np.ones_like(host))
    )
    outer = known & (ops.parent == NONE)
    if 2 * int(ops.elapsed_ns[outer].sum()) >= int(host[outer].sum()):
        return 0, 0
    usable = known & (count >= 2) & (total >= _PARTS_NS) & (host - within >= _BESIDE_NS)
    room = _EQUAL_NS / 2 + _ROUNDING * np.sqrt(count) / 2
    equal = usable & (np.abs(ops.elapsed_ns - total) <= room)
    return int(equal.sum()), int(usable.sum())


def _fallback_share(ops: Ops, strings: Strings) -> float:
    """Return the share of the outermost operators' time around copies to the CPU that torch made.

    torch's fallback for operators that a backend lacks copies its inputs with ``aten::_to_cpu``.
    """
    copies = named_rows(strings.all, ops.name, "aten::_to_cpu".__eq__)
    if not copies.any():
        return 0.0
    aten = named_rows(strings.all, ops.name, lambda name: name.startswith("aten::"))
    outer = aten & (intervals.nearest(ops.parent, aten) == NONE)
    host = ops.end_ns - ops.start_ns
    around = outer & intervals.enclosing(ops.parent, copies)
    return float(host[around].sum() / max(int(host[outer].sum()), 1))


def _event_evidence(equal: int, steps: int, claim: object) -> str:
    """Return why they are times between two events on a stream."""
    reasons = []
    if claim == "event":
        reasons.append(
            say("The capture saw an idle range take as long on the device as on the host.")
        )
    if steps and equal == steps:
        reasons.append(
            say(
                "In {steps} steps the elapsed time equals the sum of the operators', too few to "
                "tell whether idle time counts.",
                steps=steps,
            )
        )
    elif steps:
        reasons.append(
            say(
                "In {count} of {total} steps with enough in them, the elapsed time is not the sum "
                "of the operators': idle time counts.",
                count=steps - equal,
                total=steps,
            )
        )
    return join_sentences(reasons) or say(
        "Nothing speaks against times between two marks on a stream."
    )


def nothing_placed(operators: int) -> Finding:
    """Return why there is no timeline if no time of a stream's work is bounded."""
    message = say(
        "The elapsed times of {operators} operators bound neither the start nor the duration of "
        "any work of the device.",
        operators=operators,
    )
    hint = say("Record steps with more work, or let the backend report the times of its events.")
    return _unusable("elapsed_places_nothing", message, hint, operators)


def consistent(dropped: int, claims: int) -> bool:
    """Return whether so few claims contradict others that the rest may be right."""
    return dropped <= max(_CONTRADICTING * claims, _FEW_CLAIMS)


def contradiction(dropped: int, claims: int) -> Finding | None:
    """Return why there is no timeline if too many claims contradict a single stream.

    A claim says that a range of the host's time launched nothing, or that a call waited.
    """
    if consistent(dropped, claims):
        return None
    message = say(
        "{dropped} of {claims} conclusions about who launched nothing contradict the device times: "
        "no order of work on one stream beside the host explains them.",
        dropped=dropped,
        claims=claims,
    )
    hint = say(
        "The backend probably runs its operators on the host's thread, so that there is no "
        "device timeline apart from the host's; or the events of several streams are mixed."
    )
    return _unusable("elapsed_not_of_a_stream", message, hint, dropped)


def _unusable(code: str, message: str, hint: str, count: int | None = None) -> Finding:
    return Finding(code, message, hint, count, "error", DEVICE)


def _equal_sums(ops: Ops, strings: Strings) -> tuple[int, int]:
    """Return in how many steps the elapsed time equals that of the parts, and of how many."""
    named = step_strings(strings.all)[ops.name]
    row = np.flatnonzero(named & (ops.elapsed_ns != MISSING))
    if not len(row):
        return 0, 0
    total, count = _inside(ops, row)
    usable = (count >= _LEAST_CHILDREN) & (total >= count * _LEAST_CHILD_NS)
    room = _EQUAL_NS + _ROUNDING * np.sqrt(count)
    equal = np.abs(ops.elapsed_ns[row] - total) <= room
    return int((equal & usable).sum()), int(usable.sum())


def _inside(ops: Ops, step: I64) -> tuple[I64, I64]:
    """Return sum and number of the elapsed times of the outermost ranges in each step."""
    others = np.ones(len(ops), np.bool_)
    others[step] = False
    top = others & (ops.elapsed_ns != MISSING)
    top &= (ops.parent == NONE) | np.isin(ops.parent, step)
    rows = np.flatnonzero(top)
    at = intervals.innermost(
        np.zeros(len(step), np.int32),
        ops.start_ns[step],
        ops.end_ns[step],
        np.zeros(len(rows), np.int32),
        ops.start_ns[rows],
    )
    total = sums(at, ops.elapsed_ns[rows], len(step))
    return total, np.bincount(at[at >= 0], minlength=len(step))
