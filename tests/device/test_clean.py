"""Training without issues, recorded on the reference device: no rule fires.

Kernels take simulated time, here hundreds of times the host's.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support import recording
from tests.support.program import check
from tests.support.repeats import sampled
from tests.support.shared_traces import read

SLOWNESS = ("--steps", "3", "--set", "speed=0.04")

_TRIES, _STARVED = 4, 0.01


def starved(trace: Trace, folder: Path) -> float:
    """Return the true idle share of the device in the steps."""
    log = recording.truth(folder)
    start, end = (np.array(log[name], np.int64) - trace.base_ns for name in ("start_ns", "end_ns"))
    window = intervals.union(trace.steps.start_ns, trace.steps.end_ns)
    busy = intervals.length(intervals.intersect(intervals.union(start, end), window))
    return 1 - busy / intervals.length(window)


@pytest.mark.parametrize(("route", "timeline"), sampled([("0", "inferred"), ("1", "measured")]))
def test_no_rule_fires(tmp_path: Path, route: str, timeline: str) -> None:
    folder = tmp_path / "log"
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        recording.record(folder, "clean", *SLOWNESS, REFDEVICE_KINETO=route)
        (path,) = folder.glob("*.pt.trace.json")
        trace = read(path)
        # A host that others stop for a second does starve the device.
        held_up = recording.longest_pause_us(folder) > recording.HELD_UP_US
        if starved(trace, folder) < _STARVED and not held_up:
            break
    assert trace.meta.timeline == timeline
    assert len(trace.steps) == 3
    result = advise(trace)
    check(result)
    # Times inferred beside a host that is held up have wide bounds, and the rule says no more.
    right = {"coarse_events"} if held_up and timeline == "inferred" else set()
    assert {row.rule for row in result.rows} <= right
    assert "failed" not in {one.answer for one in result.asked}
