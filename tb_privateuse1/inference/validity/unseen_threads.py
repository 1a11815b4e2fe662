"""Say that device times are lower limits where a thread without recorded operators may launch.

torch records some threads only. What another one launches on a stream of its own delays no event,
and little else shows. The capture tells of each Python thread how much processor time it took, and
some backends who launched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import Text, join_list, plural, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.readers.raw import HostLaunches, HostThread, Sidecar
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.findings import DEVICE, LONGEST_NAME, Finding
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

MAY = "threads_unseen"
"""The code of what is only possible; ``work_unseen`` is sure."""

_LEAST = 3
"""Launches that a thread must have had the time for. It wakes up in less: 10 to 40 us here, and a
launching operator takes 5 to 20."""
_MOST_NAMES = 3
"""More are no easier to find than their count is."""


class Unseen(Struct, frozen=True):
    """Threads without recorded operators, ``launches`` of theirs, and ns of their processor time.

    ``launches`` is 0 where the backend tells of none: then they only may have launched. ``ended``:
    threads without names are among them, which ended within the recording.
    """

    names: tuple[str, ...]
    launches: int
    cpu_ns: int
    ended: bool = False


def find(trace: Trace, sidecar: Sidecar | None) -> Unseen | None:
    """Return the threads that launched unseen, or may have by their processor time; else None.

    A log of launches decides alone. Without one, a thread counts if it had the time to launch so
    much work of the program's kind that the stated busy time was wrong. torch may have recorded all
    threads: then one without operators launched nothing.
    """
    if sidecar is None or trace.meta.timeline != "inferred" or not len(trace.kernels):
        return None
    recorded = _recorded_threads(trace)
    if sidecar.launches is not None:
        return _logged(trace, sidecar.launches, recorded, sidecar.host_threads)
    if sidecar.facts.get("all_threads") is True:
        return None
    launches = _launches_for_error(trace)
    if launches is None:
        return None
    limit = launches * _launch_ns(trace)
    unseen = [one for one in sidecar.host_threads if str(one.thread) not in recorded]
    busy = sorted((one for one in unseen if one.cpu_ns >= limit), key=lambda one: -one.cpu_ns)
    ended = sidecar.facts.get("ended_threads_ns")
    ended_ns = ended if type(ended) is int and ended >= limit else 0
    cpu_ns = sum(one.cpu_ns for one in busy) + ended_ns
    return Unseen(tuple(one.name for one in busy), 0, cpu_ns, ended_ns > 0) if cpu_ns else None


def mark(trace: Trace, found: Unseen | None) -> Trace:
    """Return the trace, marked if threads that nobody records launched, or may have."""
    if found is None:
        return trace
    finding = Finding(
        "work_unseen" if found.launches else MAY,
        _message(found),
        say(
            "Record all threads: profile_all_threads of the profiler's experimental_config. torch "
            "then records no memory."
        ),
        found.launches or None,
        "warning",
        DEVICE,
    )
    others = (f for f in trace.meta.findings if f.code != finding.code)
    findings = (*others, finding)
    return replace(trace, meta=replace(trace.meta, unseen_work=True, findings=findings))


def _message(found: Unseen) -> Text:
    names = join_list([f'"{shorten(name, LONGEST_NAME)}"' for name in found.names[:_MOST_NAMES]])
    threads = plural(len(found.names), "thread")
    if found.launches:
        return say(
            "{threads} without recorded operators launched device work {count:,} times ({names}): "
            "device times are lower bounds, and idle times upper ones.",
            threads=threads,
            count=found.launches,
            names=names,
        )
    if not found.names:
        return say(
            "Threads that ended within the recording took {time_ms:,.1f} ms of processor time and "
            "may have launched device work: device times are lower bounds, and idle times upper "
            "ones. If they computed on the host alone, nothing is missing.",
            time_ms=found.cpu_ns / 1e6,
        )
    if found.ended:
        names = join_list([names, say("and others that ended")])
    return say(
        "{threads} without recorded operators took {time_ms:,.1f} ms of processor time ({names}) "
        "and may have launched device work: device times are lower bounds, and idle times upper "
        "ones. If they computed on the host alone, nothing is missing.",
        threads=threads,
        time_ms=found.cpu_ns / 1e6,
        names=names,
    )


def _recorded_threads(trace: Trace) -> set[str]:
    """Return the numbers of the threads with recorded ranges, as texts."""
    rows = np.unique(trace.ops.thread)
    numbers = trace.threads.tid[rows]
    return {trace.strings[number] for number in numbers[numbers != NONE].tolist()}


def _logged(
    trace: Trace, log: HostLaunches, recorded: set[str], threads: Sequence[HostThread]
) -> Unseen | None:
    """Return the threads that launched in the window by the backend's log, but recorded nothing."""
    host = log.host_ns - trace.base_ns
    first, last = trace.ops.start_ns.min(), trace.ops.end_ns.max()
    during = (host >= first) & (host <= last)
    numbers, counts = np.unique(log.thread[during], return_counts=True)
    known = np.array([str(number) in recorded for number in numbers.tolist()], np.bool_)
    if not known.any() or known.all():  # none: another clock or other numbers
        return None
    names = {one.thread: one.name for one in threads}
    unseen = numbers[~known].tolist()
    found = tuple(names.get(number, str(number)) for number in unseen)
    return Unseen(found, int(counts[~known].sum()), 0)


def _launches_for_error(trace: Trace) -> float | None:
    """Return how many of the program's kernels make its busy time wrong; None if it has no bound.

    By their mean length: what the stated error holds, and no fewer than the least.
    """
    bound = uncertainty.union_bound(trace.kernels)
    length = float((trace.kernels.end_ns - trace.kernels.start_ns).mean())
    return None if bound is None or not length else max(bound / length, _LEAST)


def _launch_ns(trace: Trace) -> int:
    """Return the host time of the cheapest recorded operator with a kernel of its own, in ns."""
    ops = trace.ops
    rows: I64 = np.unique(trace.kernels.op[trace.kernels.op != NONE])
    took = ops.end_ns[rows] - ops.start_ns[rows]
    return int(took[took > 0].min(initial=np.iinfo(np.int64).max))
