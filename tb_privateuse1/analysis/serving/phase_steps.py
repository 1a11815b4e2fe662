"""A trace with the iterations of serving as its steps, so that a phase is a window as steps are.

Kernels then belong to the iteration that launched them, the host's time is that of its ranges, and
the device's goes from the end of the iteration before to the end of its own last activity.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.recording.phases import phases
from tb_privateuse1.analysis.serving.iterations import Iteration, serving_iterations
from tb_privateuse1.trace.columns import containing
from tb_privateuse1.trace.memoize import memoize, take_over
from tb_privateuse1.trace.model import NONE, Steps, Trace
from tb_privateuse1.trace.step_names import PHASES
from tb_privateuse1.trace.step_ranges import step_ranges
from tb_privateuse1.trace.table import Bools


def with_phase_steps(trace: Trace) -> Trace:
    """Return the trace with a step for each iteration, ``decode#3``; itself without iterations.

    The number is that among all iterations, from 1 on. All tables but the steps have the same rows.
    """
    if not serving_iterations(trace):
        return trace
    made = _with_steps(trace)
    take_over(made, phases, phases(trace))
    return made


@memoize
def _with_steps(trace: Trace) -> Trace:
    found = serving_iterations(trace)
    start = np.array([one.start_ns for one in found], np.int64)
    # Those of several threads may overlap: the later one has the time.
    end = np.minimum([one.end_ns for one in found], np.append(start[1:], np.iinfo(np.int64).max))
    ranges = step_ranges(start, end, trace.ops, trace.kernels, trace.launches)
    strings, names = _names(trace, found)
    steps = Steps(
        name=names,
        host_start_ns=start,
        host_end_ns=end,
        start_ns=ranges.start_ns,
        end_ns=ranges.end_ns,
        incomplete=ranges.end_ns <= ranges.start_ns,
        primed=_inherited(trace, found, trace.steps.primed),
        partial=_inherited(trace, found, trace.steps.partial),
    )
    ops = replace(trace.ops, step=ranges.of_ops)
    kernels = replace(trace.kernels, step=ranges.of_kernels)
    return replace(trace, strings=strings, steps=steps, ops=ops, kernels=kernels)


def _names(
    trace: Trace, found: tuple[Iteration, ...]
) -> tuple[tuple[str, ...], np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Return the trace's strings with the iterations' names behind them, and their places."""
    assert all(one.kind in PHASES for one in found)
    own = tuple(f"{one.kind}#{number}" for number, one in enumerate(found, 1))
    return trace.strings + own, np.arange(len(own), dtype=np.int32) + len(trace.strings)


def _inherited(trace: Trace, found: tuple[Iteration, ...], flags: Bools) -> Bools:
    """Return the flag of the recorded step in which each iteration begins; false outside of all."""
    steps = trace.steps
    starts = np.array([one.start_ns for one in found], np.int64)
    row = containing(steps.host_start_ns, steps.host_end_ns, starts)
    return np.append(flags, False)[np.where(row >= 0, row, NONE)]
