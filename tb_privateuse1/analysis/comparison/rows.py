"""Tabulate two traces side by side: operators, kernels, modules or annotations by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.analysis.comparison.items_per_step import By, Items, Name
from tb_privateuse1.analysis.comparison.kernel_matches import renamed_kernels
from tb_privateuse1.analysis.comparison.significance import Sample, Verdict
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64, I32, I64, Bools

Time = Literal["device", "host"]
Status = Literal["both", "new", "gone"]


class DiffRow(Struct, frozen=True):
    """An operator, kernel, module or annotation in both traces; figures are per step."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    base_name: str | None
    """Of a kernel that has another name in the base: that one."""
    base_full_name: str | None
    """That name as its compiler wrote it; null if that is ``base_name``."""
    detail: str | None
    """Input shapes, or what kind of device activity it is."""
    parent: int | None
    """The row around it, of modules and annotations; a row's times have all that is inside. Null
    for the outermost ones, and where the row around it is not among these."""
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


def rename_kernels(
    items: Items, base: Trace, trace: Trace, base_steps: I64, now_steps: I64
) -> tuple[Items, dict[Name, str]]:
    """Return the base's kernels under their new names, and the old name of each."""
    renamed = renamed_kernels(base, trace, base_steps, now_steps)
    names = [(renamed.get(name, name), kind) for name, kind in items.names]
    pairs = zip(names, items.names, strict=True)
    return replace(items, names=names), {new: old[0] for new, old in pairs if new != old}


class Rows(Struct, frozen=True):
    """A page of the rows, and the sums of all."""

    listed: tuple[DiffRow, ...]
    count: int
    """How many rows there are."""
    base_total_ns: int | None
    now_total_ns: int | None
    """All device time; on the host, that of the outermost rows."""


def _total_ns(items: Items, host: Sample | None, unit: Time, outermost: Bools) -> int | None:
    if unit == "device":
        return round(items.device_ns) if items.device_ns or items.all_known else None
    return 0 if host is None else round(float(host.mean[outermost].sum()))


class _Side(Struct, frozen=True):
    """The items of one trace in the rows of both."""

    calls: F64
    host: Sample | None
    device: Sample | None
    bound_ns: F64
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
    count = lookup(items.calls, row, 0.0)
    ran = count > 0
    for sample in (host, device):
        ran = ran | (sample.mean > 0) if sample else ran
    work: list[dict[str, Any]] = [{}] * len(names)
    for name, one in zip(items.names, items.work, strict=True):
        rates = {key: getattr(one, key) for key in _RATES}
        flops = None if one.flops is None else round(one.flops / max(steps, 1))
        work[names[name]] = {"flops": flops, **rates}
    return _Side(count, host, device, lookup(items.bound_ns, row, 0.0), ran, work, items.all_known)


def _work(base: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a row on work; null where a trace does not have it."""
    sides = (("base", base), ("now", now))
    return {f"{s}_{key}": one.get(key) for key in ("flops", *_RATES) for s, one in sides}


def compare_rows(
    old: Items,
    now: Items,
    by: By,
    unit: Time,
    steps: tuple[int, int],
    base_names: Mapping[Name, str],
    page: slice,
    *,
    repeats: bool,
) -> Rows:
    """Return a page of the rows, those with the greatest change first, and the sums of all.

    ``steps`` are the numbers of compared steps, ``base_names`` the base's own names of items;
    ``repeats`` says that the n-th steps of both are of the same name.
    """
    names = {name: i for i, name in enumerate(dict.fromkeys([*now.names, *old.names]))}
    a, b = _side(old, names, steps[0]), _side(now, names, steps[1])
    ran = a.ran | b.ran
    parent = _parents(old, now, names, ran)
    before, after = a.of(unit), b.of(unit)
    noise = significance.noise(before, after, repeats=repeats)
    bound = a.bound_ns + b.bound_ns if unit == "device" else np.zeros(len(names))
    change = after.mean - before.mean
    was, is_now = a.known(unit), b.known(unit)
    both, on_device = was & is_now, a.known("device") & b.known("device")
    shown, position = _page(change, after, ran, page)
    texts = list(names)

    rows = []
    for i in shown:
        spread = None if noise is None else round(float(noise[i]))
        error = None if np.isnan(bound[i]) else round(float(bound[i]))
        up = int(position[parent[i]])
        rows.append(
            DiffRow(
                **name_fields(texts[i][0], kernel=by == "kernels"),
                **_base_name(base_names.get(texts[i])),
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
    base, new = (_total_ns(i, s.host, unit, ran & (parent < 0)) for i, s in ((old, a), (now, b)))
    return Rows(tuple(rows), int(ran.sum()), base, new)


def _page(change: F64, after: Sample, ran: Bools, page: slice) -> tuple[list[int], I64]:
    """Return the items of a page, and the place of each item in it, or ``NONE``."""
    order = np.lexsort((-after.mean, -np.abs(change)))
    shown = order[ran[order]][page]
    position = np.full(len(ran) + 1, NONE)
    position[shown] = np.arange(len(shown))
    return shown.tolist(), position


def _parents(old: Items, now: Items, names: Mapping[Name, int], ran: Bools) -> I32:
    """Return the nearest item around each that ran, by the numbers of their names.

    One that began before the steps did not run in them. The newer trace's item counts.
    """
    parent = np.full(len(names), NONE)
    for items in (old, now):
        inner = np.flatnonzero(items.parent >= 0)
        at = np.array([names[name] for name in items.names], np.int64)
        parent[at[inner]] = at[items.parent[inner]]
    return intervals.nearest(parent.astype(np.int32), ran)


def _base_name(full: str | None) -> dict[str, Any]:
    fields = {"name": None, "full_name": None} if full is None else name_fields(full, kernel=True)
    return {f"base_{key}": value for key, value in fields.items()}


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
