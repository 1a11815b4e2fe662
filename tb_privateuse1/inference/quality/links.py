"""Check for missing links of activities, launches, elapsed times and allocations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference import graph_captures
from tb_privateuse1.inference.kernel_launches import launches_kernels
from tb_privateuse1.inference.launch_links import starts_work
from tb_privateuse1.inference.quality.check_subject import (
    LITTLE,
    MOST_EXAMPLES,
    Subject,
    examples,
    share,
)
from tb_privateuse1.readers.raw import Raw, Sidecar
from tb_privateuse1.trace.findings import LONGEST_INLINE, Figures, Finding
from tb_privateuse1.trace.groupby import LAST, distinct_values, minima, named_rows
from tb_privateuse1.trace.model import MEASURED, MISSING, OPERATOR, Kernels, Trace
from tb_privateuse1.trace.table import I64, Bools

_GRAPH = re.compile("graph", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield findings about links that are missing or ambiguous."""
    trace = subject.trace
    yield from _unlinked(trace)
    yield from _without_operator(trace)
    yield from _without_activity(trace)
    yield from _ambiguous(trace)
    yield from _elapsed(subject)
    yield from _allocations(trace)


def _unlinked(trace: Trace) -> Iterator[Finding]:
    kernels = trace.kernels
    lost = (kernels.launch < 0) & (kernels.evidence == MEASURED)
    if not lost.any():
        return
    rows = np.flatnonzero(lost)
    early = ""
    if first := int(_before_the_first(kernels, lost).sum()):
        early = say(
            " {count:,} of them run on their stream before anything that was launched here.",
            count=first,
        )
        if first == len(rows):
            early = say(" All of them run on their stream before anything that was launched here.")
    message = say(
        "{activities} have no launch on the host.{early}",
        activities=_of_all(kernels, lost),
        early=early,
    )
    hint = say(
        "They count in all totals. Graph replays and calls before the recording look like this."
    )
    little = _time(kernels, lost) < LITTLE * _time(kernels)
    yield Finding(
        "unlinked_activities", message, hint, len(rows), "info" if little else "warning",
        ("operators", "kernels", "steps"), examples(trace, "kernels", rows),
    )  # fmt: skip


def _before_the_first(kernels: Kernels, lost: Bools) -> Bools:
    """Return what a stream (first in, first out) ran before its first linked activity."""
    first = minima(kernels.lane[~lost], kernels.start_ns[~lost], int(kernels.lane.max()) + 1)
    linked = first < LAST
    early: Bools = lost & linked[kernels.lane] & (kernels.start_ns < first[kernels.lane])
    return early


def _without_operator(trace: Trace) -> Iterator[Finding]:
    kernels = trace.kernels
    lost = (kernels.op < 0) & ((kernels.launch >= 0) | (kernels.evidence != MEASURED))
    if not lost.any():
        return
    rows = np.flatnonzero(lost)
    message = say(
        "{activities} were launched outside of all operators.", activities=_of_all(kernels, lost)
    )
    hint = say(
        "They are in no row of the operators; kernels that a script launches itself are such."
    )
    if _of_graphs(trace, rows):
        hint = say(
            "They are in no row of the operators: a graph's replay launches its kernels with one "
            "call. A recording of the graph's capture beside this one names their operators."
        )
    affects: tuple[Figures, ...] = ("operators", "kernels")
    if not (trace.ops.kind == OPERATOR).any():
        hint = say("The trace has no operators. Was it recorded without ProfilerActivity.CPU?")
        affects += ("steps",)
    little = _time(kernels, lost) < LITTLE * _time(kernels)
    yield Finding(
        "activities_without_operator", message, hint, len(rows), "info" if little else "warning",
        affects, examples(trace, "kernels", rows),
    )  # fmt: skip


def _of_graphs(trace: Trace, rows: I64) -> bool:
    """Return whether replays of graphs launched most of these activities."""
    launch = trace.kernels.launch[rows]
    graph = named_rows(trace.strings, trace.launches.name, _GRAPH.search)
    return 2 * int(graph[launch[launch >= 0]].sum()) > len(rows)


def _without_activity(trace: Trace) -> Iterator[Finding]:
    """Yield a finding about calls that start work without a recorded activity."""
    launches, kernels = trace.launches, trace.kernels
    if not len(launches) or (kernels.evidence != MEASURED).any():
        return
    starting = starts_work(launches, trace.vendor, trace.strings)
    lost = starting.copy()
    lost[kernels.launch[kernels.launch >= 0]] = False
    # Those that launch kernels are missing_activities.
    lost &= ~(launches_kernels(trace) & (launches.correlation > 0))
    # Several calls of one correlation are one: a driver's call inside the runtime's.
    done = distinct_values(launches.correlation[kernels.launch[kernels.launch >= 0]])
    lost &= ~np.isin(launches.correlation, done[done >= 0])
    lost &= ~graph_captures.while_capturing(trace, launches.start_ns)
    if not lost.any():
        return
    rows = np.flatnonzero(lost)
    names = Counter(launches.name[rows].tolist()).most_common(MOST_EXAMPLES)
    listed = ", ".join(f"{shorten(trace.text(name), LONGEST_INLINE)} ({n:,})" for name, n in names)
    all_calls = int(starting.sum())
    message = say(
        "{count:,} of {total:,} calls left no activity on the device: {names}.",
        count=len(rows),
        total=all_calls,
        names=listed,
    )
    hint = say(
        "The recording ended before the work did, the profiler's buffers overflowed, or "
        "the device's profiler does not report this kind of work."
    )
    kernel = any("launch" in trace.text(name).lower() for name, _ in names)
    affects: tuple[Figures, ...] = ("totals", "steps", "kernels")
    if (launches.op[rows] >= 0).any():
        affects += ("operators",)
    yield Finding(
        "launches_without_activity", message, hint, len(rows), "warning" if kernel else "info",
        affects, examples(trace, "launches", rows),
    )  # fmt: skip


