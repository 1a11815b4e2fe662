"""Bound a launch latency that the capture did not measure, by calls that waited for the device.

It shifts every start alike, so that no elapsed time shows it. But what a call waits for is done
when it returns: the time from its record to the return holds the whole latency.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.device_timeline import sync_points
from tb_privateuse1.inference.device_timeline.calibration import LATENCY_HIGH_NS
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.timeline_inputs import Calibration
from tb_privateuse1.trace.inference_basis import Constant
from tb_privateuse1.trace.table import Bools


def bound_by_waits(stream: StreamInput, blocking: Bools) -> StreamInput:
    """Return the stream with a latency that is no longer than any wait; measured ones stay.

    ``blocking``: the operators that wait for their work.
    """
    c = stream.c
    shortest = shortest_wait(stream, blocking)
    if c.latency_measured or shortest is None:
        return stream
    constants = tuple(_limited(one, shortest) for one in c.constants)
    return replace(stream, c=_with_constants(c, constants))


def without_shift(stream: StreamInput) -> Calibration:
    """Return the constants for what compares events with each other.

    Their times rest on those of an idle device: a longer latency than that of local devices shifts
    them all. Measured times rest on the device's clock, which may be wrong for some.
    """
    c = stream.c
    if stream.measured is not None:
        return c
    return replace(c, latency_bound_ns=min(c.latency_bound_ns, LATENCY_HIGH_NS))


def shortest_wait(stream: StreamInput, blocking: Bools) -> int | None:
    """Return the least time in ns from a record to the return of a call that waited for it.

    None without such calls.
    """
    events = stream.events
    _, done, at = sync_points.bare_waits(events, stream.waits)
    own = stream.ops.end_ns - events.host_low_ns[events.start]
    waits = np.concatenate((done - events.host_low_ns[at], own[blocking]))
    return int(waits.min()) if len(waits) else None


def _limited(constant: Constant, most_ns: int) -> Constant:
    """Return the launch latency with this limit, if it is a closer one; others as they are."""
    if constant.name != "launch_latency" or most_ns >= (constant.most_ns or 0):
        return constant
    why = say("A call returned that soon after the record of what it waited for.")
    return replace(constant, most_ns=max(most_ns, constant.value_ns), evidence=why)


def _with_constants(c: Calibration, constants: tuple[Constant, ...]) -> Calibration:
    """Return the calibration with a launch latency of other limits."""
    before, after = (
        next(one.width_ns for one in some if one.name == "launch_latency")
        for some in (c.constants, constants)
    )
    bound = c.latency_bound_ns - before + after
    return replace(c, constants=constants, latency_bound_ns=bound)
