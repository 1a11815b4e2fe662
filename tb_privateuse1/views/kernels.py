"""Device activities by name, launching operator and launch properties: times and their spread."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import display_name, strings_with
from tb_privateuse1.analysis.kernels import groups
from tb_privateuse1.analysis.kernels.groups import Group
from tb_privateuse1.analysis.roofs.achieved import COLUMNS, Figures
from tb_privateuse1.analysis.roofs.rates import ModeledTime, group_figures, modeled_time
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import device_times, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.kernel_context import operator_names
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Kernels, Trace
from tb_privateuse1.trace.table import F64, I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import (
    OffsetOption,
    StepOption,
    WindowOption,
    chosen_window,
)
from tb_privateuse1.views.sorting import (
    SortOption,
    order_by_number,
    order_by_text,
    order_by_work,
    parse_sort,
    sorts,
)

_SORTS = ("name", "calls", "total_ns", "mean_ns", "min_ns", "max_ns")


class KernelRow(Struct, frozen=True):
    """The device activities of one full name that one operator launched."""

    name: str
    """Family, operation, data type and tile: ``GEMM bf16 128×64×64``."""
    full_name: str
    """As its compiler wrote it."""
    operator: str | None
    """The innermost operator that launched them; null for those without a launch."""
    kind: str
    """``kernel``, ``memcpy``, ``memset``, ``communication`` or ``unknown``."""
    grid: str | None
    block: str | None
    registers: int | None
    shared_bytes: int | None
    """How they were launched; null unless grouped by that, or not in the trace."""
    calls: int
    total_ns: int
    mean_ns: int
    median_ns: int
    p95_ns: int
    """95 % took no longer, interpolated."""
    min_ns: int
    max_ns: int
    bound_ns: int | None
    """How far off ``total_ns`` may be; 0 for measured times."""
    mean_bound_ns: int | None
    median_bound_ns: int | None
    p95_bound_ns: int | None
    min_bound_ns: int | None
    max_bound_ns: int | None
    """How far off the mean and the others may be; null if activities may be missing."""
    bounded_share: float
    """The part of ``total_ns`` with limits only (evidence ``bound``), 0 to 1."""
    share: float
    """Of the total of all rows, 0 to 1."""
    short_calls: int
    """How many took less than ``short_ns``."""
    blocks_per_sm: float | None
    occupancy: float | None
    """As CUPTI estimates it, 0 to 1; this and the one before are means weighted by duration."""
    matrix_unit: bool | None
    """Whether the name says so; null where nothing is known of the vendor's names."""
    flops: int | None
    """Operations of its activities; null without a model of their work, or without shapes."""
    bytes: int | None
    """Bytes that these must read and write."""
    tflop_per_s: float | None
    gb_per_s: float | None
    """By the time of the activities with FLOPs, or with bytes."""
    flops_per_byte: float | None
    """Arithmetic intensity."""
    roof_share: float | None
    """The least time that the device's roofs allow, as a share of the time, 0 to 1."""
    above_roof_ns: int | None
    """The rest of the time: what perfect kernels would save."""
    longest_row: int
    """The row of the activity with ``max_ns`` in the trace's table of kernels."""


class OtherKernels(Struct, frozen=True):
    """The groups beyond ``limit``: not in the rows, but in all sums."""

    rows: int
    calls: int
    total_ns: int


class ShortKernels(Struct, frozen=True):
    """Kernels that took less than ``short_ns``: launching them may cost more than running them."""

    short_ns: int
    calls: int
    share: float
    """Of the kernels' number."""
    total_ns: int


class MatrixUse(Struct, frozen=True):
    """The vendor's unit for matrix products, by the names of kernels and operators."""

    unit: str
    total_ns: int
    """Kernels whose names say that they use it."""
    eligible_ns: int
    """Kernels of operators that multiply matrices: gemm, convolution, attention."""
    used_ns: int
    """Those of them that use it."""


class KernelTable(Result, frozen=True):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[KernelRow, ...]
    total_rows: int
    others: OtherKernels | None
    """The rows that are not shown, if there are more than ``limit``."""
    calls: int | None
    total_ns: int | None
    """Sum of all rows' totals: more than the busy time where lanes overlap. Null without device
    times; a lower bound if a stream is missing."""
    bound_ns: int | None
    """How far off it may be; null if that is not known."""
    short: ShortKernels | None
    """Null without any kernel."""
    matrix: MatrixUse | None
    """Null where nothing is known of the vendor's names."""
    has_configs: bool
    """Whether the trace says how kernels were launched."""
    modeled: ModeledTime
    """How much of the time of these activities has a model of its work."""