def _ambiguous(trace: Trace) -> Iterator[Finding]:
    """Yield a finding about correlations that identify no launch: 0, and those of several."""
    launches, kernels = trace.launches, trace.kernels
    if not len(launches) or not len(kernels):
        return
    order = np.argsort(launches.correlation, kind="stable")
    number, op = launches.correlation[order], launches.op[order]
    several = (number[1:] == number[:-1]) & (number[1:] >= 0) & (op[1:] != op[:-1])
    linked = np.isin(kernels.correlation, number[1:][several])
    if not linked.any():
        return
    rows = np.flatnonzero(linked)
    unknown = int((kernels.launch[rows] < 0).sum())
    message = say(
        "{count:,} device activities have a correlation that calls of several operators have: "
        "they are linked in the order of these on their stream, {unknown:,} to none.",
        count=len(rows),
        unknown=unknown,
    )
    hint = say("Were recordings joined in one file? Some profilers write 0 for all.")
    yield Finding(
        "ambiguous_correlations", message, hint, len(rows), "warning",
        ("operators", "kernels", "steps"), examples(trace, "kernels", rows),
    )  # fmt: skip


def unmatched(raw: Raw, sidecar: Sidecar | None) -> int:
    """Return the number of sidecar rows whose id no event has, even one outside torch's tables."""
    if sidecar is None:
        return 0
    known = np.zeros(len(sidecar.external_id), np.bool_)
    for group in raw.groups.values():
        if (ids := group.ids.get("external_id")) is not None:
            known |= np.isin(sidecar.external_id, ids)
    return int((~known).sum())


def _elapsed(subject: Subject) -> Iterator[Finding]:
    trace, sidecar = subject.trace, subject.sidecar
    if sidecar is None or not len(sidecar.external_id):
        return
    if unmatched := subject.clues.unmatched:
        rows = len(sidecar.external_id)
        most = 2 * unmatched > rows
        message = say(
            "{count:,} of {total:,} sidecar rows belong to no operator of the trace.",
            count=unmatched,
            total=rows,
        )
        hint = say("Is this sidecar from another recording?")
        yield Finding(
            "sidecar_mismatch", message, hint, unmatched, "error" if most else "warning",
            ("totals", "steps", "operators", "kernels"),
        )  # fmt: skip
        if most:
            return
    operator = trace.ops.kind == OPERATOR
    # ``elapsed_missing`` reports the rows that could not be read.
    unlisted = operator & ~np.isin(trace.ops.external_id, sidecar.external_id)
    if unlisted.any():
        rows_of = np.flatnonzero(unlisted)
        message = say(
            "{count:,} of {total:,} operators have no device time in the sidecar: what they ran "
            "on the device is not shown.",
            count=len(rows_of),
            total=int(operator.sum()),
        )
        hint = say("Operators of threads that the profiler does not watch are such.")
        little = len(rows_of) < LITTLE * int(operator.sum())
        yield Finding(
            "operators_without_elapsed", message, hint, len(rows_of), "info" if little
            else "warning", ("totals", "steps", "operators", "kernels"),
            examples(trace, "ops", rows_of),
        )  # fmt: skip


def _allocations(trace: Trace) -> Iterator[Finding]:
    """Yield a finding about allocations outside of operators. Releases are anywhere, as a rule."""
    memory = trace.memory
    made = (memory.bytes > 0) & (memory.bytes != MISSING)
    lost = made & (memory.op < 0)
    part, whole = int(memory.bytes[lost].sum()), int(memory.bytes[made].sum())
    if part < LITTLE * whole or not lost.any() or not len(trace.ops):
        return
    rows = np.flatnonzero(lost)
    rows = rows[np.argsort(-memory.bytes[rows], kind="stable")]
    message = say(
        "{count:,} of {total:,} allocations ({share} of the bytes) were made outside of all "
        "operators.",
        count=len(rows),
        total=int(made.sum()),
        share=share(part, whole),
    )
    hint = say("They are in the row without a name. Libraries that allocate by themselves do this.")
    notes = [
        say("{bytes:,} bytes", bytes=int(memory.bytes[row]))
        for row in rows[:MOST_EXAMPLES].tolist()
    ]
    yield Finding(
        "allocations_without_operator", message, hint, len(rows), "info",
        ("memory",), examples(trace, "memory", rows, notes),
    )  # fmt: skip


def _time(kernels: Kernels, which: Bools | slice = slice(None)) -> int:
    return int((kernels.end_ns - kernels.start_ns)[which].sum())


def _of_all(kernels: Kernels, which: Bools) -> str:
    part = share(_time(kernels, which), _time(kernels))
    return say(
        "{count:,} of {total:,} device activities ({share} of device time)",
        count=int(which.sum()),
        total=len(kernels),
        share=part,
    )
