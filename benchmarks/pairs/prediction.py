"""Ask the project's what-if about a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tb_privateuse1 import inference
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.analysis.simulation.profiler_time import is_dense
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.sources.one_trace import trace_values
from tb_privateuse1.views.whatif import WhatIf, whatif

EVERY_KERNEL = "kernel:*="


@dataclass(frozen=True)
class Prediction:
    """What the what-if says of a recording, ns per step."""

    measured_ns: int
    replayed_ns: int
    """The step replayed without changes and without delays that nothing explains."""
    net_ns: int
    """The step without the profiler's time: gains are of it."""
    gain_ns: float
    low_ns: float
    high_ns: float


def load(path: Path) -> Trace:
    """Return the trace of a file and of the sidecar beside it, if there is one."""
    beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
    sidecar = readers_sidecar.read_sidecar(str(beside)) if beside.exists() else None
    return inference.build_trace(chrome.read(str(path)), sidecar)


def predict(path: Path, changes: Sequence[str], work: float = 1) -> Prediction:
    """Return the prediction for a step with changes, which then does ``work`` steps' work.

    Raises TraceError if a change names what the recording does not have.
    """
    trace = load(path)
    answer = ask(trace, changes)
    assert answer.measured_ns is not None
    assert answer.replayed_ns is not None
    measured = answer.measured_ns
    gain, low, high = (measured - (measured - each) / work for each in gains(answer))
    return Prediction(measured, answer.replayed_ns, net_step_ns(trace), gain, low, high)


def net_step_ns(trace: Trace) -> int:
    """Return the mean step without the profiler's time, if it is known; else as recorded."""
    answer = ask(trace, ("profiler=0",) if is_dense(trace) else ())
    assert answer.predicted_ns is not None
    return answer.predicted_ns


def step_ns(path: Path) -> int:
    """Return the mean step of a recording."""
    answer = ask(load(path), ())
    assert answer.measured_ns is not None
    return answer.measured_ns


def steps_ns(path: Path) -> list[int]:
    """Return each judged step of a recording."""
    return [step.measured_ns for step in ask(load(path), ()).steps]


def ask(trace: Trace, changes: Sequence[str]) -> WhatIf:
    """Return the view's answer."""
    lines = [line for change in changes for line in _lines(trace, change)]
    values = trace_values(whatif, trace, {"rules": tuple(RULES.values())})
    found = whatif(*values, changes="\n".join(lines), ranking=False)
    assert isinstance(found, WhatIf)
    return found


def gains(answer: WhatIf) -> tuple[float, float, float]:
    """Return the predicted gain of a step, and the least and most that it may be, ns.

    A range that is not known is 0 wide.
    """
    gain = answer.gain_ns or 0
    low, high = answer.gain_low_ns, answer.gain_high_ns
    return gain, gain if low is None else low, gain if high is None else high


def _lines(trace: Trace, change: str) -> list[str]:
    """Return one line per kernel name for ``kernel:*``, else the change."""
    if not change.startswith(EVERY_KERNEL):
        return [change]
    names = [trace.text(name) for name in np.unique(trace.kernels.name).tolist()]
    return [f"kernel:{name}={change.removeprefix(EVERY_KERNEL)}" for name in names]
