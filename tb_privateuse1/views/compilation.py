"""Compilation: what torch.compile compiled, why again, and what compiled code takes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.compiled_regions import (
    RegionCalls,
    backward_calls,
    compiling,
    region_calls,
)
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.recorded_metadata import (
    CACHE_BYPASS,
    CACHE_HIT,
    CACHE_MISS,
    GRAPH_BREAK,
    GRAPH_SKIP,
    RECOMPILATION,
)
from tb_privateuse1.trace.table import Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, chosen_window

_MOST_ROWS = 5000
"""torch gives up a function after 8 compilations: a program has some hundred."""

Phase = Literal["dynamo", "aot", "inductor", "codegen"]
"""``dynamo`` traces Python and makes guards, ``aot`` (AOTAutograd) the graphs of both passes,
``inductor`` lowers and schedules them, ``codegen`` writes and builds kernels."""
PHASES: tuple[Phase, ...] = get_args(Phase)
Cache = Literal["hit", "miss", "bypass"]
_CACHES: dict[int, Cache] = {CACHE_MISS: "miss", CACHE_BYPASS: "bypass", CACHE_HIT: "hit"}
"""The first one counts of a compilation's graphs: what one of them missed was compiled."""


class CompiledCode(Struct, frozen=True):
    """A compilation, and the calls of its code. Without a log only the calls are known."""

    compile_id: str
    """torch's: the number of the function's code, and of its compilation."""
    backward: bool
    function: str | None
    file: str | None
    line: int | None
    start_ns: int | None
    """Before the recording it is negative."""
    total_ns: int | None
    dynamo_ns: int | None
    aot_ns: int | None
    inductor_ns: int | None
    codegen_ns: int | None
    inside_ns: int | None
    """The part of ``total_ns`` in the window."""
    cache: Cache | None
    guards: int | None
    operators: int | None
    reason: str | None
    """The guard that failed, so that it was compiled again."""
    earlier: str | None
    """The guards of the function's other compilations, a line for each."""
    failure: str | None
    breaks: int
    """Graph breaks in its code."""
    calls: int
    call_ns: int
    """Without compiling."""
    outside_ns: int
    """The part outside its graphs and outside regions that it calls."""
    op: int | None
    """Its first call in the window: a row of the trace's operators."""
    call_start_ns: int | None


class GraphBreak(Struct, frozen=True):
    """A place where a graph ends, since the compiler cannot trace what follows."""

    compile_id: str
    function: str | None
    reason: str
    advice: str | None
    """torch's explanation and hints, a line for each."""
    file: str | None
    line: int | None
    calls: int
    """Calls of the code in the window that is broken there."""


class GraphSkip(Struct, frozen=True):
    """A graph of Inductor that runs without a CUDA graph."""

    compile_id: str
    reason: str


class CompilePhase(Struct, frozen=True):
    """The time of one phase, of all compilations."""

    phase: Phase
    time_ns: int
    compilations: int
    """Those in which it ran."""


class Compilation(Result, frozen=True):
    """The result of the view: nothing without compiled code."""

    provenance: Provenance
    logged: bool
    """torch's log of compilation is beside the recording."""
    phases: tuple[CompilePhase, ...]
    rows: tuple[CompiledCode, ...]
    """In the order of the log, at most 5,000; those that only the recording has are last."""
    total_rows: int
    graph_breaks: tuple[GraphBreak, ...]
    """At most 5,000, like ``skips``."""
    total_breaks: int
    skips: tuple[GraphSkip, ...]
    total_skips: int
    recompilations: int
    failures: int
    """Compilations that gave no code."""
    cache_hits: int
    """Of graphs; so are misses and bypasses."""
    cache_misses: int
    cache_bypasses: int
    time_ns: int | None
    """When a compiler ran, by the log; null without one, or if a start is not known."""
    inside_ns: int | None
    """The part of it in the window."""


class _Call(Struct):
    """The calls of one compile id in the window."""

    calls: int = 0
    time_ns: int = 0
    outside_ns: int = 0
    op: int | None = None
    start_ns: int | None = None


