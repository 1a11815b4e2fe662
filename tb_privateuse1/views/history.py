"""All recordings of a logdir, one row each: what changed from run to run, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice import engine
from tb_privateuse1.analysis.account.bounds import utilization
from tb_privateuse1.analysis.comparison.trend import Trend, TrendLevel, find_trend
from tb_privateuse1.analysis.memory import allocations, devices
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.roofs.device_use import device_use
from tb_privateuse1.analysis.simulation.verdict import steady_verdict
from tb_privateuse1.analysis.steps.table import step_spread
from tb_privateuse1.trace import device_times, labels
from tb_privateuse1.trace.model import Timeline, Trace
from tb_privateuse1.trace.run_parameters import RunParameter, trace_parameters
from tb_privateuse1.views.reduced_traces import RunRecording
from tb_privateuse1.views.result import Provenance, Result
from tb_privateuse1.views.signature import reduces

HistoryFigure = Literal["step_ns", "utilization", "mfu", "memory_peak_bytes"]
Ranks = Literal["lowest", "all"]
RecordingState = Literal["read", "waiting", "failed"]


class HistoryRow(Struct, frozen=True):
    """One recording, a span of the lowest rank of a run. Null is not known."""

    run: str = ""
    rank: int = 0
    span: int = 0
    label: str = ""
    ranks: int = 0
    """How many the run has."""
    written_ns: int | None = None
    """Unix time of the file's last change; null if the filesystem does not have it."""
    bytes: int = 0
    state: RecordingState = "read"
    problem: str | None = None
    """Why there are no figures."""
    device: str | None = None
    timeline: Timeline | None = None
    missing_streams: tuple[str, ...] = ()
    """Streams without times: the utilization is a lower bound."""
    first_step: int | None = None
    """The number of the first complete step (the N of ``ProfilerStep#N``)."""
    steps: int | None = None
    """Complete ones, which the step time is of."""
    step_ns: int | None = None
    """Mean duration of the complete steps."""
    step_bound_ns: int | None = None
    """How far off the step time may be; 0 if measured."""
    deviation_ns: int | None = None
    """The standard deviation between the steps."""
    utilization: float | None = None
    utilization_low: float | None = None
    utilization_high: float | None = None
    mfu: float | None = None
    mfu_low: float | None = None
    mfu_high: float | None = None
    memory_device: str | None = None
    memory_peak_bytes: int | None = None
    verdict: str | None = None
    """What limits the judged part, in one sentence."""
    rule: str | None = None
    """Of the finding with the greatest saving, by the built-in rules."""
    finding: str | None = None
    saving_share: float | None = None
    """Of the judged steps, 0 to 1."""
    parameters: tuple[RunParameter, ...] = ()
    """TensorBoard's hyperparameters of the run, the program's metadata, and where it ran; of one
    name, the first of these."""


class HistoryLevel(Struct, frozen=True):
    """Recordings in a row whose figure agrees within the noise."""

    first: int
    last: int
    """Rows, both included; those without the figure are skipped."""
    median: float
    low: float
    """The noise band: about 95 % of recordings without a change are inside."""
    high: float
    change: float | None
    """By how much the median is greater than that of the level before, as a share of that."""


