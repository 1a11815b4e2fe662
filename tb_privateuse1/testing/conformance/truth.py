"""Work of known length: what a recording says of it, against what the host timed without one.

The host times rows of one operator twice: alone, which gives the length of a kernel; and in the
recording, where the vendor's events lie between two kernels, which gives when each starts after the
first. The recording is then read as the dashboard reads it.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.autograd.profiler import record_function
from torch.profiler import schedule

from tb_privateuse1 import capture, inference, readers
from tb_privateuse1.readers.sidecar import read_sidecar
from tb_privateuse1.testing.conformance.host_timing import (
    LONG,
    SHORT,
    HostBusyError,
    Times,
    is_calm,
    limits,
    time_rows,
)
from tb_privateuse1.testing.conformance.subject import Subject
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.model import MISSING, Kernels, Trace
from tb_privateuse1.trace.table import I64

ROW = "tb_privateuse1::known"
OPERATOR = "aten::mul_"
_MOST_ROWS = 40
"""Of each length: until two calm ones agree."""
_ATTEMPTS = 3
"""A host that is busy for one recording may be quiet for the next."""
_HELD_UP = 1.2
"""A row that took more than this times the least was held up on the host, and judges no starts."""
_VAGUE = 0.03
"""How far apart two tries of the host may be, as a share of a kernel: else it knows no length."""
_APART = 0.5
"""How much longer a recording may make the work, as a share, beside what its events take."""
_BELOW = 2
"""How far below the least row the truth may be, in distances of the calmest rows: all are late."""
_ROOM_NS = 500
"""How far off the host's time of a kernel may be beside that: a clock reading, twice."""

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Truth:
    """Errors of a recording of work of known length. Times in ns; errors are inferred less known.

    ``coverage`` is the share of bounds that held, of durations and of starts within a row.
    """

    kernels: int
    missing: int
    operator_ns: int
    """The known length of a kernel, with the gap before it."""
    operator_bound_ns: int
    period_ns: int
    """The known time from a kernel to the next while the profiler records."""
    duration_error_ns: int
    """The median."""
    duration_error_p95_ns: int
    duration_bound_ns: int
    start_error_ns: int
    """The median distance of a start from where it was due behind the row's first."""
    start_error_p95_ns: int
    start_bound_ns: int
    """The median, with the shift that all starts share."""
    start_room_ns: int
    """How far off the host may be about when a start was due: the median. No error of the backend.

    It counts on top of a bound: an error below both proves nothing against the bound.
    """
    durations_held: int
    starts_held: int
    judged: int

    @property
    def coverage(self) -> float:
        """Return the share of bounds that held; a kernel that is missing held none."""
        return (self.durations_held + self.starts_held) / max(self.judged, 1)

    def as_json(self) -> dict[str, Any]:
        """Return all numbers by name."""
        return {**asdict(self), "coverage": self.coverage}


@functools.cache
def attempt(subject: Subject) -> Truth | str:
    """Return the errors of a recording, or why there are none: the best of some attempts."""
    failed = ""
    for _ in range(_ATTEMPTS):
        try:
            with tempfile.TemporaryDirectory() as folder:
                return measure(subject, Path(folder))
        except HostBusyError as error:
            failed = str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0]
    return failed


def measure(subject: Subject, folder: Path) -> Truth:
    """Return the errors of a recording, which is left in an empty ``folder``.

    Raises HostBusyError, and what the backend raises.
    """
    alone = time_rows(subject.long_values, _MOST_ROWS, _VAGUE)
    recorded = _record(subject, str(folder))
    trace = read_recording(folder)
    operator = _period(alone)
    return _judge(
        trace, operator, _checked(_period(recorded), operator, _marks_ns(subject)), recorded
    )


def _marks_ns(subject: Subject) -> int:
    """Return what the events between two kernels take while the stubs are called."""
    cost = None if subject.native else subject.calibration.costs.mark_ns
    return 2 * (cost or 0)


def _checked(
    recorded: tuple[float, float], alone: tuple[float, float], marks_ns: int
) -> tuple[float, float]:
    """Return the time from one kernel to the next in the recording, with a bound that is proven.

    Beside the kernels only the marks lie between two: what else differs was the host's. Raises
    HostBusyError where that is too much.
    """
    apart = abs(recorded[0] - alone[0] - marks_ns)
    if apart > _APART * alone[0]:
        raise HostBusyError("the host is too busy: a recording made the same work much longer")
    return recorded[0], recorded[1] + apart


def _record(subject: Subject, folder: str) -> Times:
    """Record the rows as a user would, into ``folder``; return their times on the host."""
    handler = capture.tensorboard_trace_handler(folder)
    times: Times = {}
    with (
        warnings.catch_warnings(),
        capture.profile(
            schedule=schedule(wait=0, warmup=1, active=1, repeat=1), on_trace_ready=handler
        ) as prof,
    ):
        warnings.simplefilter("ignore")  # the lines of the scorecard say it
        for _ in range(2):
            times = time_rows(
                subject.long_values, _MOST_ROWS, _VAGUE, lambda n: record_function(f"{ROW}_{n}")
            )
            prof.step()
    return times


