"""Divide a recording into phases that tile it: start-up, compilation, capture, drain, steady, stop.

The default is steady: any other phase needs events that prove it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording import capture_and_compilation, edges, first_calls
from tb_privateuse1.analysis.recording.durations import write_duration
from tb_privateuse1.analysis.recording.iterations import iterations
from tb_privateuse1.i18n import join_list, join_sentences, plural, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import LONGEST_INLINE, TableName
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Launches, Ops, Trace
from tb_privateuse1.trace.table import I64, Bools

PhaseKind = Literal["capture", "compilation", "startup", "drain", "profiler_stop", "steady"]
"""``startup``: first calls that load and initialize; ``drain``: the device finishes work from
before the recording; ``profiler_stop``: behind the last work, or a last step that is cut off."""

KINDS: tuple[PhaseKind, ...] = get_args(PhaseKind)
"""In order of precedence: an instant belongs to the first kind that covers it."""

FIRST_TIME: frozenset[PhaseKind] = frozenset({"capture", "compilation", "startup"})
"""Work of the first steps only; the other phases are at the edges of any recording."""

_LEAST = 0.005
"""Share of the recording. A shorter phase is left out, unless it is a tenth of a step."""

_OF_STEP = 0.1
"""A tenth of a step is seen on the timeline. Half of it adds a phase to 1 of 117 recordings; twice
changes none."""
_MOST_ROWS = 5
"""Examples of a phase: no time depends on their number."""
_FEW_STEPS = 3
"""Of three one is the middle: with fewer, none can be called usual. Two or six change no phase of
117 recordings, one changes 2."""
_LITTLE = 0.01
"""The share of a step that recompiles a part, or looks one up, in a loop that is compiled. A limit
of 0 changes no phase of 117 recordings, twice changes 1."""
_TIMES_ITERATION = 10
"""Iterations do the same work: an order of magnitude is no variation of it."""


class Phase(Struct, frozen=True):
    """A phase of the recording, with the events that prove it."""

    kind: PhaseKind
    start_ns: int
    end_ns: int
    sentence: str
    """What the events show; empty if steady."""
    table: TableName | None
    rows: tuple[int, ...]
    """The longest events that prove it: rows of ``table``."""


class _Proof(Struct, frozen=True):
    """A span of a kind with its evidence."""

    kind: PhaseKind
    time: intervals.Set
    sentence: str
    table: TableName | None = None
    rows: tuple[int, ...] = ()


@memoize
def phases(trace: Trace) -> tuple[Phase, ...]:
    """Return the phases of the recording, in order of time; they tile [0, end)."""
    if trace.end_ns <= 0:
        return ()
    taken, found = intervals.EMPTY, []
    proofs = [proof for proof in _proofs(trace) if _is_material(trace, proof.time)]
    for proof in sorted(proofs, key=lambda proof: KINDS.index(proof.kind)):
        free = intervals.subtract(_clipped(trace, proof.time), taken)
        if not _is_material(trace, free):  # another proof already says so
            continue
        taken = intervals.merge(taken, free)
        found += [
            Phase(proof.kind, start, end, proof.sentence, proof.table, proof.rows)
            for start, end in _pairs(free)
        ]
    rest = intervals.complement(taken, 0, trace.end_ns)
    found += [Phase("steady", start, end, "", None, ()) for start, end in _pairs(rest)]
    return tuple(sorted(found, key=lambda phase: phase.start_ns))


def _pairs(time: intervals.Set) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each interval of a set."""
    return zip(time[0].tolist(), time[1].tolist(), strict=True)


def time_of(found: Iterable[Phase], kinds: Iterable[PhaseKind]) -> intervals.Set:
    """Return the time of the phases of some kinds."""
    wanted = set(kinds)
    chosen = [(phase.start_ns, phase.end_ns) for phase in found if phase.kind in wanted]
    starts, ends = np.array(chosen, np.int64).reshape(-1, 2).T
    return intervals.union(starts, ends)


def _clipped(trace: Trace, time: intervals.Set) -> intervals.Set:
    return intervals.intersect(time, (np.array([0]), np.array([trace.end_ns])))


def _is_material(trace: Trace, time: intervals.Set) -> bool:
    step = float(np.median(trace.steps.end_ns - trace.steps.start_ns)) if len(trace.steps) else 0.0
    least = min(_LEAST * trace.end_ns, _OF_STEP * step) if step else _LEAST * trace.end_ns
    return intervals.length(time) >= max(least, 1)