class History(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[HistoryRow, ...]
    """The oldest first; those of unknown age before."""
    matching: str | None
    """What the names of these runs contain; null for all runs."""
    ranks: Ranks
    """Which of each run have rows."""
    figure: HistoryFigure
    noise: float | None
    """Standard deviation between recordings as a share; null with fewer than three."""
    levels: tuple[HistoryLevel, ...]
    outside: tuple[int, ...]
    """Rows whose figure is outside of the band of its level."""
    waiting: int
    """Recordings that are still to be read."""
    parameters: tuple[str, ...]
    """Names of the parameters that differ between recordings: those with numbers first, and of
    these the ones that most recordings have."""


def figures(trace: Trace) -> HistoryRow:
    """Return the figures of one trace."""
    # A trace without steps has one of its whole length, which is no step's time.
    window = Window(trace, "steady")
    names = trace.steps.name[window.complete_steps]
    marked = np.array(["#" in trace.text(name) for name in names.tolist()], np.bool_)
    complete = window.complete_steps[marked]
    spread = step_spread(trace, complete, window.time if window.is_cut else None)
    number = trace.text(names[marked][0]).rpartition("#")[2] if len(complete) else ""
    used, use = (
        utilization(window),
        device_use(trace, window.complete_steps, window.time, window.kernels),
    )
    limit = steady_verdict(trace)
    found = engine.built_in_advice(trace).rows
    top = next((row for row in found if row.saving_share is not None), None)
    chosen = devices.choose_device(trace, allocations.memory_devices(trace.memory), None)
    if chosen is not None and chosen[0] == allocations.CPU and len(trace.kernels):
        chosen = (
            None  # the backend reports no memory of its device, and the host's is another figure
        )
    memory = None if chosen is None else devices.device_facts(trace, chosen)
    return HistoryRow(
        device=labels.device_name(trace),
        timeline=trace.meta.timeline,
        missing_streams=device_times.missing_streams(trace),
        first_step=int(number) if number.isascii() and number.isdigit() else None,
        steps=len(complete),
        step_ns=spread.mean_ns if spread else None,
        step_bound_ns=spread.bound_ns if spread else None,
        deviation_ns=spread.deviation_ns if spread else None,
        utilization=used.share,
        utilization_low=used.low,
        utilization_high=used.high,
        mfu=use.mfu,
        mfu_low=use.mfu_low,
        mfu_high=use.mfu_high,
        memory_device=memory.label if memory else None,
        memory_peak_bytes=memory.peak_bytes if memory else None,
        verdict=limit.sentence if limit else None,
        rule=top.rule if top else None,
        finding=top.title if top else None,
        saving_share=top.saving_share if top else None,
        parameters=trace_parameters(trace),
    )


@reduces(figures)
def history(
    recordings: Sequence[RunRecording],
    *,
    figure: Annotated[HistoryFigure, "the figure whose trend is shown"] = "step_ns",
    matching: Annotated[str | None, "only runs whose name contains this, in any case"] = None,
    ranks: Annotated[Ranks, "of each run; the trend is that of the lowest ones"] = "lowest",
) -> History:
    """All recordings of a logdir, with the trend of one figure; the lowest rank of each run."""
    rows = tuple(_row(recording) for recording in recordings)
    at, trend = _trend(rows, figure)
    return History(
        provenance=Provenance(_timeline(rows), _missing(rows), (), ()),
        rows=rows,
        matching=matching,
        ranks=ranks,
        figure=figure,
        noise=trend.noise,
        levels=_levels(trend.levels, at),
        outside=tuple(at[i] for i in trend.outside),
        waiting=sum(row.state == "waiting" for row in rows),
        parameters=_differing(rows),
    )


def _timeline(rows: Sequence[HistoryRow]) -> Timeline:
    """Return ``inferred`` if any of the rows is, so that no figure looks better than it is."""
    found = {row.timeline for row in rows}
    return "inferred" if "inferred" in found else "measured" if "measured" in found else "none"


def _missing(rows: Sequence[HistoryRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row.missing_streams))


def _row(recording: RunRecording) -> HistoryRow:
    problem, span = recording.problem, recording.span
    known = HistoryRow() if recording.part is None else recording.part
    return replace(
        known,
        run=recording.run,
        rank=recording.rank,
        span=span.span,
        label=span.label,
        ranks=recording.ranks,
        written_ns=span.modified_ns,
        bytes=span.bytes,
        state="failed" if problem else "waiting" if recording.part is None else "read",
        problem=problem.message if problem else None,
        parameters=_named_once(recording.hparams + known.parameters),
    )


def _named_once(found: Iterable[RunParameter]) -> tuple[RunParameter, ...]:
    """Return the first parameter of each name."""
    names: dict[str, RunParameter] = {}
    for one in found:
        names.setdefault(one.name, one)
    return tuple(names.values())


def _differing(rows: Sequence[HistoryRow]) -> tuple[str, ...]:
    """Return the parameters whose value is not the same in all rows that are read."""
    read = [{one.name: one for one in row.parameters} for row in rows if row.state == "read"]
    names = dict.fromkeys(name for row in read for name in row)
    differing = [
        name
        for name in names
        if len({row[name].value if name in row else None for row in read}) > 1
    ]
    numbers = {
        name
        for name in differing
        if all(row[name].number is not None for row in read if name in row)
    }
    given = Counter(name for row in read for name in row)
    return tuple(sorted(differing, key=lambda name: (name not in numbers, -given[name])))


def _trend(rows: Sequence[HistoryRow], figure: HistoryFigure) -> tuple[list[int], Trend]:
    """Return the rows that have the figure, and the trend over them."""
    at, values, errors = [], [], []
    lowest: dict[str, int] = {}
    for row in rows:
        lowest[row.run] = min(row.rank, lowest.get(row.run, row.rank))
    for i, row in enumerate(rows):
        value = getattr(row, figure)
        # A device that did nothing has no part in a trend, and other ranks are the same run.
        if not value or row.rank != lowest[row.run]:
            continue
        at.append(i)
        values.append(float(value))
        between = (row.deviation_ns or 0) if figure == "step_ns" else 0
        errors.append(between / max((row.steps or 0) - 1, 1) ** 0.5)
    return at, find_trend(np.array(values), np.array(errors))


def _levels(levels: Sequence[TrendLevel], at: Sequence[int]) -> tuple[HistoryLevel, ...]:
    found: list[HistoryLevel] = []
    for level in levels:
        before = found[-1].median if found else 0.0
        change = (level.median - before) / before if before else None
        place = at[level.first], at[level.last]
        found.append(HistoryLevel(*place, level.median, level.low, level.high, change))
    return tuple(found)
