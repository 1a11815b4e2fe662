"""Recorded counters while some activities of the device run."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters import recorded, recorded_means
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


class InstanceCounter(Struct, frozen=True):
    """A counter that the trace records, in its own unit, while the calls run."""

    counter: int
    """Its row in the trace's ``counter_series``."""
    name: str
    mean: float
    """Over the time of the calls, from the first value on."""
    samples: int
    """The values that were recorded while they ran. With few, the mean is that of what ran around
    them."""
    busy_mean: float
    """While anything runs on a device, in the whole recording."""


def instance_counters(trace: Trace, rows: I64) -> tuple[InstanceCounter, ...]:
    """Return the drawn counters with a value while these rows of ``trace.kernels`` run.

    Empty unless the times of the device are measured.
    """
    forms = recorded.drawn_samples(trace)
    if not forms or not recorded_means.has_call_times(trace):
        return ()
    kernels, names = trace.kernels.take(rows), recorded.labels(trace)
    busy, one = breakdown.busy(trace.kernels), np.zeros(len(rows), np.int64)
    found = []
    for row, form in forms.items():
        own = recorded_means.group_means(form, kernels.start_ns, kernels.end_ns, one, 1)
        busy_mean = form.mean(*busy)
        if own.known_ns[0] > 0 and busy_mean is not None:
            found.append(
                InstanceCounter(
                    counter=row,
                    name=names[row],
                    mean=float(own.mean[0]),
                    samples=int(own.samples[0]),
                    busy_mean=busy_mean,
                )
            )
    return tuple(found)