def read_recording(folder: Path) -> Trace:
    """Return the one trace of a folder, as the dashboard reads it."""
    traces = sorted(folder.glob("*.pt.trace.json"))
    if not traces:
        raise RuntimeError("the recording wrote no trace")
    sidecar = capture.sidecar_path(str(traces[0]))
    beside = read_sidecar(str(sidecar)) if sidecar.exists() else None
    return inference.build_trace(readers.read(str(traces[0])), beside)


def _period(times: Times) -> tuple[float, float]:
    """Return the time from one kernel to the next, and its bound, in ns.

    The bound is twice what the calmest rows differ by. Raises HostBusyError where that is too much.
    """
    if not is_calm(times, _VAGUE):
        raise HostBusyError("the host is too busy: rows of the same operators took different times")
    period, bound = limits(times)
    return period, _BELOW * bound + _ROOM_NS


def _judge(
    trace: Trace, operator: tuple[float, float], between: tuple[float, float], recorded: Times
) -> Truth:
    """Return the errors of the trace's kernels against their known lengths and distances."""
    period, period_bound = between
    op, place, head, is_calm = _planted(trace, recorded)
    at = _kernel_of(trace.kernels, op)
    first = at[head]
    kernels = trace.kernels
    lengths, starts = kernels.end_ns - kernels.start_ns, kernels.start_ns
    here = at[at >= 0]
    follows = (place > 0) & (at >= 0) & (first >= 0) & is_calm
    if not len(here) or not follows.any():
        raise RuntimeError(f"the recording has {len(here)} of {len(op)} kernels")
    behind, ahead = at[follows], first[follows]
    own = uncertainty.own_start_bound(kernels)
    room = period_bound * place[follows]
    length_error = lengths[here] - operator[0]
    start_error = starts[behind] - starts[ahead] - place[follows] * period
    length_held = _held(length_error, kernels.duration_bound_ns[here], operator[1])
    start_held = _held(start_error, own[behind] + own[ahead], room)
    bound = kernels.start_bound_ns[here]
    return Truth(
        kernels=len(op),
        missing=len(op) - len(here),
        operator_ns=round(operator[0]),
        operator_bound_ns=round(operator[1]),
        period_ns=round(period),
        duration_error_ns=_quantile(np.abs(length_error), 0.5),
        duration_error_p95_ns=_quantile(np.abs(length_error), 0.95),
        duration_bound_ns=_quantile(kernels.duration_bound_ns[here], 0.5),
        start_error_ns=_quantile(np.abs(start_error), 0.5),
        start_error_p95_ns=_quantile(np.abs(start_error), 0.95),
        start_bound_ns=_quantile(bound, 0.5),
        start_room_ns=_quantile(room, 0.5),
        durations_held=int(length_held.sum()),
        starts_held=int(start_held.sum()),
        judged=len(op) + int(follows.sum()),
    )


def _planted(trace: Trace, recorded: Times) -> tuple[I64, I64, I64, NDArray[np.bool_]]:
    """Return the planted operators: row in ``ops``, place in its row, place of the row's first.

    The last column says whether the host was not held up in the row.
    """
    ops = trace.ops
    of_operator = rows_named(trace, OPERATOR)
    turns = [(count, n) for n in range(len(recorded[SHORT])) for count in (SHORT, LONG)]
    ranges = np.sort(np.concatenate([rows_named(trace, f"{ROW}_{c}") for c in (SHORT, LONG)]))
    if len(ranges) != len(turns):
        raise RuntimeError(f"the recording has {len(ranges)} of {len(turns)} rows")
    op: list[int] = []
    place: list[int] = []
    head: list[int] = []
    calm: list[bool] = []
    for (count, turn), row in zip(turns, ranges, strict=True):
        inside = of_operator[
            (ops.start_ns[of_operator] >= ops.start_ns[row])
            & (ops.end_ns[of_operator] <= ops.end_ns[row])
        ]
        head += [len(op)] * len(inside)
        op += inside.tolist()
        place += range(len(inside))
        calm += [recorded[count][turn] < _HELD_UP * min(recorded[count])] * len(inside)
    return (
        np.array(op, np.int64), np.array(place, np.int64), np.array(head, np.int64),
        np.array(calm, np.bool_),
    )  # fmt: skip


def rows_named(trace: Trace, name: str) -> I64:
    """Return the rows of ``ops`` with this name, by start."""
    numbers = [n for n in np.unique(trace.ops.name).tolist() if trace.text(n) == name]
    return np.flatnonzero(np.isin(trace.ops.name, numbers)).astype(np.int64)


def _kernel_of(kernels: Kernels, op: I64) -> I64:
    """Return the longest kernel of each operator, or -1: there may be small ones beside it."""
    order = np.argsort(kernels.end_ns - kernels.start_ns, kind="stable")
    longest = dict(zip(kernels.op[order].tolist(), order.tolist(), strict=True))
    return np.array([longest.get(one, -1) for one in op.tolist()], np.int64)


def _held(error: Floats, bound: I64, room: Floats | float) -> NDArray[np.bool_]:
    """Return which errors are within their bounds; a value without a bound claims nothing."""
    return np.asarray((bound == MISSING) | (np.abs(error) <= bound + room))


def _quantile(values: NDArray[Any], share: float) -> int:
    return round(float(np.quantile(values, share)))