def _proofs(trace: Trace) -> Iterator[_Proof]:
    """Yield all spans that are not steady; they may overlap."""
    yield from _captures(trace)
    yield from _compilations(trace)
    yield from _before_iterations(trace)
    yield from _startup(trace)
    drains = [_drain(trace, edge) for edge in edges.drains(trace)]
    yield from drains
    yield from _slow_start(trace, drains)
    stop = edges.profiler_stop(trace)
    yield _Proof(
        "profiler_stop",
        stop.time,
        say("No complete work is recorded behind this: the profiler stops."),
        "launches" if stop.launch >= 0 else None,
        (stop.launch,) if stop.launch >= 0 else (),
    )


def _captures(trace: Trace) -> Iterator[_Proof]:
    time, calls = capture_and_compilation.captures(trace)
    if len(calls):
        name = trace.text(trace.launches.name[calls[0]])
        sentence = say(
            "A graph is captured ({call}): its launches run nothing on the device.", call=name
        )
        yield _Proof("capture", time, sentence, "launches", tuple(calls[:_MOST_ROWS].tolist()))


def _compilations(trace: Trace) -> Iterator[_Proof]:
    """Yield the compilations of the first steps; those of later steps are part of the loop."""
    time, *tables = capture_and_compilation.compilations(trace)
    time = _before_the_loop(trace, time)
    if not len(time[0]):
        return
    names: tuple[TableName, ...] = "ops", "frames", "launches"
    for name, rows in zip(names, tables, strict=True):
        if len(rows):
            table = getattr(trace, name)
            longest = rows[np.argsort(table.start_ns[rows] - table.end_ns[rows], kind="stable")]
            sentence = say(
                "The compiler runs {times}, for {time} in all ({name}).",
                times=plural(len(time[0]), "time"),
                time=write_duration(intervals.length(time)),
                name=trace.text(table.name[longest[0]]),
            )
            yield _Proof("compilation", time, sentence, name, tuple(longest[:_MOST_ROWS].tolist()))
            return


def _before_the_loop(trace: Trace, time: intervals.Set) -> intervals.Set:
    """Return the part before the first step without compilation.

    If every one of several steps compiles, that is how the program runs: none of it.
    """
    steps = trace.steps
    start, end = steps.host_start_ns, steps.host_end_ns
    covered = intervals.covered_length(time, start, end)
    clean: Bools = covered <= _LITTLE * (end - start)
    if not clean.any():
        return intervals.EMPTY if len(steps) >= _FEW_STEPS else time
    first = int(start[clean].min())
    return (
        intervals.intersect(time, (np.array([0]), np.array([first]))) if first else intervals.EMPTY
    )


def _startup(trace: Trace) -> Iterator[_Proof]:
    calls = first_calls.first_calls(trace)
    launches, ops = trace.launches, trace.ops
    name: TableName
    for name, table, rows, usual in (
        ("launches", launches, calls.launches, calls.launches_usual_ns),
        ("ops", ops, calls.ops, calls.ops_usual_ns),
    ):
        if not len(rows):
            continue
        start, end = table.start_ns[rows], table.end_ns[rows]
        order = np.argsort(start - end, kind="stable")
        longest = order[0]
        first = say(
            "The first {name} took {longest}, a later one {usual}.",
            name=trace.text(table.name[rows[longest]])[:LONGEST_INLINE],
            longest=write_duration(int(end[longest] - start[longest])),
            usual=write_duration(int(usual[longest])),
        )
        others = plural(len(rows) - 1, "other first call")
        total = write_duration(intervals.length(intervals.union(start, end)))
        more = say("With {others}: {total}.", others=others, total=total)
        sentence = join_sentences((first, more if len(rows) > 1 else ""))
        shown = tuple(rows[order[:_MOST_ROWS]].tolist())
        yield _Proof("startup", _closed(start, end), sentence, name, shown)


