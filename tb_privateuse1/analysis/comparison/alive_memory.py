"""Compare what is alive in two traces, each at its peak or its end."""

from __future__ import annotations

from typing import Literal

from tb_privateuse1.analysis.comparison.memory import device_pairs, pair_label
from tb_privateuse1.analysis.memory import differences
from tb_privateuse1.analysis.memory.differences import DeviceHistory, MemoryDifference, Moment
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


def compare_alive(
    base: Trace, trace: Trace, base_steps: I64, now_steps: I64, moment: Moment | Literal["none"]
) -> tuple[MemoryDifference, ...]:
    """Return a difference for each device whose totals and addresses both traces have.

    The chosen steps are rows of each trace's steps. The instant is the peak in these steps, or
    their end; without steps that of the whole recording. Nothing is compared for ``none``.
    """
    if moment == "none":
        return ()
    found = []
    for pair in device_pairs(base, trace):
        if pair[0] is None or pair[1] is None:
            continue
        old = differences.device_history(base, pair[0])
        now = differences.device_history(trace, pair[1])
        if old is not None and now is not None:
            before, after = _instant(old, base_steps, moment), _instant(now, now_steps, moment)
            label = pair_label(base, trace, pair)
            found.append(differences.difference(before, after, label))
    return tuple(found)


def _instant(history: DeviceHistory, rows: I64, moment: Moment) -> differences.Instant:
    level, steps = history.level, history.trace.steps
    start, end = 0, max(history.trace.end_ns, int(level.at_ns[-1]) + 1)
    if len(rows):
        start, end = int(steps.host_start_ns[rows].min()), int(steps.host_end_ns[rows].max())
    peak = level.peak(start, end) if moment == "peak" else None
    if peak is None:
        return differences.alive_at(history, differences.entry_before(level, end), end)
    return differences.alive_at(history, peak, max(int(level.at_ns[peak]), start))
