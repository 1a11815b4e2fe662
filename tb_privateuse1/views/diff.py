"""Compare two traces: steps, and operators, kernels, modules or annotations by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from tb_privateuse1.analysis.account import table as account_table
from tb_privateuse1.analysis.comparison import items_per_step, significance
from tb_privateuse1.analysis.comparison import memory as comparison_memory
from tb_privateuse1.analysis.comparison.decomposition import decompositions
from tb_privateuse1.analysis.comparison.items_per_step import By, Figures, Items, Name
from tb_privateuse1.analysis.comparison.memory import DiffAllocator, DiffMemory
from tb_privateuse1.analysis.comparison.significance import Sample, Verdict
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.base import Provenance, compared_steps, provenance
from tb_privateuse1.views.result import Result

Time = Literal["device", "host"]
Status = Literal["both", "new", "gone"]


@dataclass(frozen=True)
class DiffFigure:
    """A part of the step, on average over the chosen steps of each trace."""

    name: str
    base_ns: int | None
    now_ns: int | None
    change_ns: int | None
    change_share: float | None
    """The change as a share of the base; null if that is 0."""
    noise_ns: int | None
    """How far off the change may be by the spread over steps; null with less than two of either."""
    bound_ns: int | None
    """How far off the change may be as device times are inferred; 0 for measured ones."""
    verdict: Verdict


@dataclass(frozen=True)
class DiffRow:
    """An operator, kernel, module or annotation in both traces; figures are per step."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    detail: str | None
    """Input shapes, or what kind of device activity it is."""
    parent: int | None
    """The row around it, of modules and annotations; a row's times have all that is inside."""
    status: Status
    base_calls: float
    now_calls: float
    base_ns: int | None
    now_ns: int | None
    """Null if the device time is not known: there is none, or only that of other streams."""
    change_ns: int | None
    change_share: float | None
    noise_ns: int | None
    bound_ns: int | None
    verdict: Verdict
    device_change_ns: int | None
    host_change_ns: int | None
    base_flops: int | None
    now_flops: int | None
    """Operations of its device activities per step; null without a model, or shapes."""
    base_tflop_per_s: float | None
    now_tflop_per_s: float | None
    base_gb_per_s: float | None
    now_gb_per_s: float | None
    base_roof_share: float | None
    now_roof_share: float | None
    """The least time that the roofs of each trace's device allow, as a share of the time."""


@dataclass(frozen=True)
class DiffStep:
    """The n-th step of each trace; null where one has no more."""

    base: str | None
    now: str | None
    base_ns: int | None
    now_ns: int | None
    change_ns: int | None


@dataclass(frozen=True)
class Diff(Result):
    """The result of the view: rows with the greatest change first."""

    provenance: Provenance
    base: Provenance
    rows: tuple[DiffRow, ...]
    """The outermost ones sum to the totals, up to the rounding of each."""
    figures: tuple[DiffFigure, ...]
    """The step, and its parts, which sum to it."""
    account: tuple[DiffFigure, ...]
    """The classes of time that either has, which sum to the step."""
    memory: tuple[DiffMemory, ...]
    """Of each device, per step."""
    allocators: tuple[DiffAllocator, ...]
    """What operators allocate per step, the greatest change first."""
    steps: tuple[DiffStep, ...]
    by: By
    time: Time
    base_steps: int
    now_steps: int
    base_total_ns: int | None
    now_total_ns: int | None
    """Null without device times."""
    notes: tuple[Finding, ...]


def diff(
    trace: Trace,
    base: Trace,
    *,
    by: Annotated[By, "what a row is"] = "operators",
    time: Annotated[
        Literal["best", "device", "host"],
        "best is device time where both traces have it, else host time",
    ] = "best",
    step: Annotated[
        int | None, "the N of ProfilerStep#N in the new trace; all complete steps by default"
    ] = None,
    base_step: Annotated[
        int | None, "the N of ProfilerStep#N in the base; all complete steps by default"
    ] = None,
) -> Diff:
    """Compare two traces per step: time that ``trace`` gains or loses against ``base``.

    Raises TraceError ``unknown_step``.
    """
    now_steps, base_steps = compared_steps(trace, step), compared_steps(base, base_step)
    both = bool(len(trace.kernels) and len(base.kernels))
    unit: Time = ("device" if both else "host") if time == "best" else time
    if by == "kernels":
        unit = "device"
    now, old = (
        items_per_step.items_per_step(trace, by, now_steps),
        items_per_step.items_per_step(base, by, base_steps),
    )
    return Diff(
        provenance=provenance(trace),
        base=provenance(base),
        rows=_rows(old, now, by, unit, len(base_steps), len(now_steps)),
        figures=_figures(
            items_per_step.step_parts(base, base_steps), items_per_step.step_parts(trace, now_steps)
        ),
        account=_account(base, trace, base_steps, now_steps),
        memory=comparison_memory.compare_devices(base, trace, base_steps, now_steps),
        allocators=comparison_memory.compare_allocators(base, trace, base_steps, now_steps),
        steps=tuple(_paired(base, trace, base_steps, now_steps)),
        by=by,
        time=unit,
        base_steps=len(base_steps),
        now_steps=len(now_steps),
        base_total_ns=_total(old, unit),
        now_total_ns=_total(now, unit),
        notes=(
            *_notes(trace, base, len(now_steps), len(base_steps)),
            *_decomposed(trace, base, now_steps, base_steps),
        ),
    )