def compilation(trace: Trace, *, step: StepOption = None) -> Compilation:
    """Compilations of torch.compile: times by phase, graph breaks, recompilations, their guards.

    They come from torch's log (TORCH_TRACE) beside the recording; calls from the recording. Raises
    TraceError ``unknown_step``.
    """
    window = chosen_window(trace, step, "all")
    calls = _calls(trace, window, region_calls(trace))
    behind = _calls(trace, window, backward_calls(trace))
    time = _time(trace, window)
    rows = [*_logged(trace, (calls, behind), time), *_unlogged(trace, calls)]
    kinds = trace.compile_notes.kind
    of_graphs = kinds[_of_graphs(trace)]
    ran = compiling(trace)
    return Compilation(
        provenance=provenance(trace, window),
        logged=len(trace.compilations) > 0,
        phases=_phases(rows),
        rows=tuple(rows[:_MOST_ROWS]),
        total_rows=len(rows),
        graph_breaks=tuple(itertools.islice(_breaks(trace, calls), _MOST_ROWS)),
        total_breaks=int((kinds == GRAPH_BREAK).sum()),
        skips=tuple(itertools.islice(_skips(trace), _MOST_ROWS)),
        total_skips=int((kinds == GRAPH_SKIP).sum()),
        recompilations=int((kinds == RECOMPILATION).sum()),
        failures=sum(row.failure is not None for row in rows),
        cache_hits=int((of_graphs == CACHE_HIT).sum()),
        cache_misses=int((of_graphs == CACHE_MISS).sum()),
        cache_bypasses=int((of_graphs == CACHE_BYPASS).sum()),
        time_ns=None if ran is None else intervals.length(ran),
        inside_ns=None if ran is None else intervals.length(intervals.intersect(ran, time)),
    )


def _time(trace: Trace, window: Window) -> intervals.Set:
    """Return the window's time on the host."""
    if window.kind == "all":
        return intervals.union(np.array([0]), np.array([trace.end_ns]))
    return window.host_time


def _calls(trace: Trace, window: Window, regions: RegionCalls) -> dict[str, _Call]:
    """Return the calls in the window by compile id."""
    found: dict[str, _Call] = {}
    starts = trace.ops.start_ns[regions.rows]
    inside = window.starts(starts).tolist()
    for i, compile_id in enumerate(regions.compile_ids):
        if not inside[i]:
            continue
        one = found.setdefault(compile_id, _Call())
        one.calls += 1
        one.time_ns += int(regions.time_ns[i])
        one.outside_ns += int(regions.outside_ns[i])
        if one.op is None:
            one.op, one.start_ns = int(regions.rows[i]), int(starts[i])
    return found


def _logged(
    trace: Trace, calls: tuple[dict[str, _Call], dict[str, _Call]], time: intervals.Set
) -> Iterable[CompiledCode]:
    """Yield the compilations of the log; ``calls`` are those of regions and of backward passes."""
    found = trace.compilations
    start, total = found.start_ns, found.total_ns
    known = (start != MISSING) & (total != MISSING)
    begin = np.where(known, start, 0)
    inside = intervals.covered_length(time, begin, begin + np.where(known, total, 0)).tolist()
    noted = _noted(trace)
    for row in range(len(found)):
        compile_id = trace.text(found.compile_id[row])
        backward = bool(found.backward[row])
        notes = noted.get(compile_id, {}) if not backward else {}
        again = notes.get(RECOMPILATION)
        call = calls[backward].get(compile_id, _Call())
        dynamo, aot, inductor, codegen = _own_times(trace, row, backward=backward)
        yield CompiledCode(
            compile_id=compile_id,
            backward=backward,
            function=_text(trace, int(found.function[row])),
            file=_text(trace, int(found.file[row])),
            line=_number(int(found.line[row])),
            start_ns=_ns(int(start[row])),
            total_ns=_ns(int(total[row])),
            dynamo_ns=dynamo,
            aot_ns=aot,
            inductor_ns=inductor,
            codegen_ns=codegen,
            inside_ns=int(inside[row]) if known[row] else None,
            cache=next((name for kind, name in _CACHES.items() if kind in notes), None),
            guards=_number(int(found.guards[row])),
            operators=_number(int(found.operators[row])),
            reason=_text(trace, int(trace.compile_notes.reason[again[0]])) if again else None,
            earlier=_text(trace, int(trace.compile_notes.detail[again[0]])) if again else None,
            failure=_text(trace, int(found.failure[row])),
            breaks=len(notes.get(GRAPH_BREAK, ())),
            calls=call.calls,
            call_ns=call.time_ns,
            outside_ns=call.outside_ns,
            op=call.op,
            call_start_ns=call.start_ns,
        )