@sorts(_SORTS)
def kernels(
    trace: Trace,
    *,
    group: Annotated[
        Group, "what a row is: name and operator, name, or also launch properties"
    ] = "operator",
    step: StepOption = None,
    window: WindowOption = "steady",
    short_ns: Annotated[int, "kernels that take less than this count as short"] = 10_000,
    find: Annotated[
        str | None, "only rows with this text in the name of kernel or operator"
    ] = None,
    sort: SortOption = None,
    limit: Annotated[int, "at most this many rows"] = 20_000,
    offset: OffsetOption = 0,
) -> KernelTable:
    """A row per name and launching operator, per name only, or per launch properties as well.

    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    if limit < 0 or offset < 0 or short_ns < 0:
        raise TraceError("bad_option", say("limit, offset and short_ns must be at least 0."))
    sorting = parse_sort(sort, _SORTS)
    time = chosen_window(trace, step, window)
    inside = time.kernels
    chosen = np.flatnonzero(inside)
    table = trace.kernels.take(chosen)
    first, member = groups.group_kernels(trace, table, group)
    duration = table.end_ns - table.start_ns
    totals = sums(member, duration, len(first))
    some = _having(trace, table, first, group, find)
    by_member = np.lexsort((duration, member))
    edges = np.searchsorted(member[by_member], np.arange(len(first) + 1))
    members = _Members(trace, chosen, member, first, duration[by_member], edges)
    order = members.ordered(order_by_number(some, totals, descending=True), *sorting)
    shown = order[offset : offset + limit]
    rest = np.append(order[:offset], order[offset + limit :])
    rows = _Rows(trace, table, chosen, group, short_ns)
    count = np.diff(edges)
    work = members.work(shown)
    return KernelTable(
        provenance=provenance(trace, time),
        rows=tuple(
            rows.row(by_member[edges[i] : edges[i + 1]], one)
            for i, one in zip(shown, work, strict=True)
        ),
        total_rows=len(first),
        others=OtherKernels(len(rest), int(count[rest].sum()), int(totals[rest].sum()))
        if len(rest)
        else None,
        calls=device_times.known_sum(trace, len(table)),
        total_ns=device_times.known_sum(trace, rows.whole),
        bound_ns=(uncertainty.duration_sum_bound(table) if device_times.all_known(trace) else None),
        short=_short(duration[table.kind == KERNEL], short_ns),
        matrix=_matrix(trace, table, rows.matrix),
        has_configs=bool((lookup(trace.configs.block, table.config, NONE) >= 0).any()),
        modeled=modeled_time(trace, inside),
    )


class _Members(Struct, frozen=True):
    """The group of each chosen activity."""

    trace: Trace
    chosen: I64
    member: I64
    first: I64
    """The first activity of each group, among the chosen ones."""
    durations: I64
    """In the order of groups, and within a group from the shortest on."""
    edges: I64
    """Where groups begin in it, and its end."""

    def work(self, shown: I64) -> list[Figures]:
        """Return the work of some groups."""
        group = np.full(len(self.trace.kernels), NONE, np.int64)
        group[self.chosen] = positions(shown, len(self.first))[self.member]
        return group_figures(self.trace, group, len(shown))

    def ordered(self, rows: I64, key: str | None, descending: bool) -> I64:
        """Return groups in the order of a column."""
        if key is None:
            return rows
        if key in COLUMNS:
            return order_by_work(rows, self.work(rows), key, descending=descending)
        if key == "name":
            names = self.trace.kernels.name[self.chosen[self.first[rows]]]
            texts = [display_name(self.trace.text(name)) for name in names.tolist()]
            return order_by_text(rows, texts, descending=descending)
        return order_by_number(rows, self._column(key), descending=descending)

    def _column(self, key: str) -> I64:
        """Return a figure of the durations of all groups; none of them is empty."""
        counts = np.diff(self.edges)
        if key == "calls":
            return counts
        if key in ("min_ns", "max_ns"):
            at = self.edges[:-1] if key == "min_ns" else self.edges[1:] - 1
            extreme: I64 = self.durations[at]
            return extreme
        total = np.add.reduceat(self.durations, self.edges[:-1])
        return total if key == "total_ns" else np.rint(total / counts).astype(np.int64)


def _having(trace: Trace, table: Kernels, first: I64, group: Group, find: str | None) -> I64:
    if find is None:
        return np.arange(len(first))
    having = strings_with(trace, find)
    found: Bools = having[table.name[first]]
    if group != "name":
        found = found | having[operator_names(trace, table)[first]]
    return np.flatnonzero(found)


def _short(duration: I64, short_ns: int) -> ShortKernels | None:
    if not len(duration):
        return None
    short = duration[duration < short_ns]
    return ShortKernels(short_ns, len(short), len(short) / len(duration), int(short.sum()))


def _matrix(trace: Trace, table: Kernels, using: Bools | None) -> MatrixUse | None:
    if using is None or not len(table):
        return None
    duration = table.end_ns - table.start_ns
    could = groups.could_use_matrix_unit(trace, table)
    parts = (using, could, using & could)
    return MatrixUse(trace.vendor.matrix_unit, *(int(duration[part].sum()) for part in parts))


class _Rows:
    """Makes the rows of the table."""

    def __init__(
        self, trace: Trace, table: Kernels, chosen: I64, group: Group, short_ns: int
    ) -> None:
        configs = trace.configs
        self._trace, self._table, self._chosen, self._group = trace, table, chosen, group
        self._short = short_ns
        self._kind = breakdown.activity_kinds(table)
        self._operator = operator_names(trace, table)
        self._only_limits = uncertainty.bounded_only(table)
        self._occupancy = groups.parse_numbers(trace, configs.occupancy) / 100
        self._blocks = groups.parse_numbers(trace, configs.blocks_per_sm)
        self.whole = int((table.end_ns - table.start_ns).sum())
        self.matrix = groups.on_matrix_unit(trace, table)

    def row(self, members: I64, work: Figures) -> KernelRow:
        """Return the row of some activities, in the order of their durations."""
        table, one = self._table, int(members[0])
        times = table.end_ns[members] - table.start_ns[members]
        total = int(times.sum())
        error = table.duration_bound_ns[members]
        bound = sum_bounds.sum_bound(error, table.error_group[members])
        only = int(times[self._only_limits[members]].sum())
        operator = self._trace.text(self._operator[one]) or None
        full = self._trace.text(table.name[one])
        return KernelRow(
            name=display_name(full),
            full_name=full,
            operator=None if self._group == "name" else operator,
            kind=breakdown.KINDS[self._kind[one]],
            **self._config(one),
            calls=len(times),
            total_ns=total,
            mean_ns=round(total / len(times)),
            median_ns=round(_at_share(times, 0.5)),
            p95_ns=round(_at_share(times, 0.95)),
            min_ns=int(times[0]),
            max_ns=int(times[-1]),
            bound_ns=self._known(None if bound is None else bound.bound_ns),
            mean_bound_ns=self._known(
                None if bound is None else round(bound.bound_ns / len(times))
            ),
            median_bound_ns=self._known(uncertainty.bound_of(np.median, times, error)),
            p95_bound_ns=self._known(uncertainty.bound_of(_p95, times, error)),
            min_bound_ns=self._known(uncertainty.bound_of(np.min, times, error)),
            max_bound_ns=self._known(uncertainty.bound_of(np.max, times, error)),
            bounded_share=only / total if total else 0.0,
            share=total / self.whole if self.whole else 0.0,
            short_calls=int((times < self._short).sum()),
            blocks_per_sm=self._mean(self._blocks, members, times),
            occupancy=self._mean(self._occupancy, members, times),
            matrix_unit=None if self.matrix is None else bool(self.matrix[one]),
            **work.columns(),
            longest_row=int(self._chosen[members[-1]]),
        )

    def _known(self, bound_ns: int | None) -> int | None:
        """Return a bound; None if the recording may lack activities of the row."""
        return device_times.known_bound(self._trace, bound_ns)

    def _config(self, one: int) -> dict[str, Any]:
        trace, config = self._trace, int(self._table.config[one])
        if self._group != "launch" or config < 0:
            return dict.fromkeys(("grid", "block", "registers", "shared_bytes"))
        configs = trace.configs
        numbers = {
            "registers": configs.registers[config],
            "shared_bytes": configs.shared_bytes[config],
        }
        return {
            "grid": trace.text(configs.grid[config]) or None,
            "block": trace.text(configs.block[config]) or None,
            **{key: None if n == MISSING else int(n) for key, n in numbers.items()},
        }

    def _mean(self, of_config: F64, members: I64, times: I64) -> float | None:
        """Return the mean of a launch property weighted by duration, over activities with it."""
        config = self._table.config[members]
        if not len(of_config) or not times.any():
            return None
        values = np.where(config >= 0, of_config[config], np.nan)
        finite = np.isfinite(values)
        weight = float(times[finite].sum())
        return float((values[finite] * times[finite]).sum()) / weight if weight else None


def _at_share(ordered: I64, share: float) -> float:
    """Return a quantile of ordered times, as ``np.percentile``: that takes 0.2 ms for each row."""
    low, part = divmod(share * (len(ordered) - 1), 1)
    before, after = ordered[int(low)], ordered[min(int(low) + 1, len(ordered) - 1)]
    return float(before + (after - before) * part)


def _p95(times: I64) -> float:
    return float(np.percentile(times, 95))
