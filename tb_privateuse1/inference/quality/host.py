"""Check the host's ranges: crossing, duplicate, or with a missing parent frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.inference.quality.check_subject import LITTLE, Subject, examples
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.columns import ends_run, previous, starts_run
from tb_privateuse1.trace.findings import ALL, Figures, Finding, TableName
from tb_privateuse1.trace.model import NONE, Frames, Ops, Trace
from tb_privateuse1.trace.processes import is_joined, operator_processes
from tb_privateuse1.trace.table import I32, I64, Bools

_MOST_PROCESSES = 3  # a finding is one sentence


def check(subject: Subject) -> Iterator[Finding]:
    """Yield findings about crossings, duplicates and missing parents."""
    trace, slack = subject.trace, subject.tolerance_ns
    yield from _crossing(
        trace, "ops", slack, say("operators and annotations"), ("operators", "steps")
    )
    yield from _crossing(trace, "frames", slack, say("Python frames"), ("stacks",))
    twice = list(_duplicates(trace))
    yield from twice
    if not twice:
        yield from _same_ids(trace)
    yield from _orphans(subject)
    yield from _joined(trace)


def _joined(trace: Trace) -> Iterator[Finding]:
    """Yield a finding about a file with the recordings of several processes."""
    if not is_joined(trace):
        return
    found = operator_processes(trace)
    message = say(
        "Most External ids or correlations occur twice: several recordings were joined in one file."
    )
    if len(found) > 1:
        message = say(
            "Operators of {count:,} processes are in this recording ({processes}): several "
            "recordings were joined in one file.",
            count=len(found),
            processes=join_list(found[:_MOST_PROCESSES]),
        )
    hint = say(
        "Whose activities are on a stream is not known, so nothing is analyzed. Open the "
        'recordings apart, or join them with the rank in each "pid", as "[rank 0] 1234": they '
        "open as ranks."
    )
    yield Finding("joined_recordings", message, hint, len(found), "warning", ALL)


def _crossing(
    trace: Trace, table: TableName, slack: int, what: str, affects: tuple[Figures, ...]
) -> Iterator[Finding]:
    """Yield a finding about ranges that start inside another one of their thread and end after.

    A Python frame and an annotation may cross. ``record_function`` begins and ends its range
    inside the frames of ``__enter__`` and ``__exit__``, so in every trace with stacks they cross.
    """
    ranges: Ops | Frames = getattr(trace, table)
    rows = np.flatnonzero(_crossed(ranges, slack))
    if not len(rows):
        return
    message = say(
        "{count:,} of {total:,} {what} start inside another one of their thread and end after it.",
        count=len(rows),
        total=len(ranges),
        what=what,
    )
    hint = say(
        "They are no parent and child of each other, so that their common time counts in "
        "the self time of both. Threads that share an id, and events that were joined from "
        "several recordings, look like this."
    )
    yield Finding(
        f"crossing_{table}", message, hint, len(rows), "warning", affects,
        examples(trace, table, rows),
    )  # fmt: skip


def _crossed(ranges: Ops | Frames, slack: int) -> Bools:
    """Return which rows end later than an earlier sibling that they start inside of."""
    n = len(ranges)
    crossed = np.zeros(n, np.bool_)
    if n < 2:
        return crossed
    family = np.where(ranges.parent >= 0, ranges.parent, n + ranges.thread).astype(np.int32)
    order = np.argsort(family, kind="stable")
    family, start, end = family[order], ranges.start_ns[order], ranges.end_ns[order]
    first = starts_run(family)
    # The latest end among the earlier ones of each family: every family lies above the one before.
    lift = np.cumsum(first) * (int(end.max()) - int(start.min()) + 1)
    if int(lift[-1]) < 0 or lift[-1] > np.iinfo(np.int64).max // 2:
        return crossed  # times of centuries: ``far_events`` says so
    reach = np.maximum.accumulate(end + lift)
    before = previous(reach, 0) - lift
    crossed[order] = ~first & (start < before - slack) & (end > before + slack)
    return crossed


def _duplicates(trace: Trace) -> Iterator[Finding]:
    """Equal name, thread, start, end and id. Without an id nothing tells two short ones apart."""
    ops, frames, launches, kernels = trace.ops, trace.frames, trace.launches, trace.kernels
    checks: list[tuple[TableName, str, I64, Sequence[I32 | I64], tuple[Figures, ...]]] = [
        ("ops", say("operators and annotations"), ops.external_id, (ops.thread,),
         ("steps", "operators", "memory")),
        ("frames", say("Python frames"), frames.python_id, (frames.thread,), ("stacks",)),
        ("launches", say("calls of the runtime"), launches.correlation, (launches.thread,),
         ("steps",)),
        ("kernels", say("device activities"), np.where(kernels.end_ns > kernels.start_ns,
         kernels.correlation, NONE), (kernels.lane,), ("operators", "kernels")),
    ]  # fmt: skip
    for table, what, number, place, affects in checks:
        columns = getattr(trace, table)
        rows = _repeated(columns.start_ns, [columns.end_ns, columns.name, number, *place], number)
        if len(rows):
            message = say(
                "{count:,} of {total:,} {what} are in the file twice.",
                count=len(rows),
                total=len(columns),
                what=what,
            )
            hint = say(
                "Each counts as often as it is recorded. Was the same recording exported twice?"
            )
            yield Finding(
                f"duplicated_{table}", message, hint, len(rows), "error", affects,
                examples(trace, table, rows),
            )  # fmt: skip


def _repeated(start: I64, keys: list[NDArray[np.integer]], number: I64) -> I64:
    """Rows that equal an earlier one in all columns; only those with a number count."""
    # Every table's equal starts on a thread lie together.
    rows = np.flatnonzero(~(starts_run(start) & ends_run(start)) & (number > 0))
    if len(rows) < 2:
        return np.empty(0, np.int64)
    columns = [start[rows], *(key[rows] for key in keys)]
    order = np.lexsort((rows, *columns))
    same = np.ones(len(rows) - 1, np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    return np.sort(rows[order[1:][same]])


def _same_ids(trace: Trace) -> Iterator[Finding]:
    ops = trace.ops
    rows = np.flatnonzero(ops.external_id > 0)
    order = rows[np.argsort(ops.external_id[rows], kind="stable")]
    number = ops.external_id[order]
    again = np.sort(order[1:][number[1:] == number[:-1]])
    if len(again):
        message = say(
            "{count:,} operators have an External id that another one has, too.", count=len(again)
        )
        hint = say("What is linked by it belongs to the first. Were recordings joined in one file?")
        yield Finding(
            "repeated_external_ids", message, hint, len(again), "warning",
            ("operators", "kernels"), examples(trace, "ops", again),
        )  # fmt: skip


def orphans(raw: Raw) -> I32:
    """Return the event numbers of frames whose ``Python parent id`` no frame of the file has."""
    frames = [g for c, g in raw.groups.items() if c.lower() == "python_function"]
    if not any("python_parent" in g.ids for g in frames):
        return np.empty(0, np.int32)
    own = np.concatenate([g.id("python_id") for g in frames])
    around = np.concatenate([g.id("python_parent") for g in frames])
    event = np.concatenate([g.event for g in frames])
    return event[(around >= 0) & ~np.isin(around, own)]


def _orphans(subject: Subject) -> Iterator[Finding]:
    trace, lost = subject.trace, subject.clues.orphans
    count, frames = len(lost), len(trace.frames)
    if not count:
        return
    rows = np.flatnonzero(np.isin(trace.frames.event, lost))
    message = say(
        "{count:,} of {frames:,} Python frames were called by frames that are not there.",
        count=count,
        frames=frames,
    )
    hint = say("They are shown as the outermost ones. Recordings that were cut look like this.")
    yield Finding(
        "frames_without_parent", message, hint, count,
        "info" if count < LITTLE * frames else "warning", ("stacks",),
        examples(trace, "frames", rows),
    )  # fmt: skip