def _unlogged(trace: Trace, calls: dict[str, _Call]) -> Iterable[CompiledCode]:
    """Yield the regions that only the recording has."""
    logged = {trace.text(one) for one in trace.compilations.compile_id.tolist()}
    for compile_id, call in calls.items():
        if compile_id in logged:
            continue
        yield CompiledCode(
            compile_id=compile_id,
            backward=False,
            function=None, file=None, line=None, start_ns=None, total_ns=None, dynamo_ns=None,
            aot_ns=None, inductor_ns=None, codegen_ns=None, inside_ns=None, cache=None,
            guards=None, operators=None, reason=None, earlier=None, failure=None, breaks=0,
            calls=call.calls,
            call_ns=call.time_ns,
            outside_ns=call.outside_ns,
            op=call.op,
            call_start_ns=call.start_ns,
        )  # fmt: skip


def _noted(trace: Trace) -> dict[str, dict[int, list[int]]]:
    """Return the rows of the notes by compile id and kind; of caches those of graphs."""
    found: dict[str, dict[int, list[int]]] = {}
    notes = trace.compile_notes
    kept = np.flatnonzero(~np.isin(notes.kind, list(_CACHES)) | _of_graphs(trace)).tolist()
    for row in kept:
        name = trace.text(notes.compile_id[row])
        found.setdefault(name, {}).setdefault(int(notes.kind[row]), []).append(row)
    return found


def _of_graphs(trace: Trace) -> Bools:
    """Return which notes of a cache are of Inductor's graphs, not of AOTAutograd's."""
    notes = trace.compile_notes
    is_graph = [trace.text(one) == "graph" for one in notes.reason.tolist()]
    return np.array(is_graph, np.bool_) & np.isin(notes.kind, list(_CACHES))


def _own_times(trace: Trace, row: int, *, backward: bool) -> Sequence[int | None]:
    """Return what each phase took without the next one; None where it did not run."""
    found = trace.compilations
    columns = (found.total_ns, found.backend_ns, found.inductor_ns, found.codegen_ns)
    whole = [_ns(int(column[row])) for column in columns]
    if backward:
        whole[:2] = [None, whole[0]]  # TorchDynamo has no part in it
    own: list[int | None] = []
    for i, time in enumerate(whole):
        inner = next((one for one in whole[i + 1 :] if one is not None), 0)
        own.append(None if time is None else max(0, time - inner))
    return own


def _phases(rows: Sequence[CompiledCode]) -> tuple[CompilePhase, ...]:
    found = []
    for phase in PHASES:
        times = [time for row in rows if (time := getattr(row, f"{phase}_ns")) is not None]
        if times:
            found.append(CompilePhase(phase, sum(times), len(times)))
    return tuple(found)


def _breaks(trace: Trace, calls: dict[str, _Call]) -> Iterable[GraphBreak]:
    notes, compiled = trace.compile_notes, trace.compilations
    functions = dict(zip(compiled.compile_id.tolist(), compiled.function.tolist(), strict=True))
    for row in np.flatnonzero(notes.kind == GRAPH_BREAK).tolist():
        compile_id = trace.text(notes.compile_id[row])
        yield GraphBreak(
            compile_id=compile_id,
            function=_text(trace, functions.get(int(notes.compile_id[row]), -1)),
            reason=trace.text(notes.reason[row]),
            advice=_text(trace, int(notes.detail[row])),
            file=_text(trace, int(notes.file[row])),
            line=_number(int(notes.line[row])),
            calls=calls.get(compile_id, _Call()).calls,
        )


def _skips(trace: Trace) -> Iterable[GraphSkip]:
    notes = trace.compile_notes
    for row in np.flatnonzero(notes.kind == GRAPH_SKIP).tolist():
        yield GraphSkip(trace.text(notes.compile_id[row]), trace.text(notes.reason[row]))


def _text(trace: Trace, string: int) -> str | None:
    return trace.text(string) or None


def _ns(time: int) -> int | None:
    return None if time == MISSING else time


def _number(value: int) -> int | None:
    return value if value >= 0 else None
