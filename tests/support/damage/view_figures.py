"""The times that the tables of a recording show: by view, by row, with their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from tb_privateuse1.trace.findings import Figures
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS


class Figure(NamedTuple):
    """A figure with its limits; None: not known."""

    value: float | None
    low: float | None
    high: float | None


def bounded(value: int | None, bound: int | None) -> Figure:
    """Return a figure with the limits on both of its sides."""
    if value is None or bound is None:
        return Figure(value, None, None)
    return Figure(value, value - bound, value + bound)


class Table(NamedTuple):
    """A view's table, and the names of its figures."""

    asked: tuple[Callable[..., Any], ...]
    keys: tuple[str, ...]
    """The fields that name a row."""
    times: dict[str, str | None]
    """Each figure with its bound's field; None: a time of the host, which has no bound."""
    kinds: tuple[Figures, ...]
    """What a finding must affect to doubt the figures."""


def _asked(name: str, **options: Any) -> Callable[..., Any]:
    return partial(VIEWS[name], **options)


_EVERY_ROW = 1_000_000
TABLES = {
    "kernels": Table(
        (_asked("kernels", window="all", group="name"),),
        ("full_name", "kind"),
        {"total_ns": "bound_ns", "max_ns": "max_bound_ns", "mean_ns": "mean_bound_ns"},
        ("kernels",),
    ),
    "operators": Table(
        (_asked("operators", window="all"),),
        ("name",),
        {
            "host_self_ns": None,
            "host_total_ns": None,
            "device_self_ns": "device_bound_ns",
            "device_total_ns": "device_total_bound_ns",
            "backward_device_ns": "backward_bound_ns",
        },
        ("operators",),
    ),
    "modules": Table(
        (_asked("modules", window="all"),),
        ("path",),
        {"host_total_ns": None, "device_total_ns": "device_bound_ns"},
        ("operators", "stacks"),
    ),
    "runtime": Table(
        (_asked("runtime", window="all"),),
        ("name",),
        {"total_ns": None, "device_ns": "device_bound_ns"},
        ("operators", "kernels"),
    ),
    "flame": Table(
        (
            _asked("flame", window="all", by="device", limit=_EVERY_ROW),
            _asked("flame", window="all", by="host", limit=_EVERY_ROW),
        ),
        ("name", "kind"),
        {"total_ns": "bound_ns"},
        ("operators", "kernels", "stacks"),
    ),
    "roofline": Table(
        (_asked("roofline", window="all"),),
        ("name",),
        {"device_ns": "device_bound_ns"},
        ("operators", "kernels"),
    ),
}
"""Of every view with a table of times. Timeline, memory and counters show single events; what-if
and the critical path rest on the steps, which the overview has."""


def table_figures(trace: Trace) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of all tables; rows of the same name are one figure, their sum."""
    for name, table in TABLES.items():
        for number, view in enumerate(table.asked):
            rows = view(trace).rows
            for time, bound in table.times.items():
                sums: dict[str, Figure] = {}
                for row in rows:
                    key = " ".join(str(getattr(row, field)) for field in table.keys)
                    value = getattr(row, time)
                    limit = 0 if bound is None else getattr(row, bound)
                    sums[key] = _added(sums.get(key), bounded(value, limit))
                for key, figure in sums.items():
                    yield f"{name}{number} {key} {time}", figure


def is_nested(figure: str) -> bool:
    """Return whether a figure depends on which ranges were recorded inside of others."""
    return figure.startswith("flame") or figure.endswith("host_self_ns")


def claims(trace: Trace) -> dict[str, Figure]:
    """Return what the advice would save, by rule, as a share of the judged time."""
    advice = VIEWS["advice"](trace)
    found: dict[str, Figure] = {}
    for row in advice.rows:
        limits = row.saving_ns, row.saving_low_ns, row.saving_high_ns
        if None not in limits and advice.judged_net_ns:
            shares = Figure(*(limit / advice.judged_net_ns for limit in limits))
            found[row.rule] = _added(found.get(row.rule), shares)
    return found


def kinds_of(figure: str) -> tuple[Figures, ...]:
    """Return what a finding must affect, to doubt a figure of this name; () for no table's."""
    table = TABLES.get(figure.split()[0].rstrip("01"))
    return table.kinds if table else ()


def _added(one: Figure | None, other: Figure) -> Figure:
    if one is None:
        return other
    pairs = zip(one, other, strict=True)
    return Figure(*(None if a is None or b is None else a + b for a, b in pairs))