def _before_iterations(trace: Trace) -> Iterator[_Proof]:
    """Yield what precedes iterations without steps, if it takes longer than each of them.

    A shorter part may be the rest of an iteration that began before the recording. Only behind an
    optimizer's loop is other work no loop of its own: elsewhere first calls must prove it.
    """
    found = iterations(trace)
    if found is None or found.source == "steps" or len(found.start_ns) <= _FEW_STEPS:
        return
    first = int(found.start_ns[0])
    if first <= int((found.end_ns - found.start_ns).max()):
        return
    launches = trace.launches
    calls_found = first_calls.first_calls(trace)
    begun = launches.start_ns[calls_found.launches], trace.ops.start_ns[calls_found.ops]
    if found.source != "optimizer" and not (np.concatenate(begun) < first).any():
        return
    name: TableName = "launches"
    rows, length = _longest(launches.start_ns, launches.end_ns - launches.start_ns, first)
    table: Launches | Ops = launches
    if not len(rows) or length[0] < _OF_STEP * first:  # the time is not the calls'
        name, table = "ops", trace.ops
        rows, length = _longest(trace.ops.start_ns, trace.ops.self_ns, first)
    calls = [
        say("{name} takes {time}", name=trace.text(table.name[row])[:LONGEST_INLINE],
            time=write_duration(int(ns)))
        for row, ns in zip(rows.tolist(), length.tolist(), strict=True)
        if ns >= _OF_STEP * first
    ]  # fmt: skip
    sentence = say(
        "{time} precede the first of {count}.",
        time=write_duration(first),
        count=plural(len(found.start_ns), "iteration"),
    )
    most = say("{calls}.", calls=join_list(calls)) if calls else ""
    time = np.array([0]), np.array([first])
    yield _Proof("startup", time, join_sentences((sentence, most)), name, tuple(rows.tolist()))


def _longest(start_ns: I64, length_ns: I64, end_ns: int) -> tuple[I64, I64]:
    """Return the rows that take longest of those that begin before an instant, and how long."""
    rows = np.flatnonzero(start_ns < end_ns)
    rows = rows[np.argsort(-length_ns[rows], kind="stable")[:_MOST_ROWS]]
    return rows, length_ns[rows]


def _slow_start(trace: Trace, drains: Iterable[_Proof]) -> Iterator[_Proof]:
    """Yield a first iteration that takes ten times as long as each later one."""
    found = iterations(trace)
    if found is None or len(found.start_ns) <= _FEW_STEPS:
        return
    start, end = found.start_ns, found.end_ns
    if found.source == "steps":  # the device's end may be late: the host's range is its own
        start, end = trace.steps.host_start_ns, trace.steps.host_end_ns
    greatest = int((end - start)[1:].max())
    first = intervals.subtract((start[:1], end[:1]), _union(proof.time for proof in drains))
    if intervals.length(first) < _TIMES_ITERATION * max(greatest, 1):
        return
    inside = np.flatnonzero((trace.ops.start_ns >= start[0]) & (trace.ops.end_ns <= end[0]))
    longest = inside[np.argsort(-trace.ops.self_ns[inside], kind="stable")[:_MOST_ROWS]]
    sentence = say(
        "The first iteration took {first}, later ones {greatest} at most.",
        first=write_duration(intervals.length(first)),
        greatest=write_duration(greatest),
    )
    rows = tuple(longest.tolist())
    yield _Proof("startup", first, sentence, "ops" if rows else None, rows)


def _union(sets: Iterable[intervals.Set]) -> intervals.Set:
    return functools.reduce(intervals.merge, sets, intervals.EMPTY)


def _closed(start: I64, end: I64) -> intervals.Set:
    """Return the union of calls, with the gaps that are shorter than a call beside them."""
    starts, ends = intervals.union(start, end)
    length = ends - starts
    gap = starts[1:] - ends[:-1] <= np.maximum(length[1:], length[:-1])
    return intervals.union(
        np.concatenate((starts, ends[:-1][gap])), np.concatenate((ends, starts[1:][gap]))
    )


def _drain(trace: Trace, edge: edges.Edge) -> _Proof:
    time = write_duration(intervals.length(edge.time))
    if edge.launch >= 0:
        name = trace.text(trace.launches.name[edge.launch])
        sentence = say(
            "{name} waits for {time}, and no recorded activity runs: it waits for work from before "
            "the recording, or for the profiler to start.",
            name=name,
            time=time,
        )
        return _Proof("drain", edge.time, sentence, "launches", (edge.launch,))
    sentence = say("For {time} the device runs what was launched before the recording.", time=time)
    return _Proof("drain", edge.time, sentence, "kernels", edge.kernels)