def _total(items: Items, unit: Time) -> int | None:
    """Return all device time; on the host, the time of the outermost items."""
    if unit == "device":
        return round(items.device_ns) if items.device_ns or items.all_known else None
    return 0 if items.host is None else round(float(items.host.mean[items.parent < 0].sum()))


@dataclass(frozen=True)
class _Side:
    """The items of one trace in the rows of both."""

    calls: significance.Floats
    host: Sample | None
    device: Sample | None
    bound_ns: significance.Floats
    ran: Bools
    work: list[dict[str, Any]]
    """FLOPs per step, rates and share of the roof."""
    all_known: bool

    def known(self, unit: Time) -> Bools:
        """Return whose times are known: of a device without all its times, those above 0."""
        found: Bools = (self.of(unit).mean > 0) | (unit == "host" or self.all_known)
        return found

    def of(self, unit: Time) -> Sample:
        found = self.host if unit == "host" else self.device
        nothing = np.zeros(len(self.calls))
        return found or Sample(nothing, nothing, 0)


_RATES = ("tflop_per_s", "gb_per_s", "roof_share")


def _side(items: Items, names: dict[Name, int], steps: int) -> _Side:
    row = np.full(len(names), NONE)
    row[[names[name] for name in items.names]] = np.arange(len(items.names))
    host, device = items.host and items.host.take(row), items.device and items.device.take(row)
    count = np.append(items.calls, 0.0)[row]
    ran = count > 0
    for sample in (host, device):
        ran = ran | (sample.mean > 0) if sample else ran
    work: list[dict[str, Any]] = [{}] * len(names)
    for name, one in zip(items.names, items.work, strict=True):
        rates = {key: getattr(one, key) for key in _RATES}
        flops = None if one.flops is None else round(one.flops / max(steps, 1))
        work[names[name]] = {"flops": flops, **rates}
    return _Side(
        count, host, device, np.append(items.bound_ns, 0.0)[row], ran, work, items.all_known
    )


