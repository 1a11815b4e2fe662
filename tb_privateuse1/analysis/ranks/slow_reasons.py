"""Find what takes slow ranks longer: computation, copies, their host, or their data loader."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import IDLE, ClassName
from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.analysis.ranks.steps import idle_columns
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64

SlowCause = Literal["computation", "copy", "host", "input", "transfer", "unknown"]

_COLUMNS: dict[SlowCause, str] = {
    "computation": "computation_ns", "copy": "copy_ns", "host": "idle_ns",
}  # fmt: skip
_PART = 0.3
"""The least share of the excess that a cause explains."""
_MOSTLY = 0.5
"""The least share of the idle excess for which the data loader is the cause."""
_KERNEL = 0.2
"""The least share of the excess for which a kernel is named."""
_THROTTLED = 0.75
"""At least this share of the kernels' time is slower, ..."""
_AS_SLOW = 0.4
"""... each by at least this share of the overall slowdown, ..."""
_LEAST_KERNELS = 3
"""... in this many kernels with as many calls as on the peers."""


class Reason(Struct, frozen=True):
    """The part of its time that a rank has more of than its peers, per step."""

    cause: SlowCause
    explained_ns: int | None
    """None if the cause is unknown."""
    idle_class: ClassName | None = None
    kernel: str | None = None
    kernel_ns: int | None = None
    is_throttled: bool = False
    """Most kernels take longer by about the same factor, in as many calls."""


def find_reason(job: Job, rows: I64, peers: I64, excess_ns: float) -> Reason:
    """Return what ``rows`` do longer than the median of ``peers``, of an excess per step."""
    more = {
        cause: _excess(_means(job, getattr(job.steps, name)), rows, peers)
        for cause, name in _COLUMNS.items()
    }
    cause = max(more, key=lambda one: more[one])
    if not more[cause] > _PART * max(excess_ns, 0):
        return Reason("unknown", None)
    explained = round(more[cause])
    if cause == "host":
        return _of_host(job, rows, peers, explained)
    if cause == "computation":
        name, kernel_ns = _kernel(job, rows, peers, explained)
        usual = np.nanmedian(_means(job, job.steps.computation_ns)[peers])
        throttled = _is_throttled(job, rows, peers, explained / max(float(usual), 1.0))
        return Reason(cause, explained, None, name, kernel_ns, throttled)
    return Reason(cause, explained)


def _of_host(job: Job, rows: I64, peers: I64, explained: int) -> Reason:
    by_class: dict[ClassName, float] = dict.fromkeys(IDLE, 0.0)
    for name, idle_ns in idle_columns(job.parts).items():
        by_class[name] = _excess(_means(job, idle_ns), rows, peers)
    largest = max(by_class, key=lambda one: by_class[one])
    if by_class["input"] >= _MOSTLY * explained:
        return Reason("input", round(by_class["input"]), "input")
    return Reason("host", explained, largest if by_class[largest] > _PART * explained else None)


def _means(job: Job, column: I64) -> F64:
    """Return the mean of a column of step rows by rank; NaN without a known value."""
    known = job.counted & (column != MISSING)
    rank = job.steps.rank[known]
    count = np.bincount(rank, minlength=len(job.parts))
    total = np.bincount(rank, column[known], minlength=len(job.parts))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _excess(means: F64, rows: I64, peers: I64) -> float:
    """Return the difference of medians; minus infinity if it is not known."""
    own, others = means[rows], means[peers]
    own, others = own[~np.isnan(own)], others[~np.isnan(others)]
    return float(np.median(own) - np.median(others)) if len(own) and len(others) else -np.inf


def _kernel(job: Job, rows: I64, peers: I64, excess_ns: float) -> tuple[str | None, int | None]:
    """Return the kernel with the greatest excess, if it is a large part of all."""
    mine = job.parts[int(rows[0])].host.kernels
    others = [job.parts[i].host.kernels for i in peers.tolist()]
    best, most = None, _KERNEL * excess_ns
    for name, ns in mine.items():
        extra = ns - float(np.median([kernels.get(name, 0) for kernels in others]))
        if extra >= most:
            best, most = name, extra
    return best, None if best is None else round(most)


def _is_throttled(job: Job, rows: I64, peers: I64, overall: float) -> bool:
    """Return whether the kernels of the first row are slower throughout.

    ``overall`` is the slowdown of all computation.

    More work, such as longer samples, changes the number of calls, or a few kernels only.
    """
    mine = job.parts[int(rows[0])].host
    others = [job.parts[i].host for i in peers.tolist()]
    times, slowdowns = [], []
    for name, ns in mine.kernels.items():
        usual = float(np.median([host.kernels.get(name, 0) for host in others]))
        calls = float(np.median([host.kernel_calls.get(name, 0) for host in others]))
        if usual > 0 and calls == mine.kernel_calls.get(name):
            times.append(usual)
            slowdowns.append(ns / usual - 1)
    if len(times) < _LEAST_KERNELS:
        return False
    time, slowdown = np.array(times), np.array(slowdowns)
    as_slow = time[slowdown >= _AS_SLOW * overall].sum()
    return bool(as_slow >= _THROTTLED * time.sum())