def _work(base: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a row on work; null where a trace does not have it."""
    sides = (("base", base), ("now", now))
    return {f"{s}_{key}": one.get(key) for key in ("flops", *_RATES) for s, one in sides}


def _rows(
    old: Items, now: Items, by: By, unit: Time, base_steps: int, now_steps: int
) -> tuple[DiffRow, ...]:
    names = {name: i for i, name in enumerate(dict.fromkeys([*now.names, *old.names]))}
    a, b = _side(old, names, base_steps), _side(now, names, now_steps)
    parent = np.full(len(names), NONE)
    for items in (old, now):
        inner = np.flatnonzero(items.parent >= 0)
        at = np.array([names[name] for name in items.names], np.int64)
        parent[at[inner]] = at[items.parent[inner]]
    before, after = a.of(unit), b.of(unit)
    noise = significance.noise(before, after)
    bound = a.bound_ns + b.bound_ns if unit == "device" else np.zeros(len(names))
    change = after.mean - before.mean
    was, is_now = a.known(unit), b.known(unit)
    both, on_device = was & is_now, a.known("device") & b.known("device")
    order = np.lexsort((-after.mean, -np.abs(change)))
    order = order[(a.ran | b.ran)[order]]
    position = np.full(len(names) + 1, NONE)
    position[order] = np.arange(len(order))
    texts = list(names)

    rows = []
    for i in order.tolist():
        spread = None if noise is None else round(float(noise[i]))
        error = None if np.isnan(bound[i]) else round(float(bound[i]))
        up = int(position[parent[i]])
        rows.append(
            DiffRow(
                **name_fields(texts[i][0], kernel=by == "kernels"),
                detail=texts[i][1],
                parent=up if up >= 0 else None,
                status=("both" if a.ran[i] else "new") if b.ran[i] else "gone",
                base_calls=float(a.calls[i]),
                now_calls=float(b.calls[i]),
                **_times(
                    round(before.mean[i]) if was[i] else None,
                    round(after.mean[i]) if is_now[i] else None,
                    float(change[i] / before.mean[i]) if before.mean[i] else None,
                ),
                noise_ns=spread,
                bound_ns=error,
                verdict=significance.verdict(change[i], spread, error) if both[i] else "unknown",
                device_change_ns=_difference(a.device, b.device, i) if on_device[i] else None,
                host_change_ns=_difference(a.host, b.host, i),
                **_work(a.work[i], b.work[i]),
            )
        )
    return tuple(rows)


def _difference(one: Sample | None, other: Sample | None, i: int) -> int | None:
    return None if one is None or other is None else round(other.mean[i]) - round(one.mean[i])


def _times(before: int | None, after: int | None, share: float | None) -> dict[str, Any]:
    """Return the fields of a row on its time; there is no change of a time that is not known."""
    both = before is not None and after is not None
    return {
        "base_ns": before,
        "now_ns": after,
        "change_ns": after - before if before is not None and after is not None else None,
        "change_share": share if both else None,
    }


def _account(base: Trace, trace: Trace, base_steps: I64, now_steps: I64) -> tuple[DiffFigure, ...]:
    """Return the classes of time that one of the traces has; without device times none."""
    if not (account_table.has_account(base) and account_table.has_account(trace)):
        return ()
    figures = _figures(
        items_per_step.step_classes(base, base_steps),
        items_per_step.step_classes(trace, now_steps),
    )
    return tuple(one for one in figures if one.base_ns or one.now_ns)


def _figures(base: Figures, now: Figures) -> tuple[DiffFigure, ...]:
    rows = ((name, base[name], now[name]) for name in base)
    return tuple(_figure(name, a[0], b[0], a[1], b[1]) for name, a, b in rows)


def _figure(
    name: str, old: Sample, now: Sample, old_bound: float | None, now_bound: float | None
) -> DiffFigure:
    bound = None if old_bound is None or now_bound is None else round(old_bound + now_bound)
    if not old.steps or not now.steps:
        before, after = (round(one.mean[0]) if one.steps else None for one in (old, now))
        return DiffFigure(name, before, after, None, None, None, bound, "unknown")
    before, after = round(old.mean[0]), round(now.mean[0])
    noise = significance.noise(old, now)
    spread = None if noise is None else round(float(noise[0]))
    return DiffFigure(
        name=name,
        base_ns=before,
        now_ns=after,
        change_ns=after - before,
        change_share=float(now.mean[0] / old.mean[0] - 1) if before else None,
        noise_ns=spread,
        bound_ns=bound,
        verdict=significance.verdict(after - before, spread, bound),
    )


def _paired(base: Trace, trace: Trace, base_steps: I64, now_steps: I64) -> Iterator[DiffStep]:
    """Return pairs: the n-th of the one beside the n-th of the other."""
    for n in range(max(len(base_steps), len(now_steps))):
        a, b = _one(base, base_steps, n), _one(trace, now_steps, n)
        change = None if a[1] is None or b[1] is None else b[1] - a[1]
        yield DiffStep(base=a[0], now=b[0], base_ns=a[1], now_ns=b[1], change_ns=change)


def _one(trace: Trace, steps: I64, n: int) -> tuple[str | None, int | None]:
    if n >= len(steps):
        return None, None
    table, row = trace.steps, steps[n]
    return trace.text(table.name[row]), int(table.end_ns[row] - table.start_ns[row])


def _notes(trace: Trace, base: Trace, now_steps: int, base_steps: int) -> Iterator[Finding]:
    """Return the reasons that make the two less comparable."""
    if trace is base:
        yield Finding("same_trace", say("Both are the same trace."), say("Choose another base."))
    if min(now_steps, base_steps) < 2:
        hint = say("Record several: then the spread over steps says which changes are significant.")
        yield Finding("few_steps", say("One of them has fewer than two complete steps."), hint)
    if bool(len(trace.kernels)) != bool(len(base.kernels)):
        yield Finding(
            "one_without_device", say("Only one of them has device times."), say("By host time.")
        )
    if "inferred" in (trace.meta.timeline, base.meta.timeline):
        message = say("Device times of one of them are inferred.")
        hint = say("A change within their error bounds may be none.")
        yield Finding("inferred", message, hint, severity="info")
    if trace.meta.vendor != base.meta.vendor:
        hint = say("Compare operators and modules: kernels have other names.")
        yield Finding("other_vendor", say("They come from different accelerators."), hint)


def _decomposed(trace: Trace, base: Trace, now_steps: I64, base_steps: I64) -> Iterator[Finding]:
    """Return a note on operators for which only the base has a kernel of their own."""
    if found := decompositions(base, trace, base_steps, now_steps):
        message = say(
            "Operators launch more kernels here than in the base: {operators}.",
            operators=join_list(
                say(
                    "{name} ({now:.0f} instead of {base:.0f}, {share} of the device's time)",
                    name=one.name,
                    now=one.now_kernels,
                    base=one.base_kernels,
                    share=f"{one.share:.1%}",
                )
                for one in found[:_MOST_DECOMPOSED]
            ),
        )
        hint = say("The backend of the base has a kernel for each, which this one could register.")
        yield Finding("decomposed_operators", message, hint, len(found), severity="info")


_MOST_DECOMPOSED = 5
