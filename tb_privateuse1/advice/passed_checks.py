"""List the checks of a recording that passed, each with its figure: loader, copies, steps, …"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.thresholds import PROGRAM
from tb_privateuse1.analysis.account.classes import CLASSES, ClassName, Group
from tb_privateuse1.analysis.operators import groups, kinds_of_work
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.uncertainty import all_measured

_LITTLE = 0.01
"""Share of the judged time below which a class of the account is no matter."""

_AHEAD = 0.03
"""The host is ahead below this share: less idle time is in any program (``thresholds``)."""
_MUCH, _MOST, _GOOD = 0.1, 0.8, 0.7
"""Products of a lesser share of the judged time are no matter. Most of their time is on matrix
units from the second share on; libraries reach about the third share of a data sheet's peak."""
_EVEN, _STEPS = 1.1, 3
"""The longest step as a multiple of the median one: below 1.07 in half of the 82 shared recordings
of three steps or more, and below 1.1 in 52 %. Two steps show no median."""

_LOADER = r"^enumerate\(DataLoader\)"
_BY_HAND = r"^aten::(_scaled_dot_product_attention_math\w*|_?softmax)$"


class FineRow(Struct, frozen=True):
    """A statement about what costs nothing."""

    name: str
    """What was checked: ``host``, ``blocking``, ``loader``, ``communication``, ``copies``,
    ``allocator``, ``attention``, ``products``, ``matrix_units``, ``steps``."""
    statement: str
    share: float
    """The figure of the statement: a share of the judged time, 0 to 1; of ``products`` and
    ``matrix_units`` a share of the products' time, of ``steps`` the part by which the longest
    exceeds the median."""


_PRODUCT_RULES = ("slow_products", "weight_reads", "double_precision")

_CONTRADICTS: Mapping[str, Collection[str]] = {
    "host": ("launching",),
    "blocking": ("waiting", "memory"),
    "loader": ("input",),
    "copies": ("input",),
    "communication": ("communication",),
    "allocator": ("memory",),
    "products": _PRODUCT_RULES,
    "matrix_units": _PRODUCT_RULES,
}
"""By row, the causes and the rules of findings that say otherwise."""


def fine_rows(
    case: RuleContext, against: Collection[str] = (), whole: RuleContext | None = None
) -> tuple[FineRow, ...]:
    """Return what was checked and is fine in the judged time; none if it is not known.

    ``against`` are the causes and the rules of findings: nothing is fine that a finding is about.
    ``whole`` has all steps, if a block of them stands for all in ``case``.
    """
    is_program = int(case.judged_kernels.sum()) >= PROGRAM
    if not (is_program and case.is_steady and case.window_ns and case.limits.known == "device"):
        return ()
    if not all_measured(case.trace.kernels):
        return ()  # bounds would have to be in each figure
    found = [row for check in _CHECKS for row in check(case)]
    found += _steps(case if whole is None else whole)
    return tuple(
        row for row in found if not set(_CONTRADICTS.get(row.name, ())).intersection(against)
    )


def _of_groups(*wanted: Group) -> tuple[ClassName, ...]:
    return tuple(one.name for one in CLASSES if one.group in wanted)


def _host(case: RuleContext) -> Iterator[FineRow]:
    share = case.share_of(*_of_groups("blocked", "host"))
    if share < _AHEAD and "operators" in case.has:
        text = say(
            "The host keeps ahead: the device waits for it {share} of the time.",
            share=percent(share),
        )
        yield FineRow("host", text, share)


def _blocking(case: RuleContext) -> Iterator[FineRow]:
    if not len(case.trace.launches):
        return
    share = case.share_of(*_of_groups("blocked"))
    if share < _LITTLE:
        text = say(
            "No call of the analyzed steps blocks the host while the device idles: {share} of the "
            "time.",
            share=percent(share),
        )
        yield FineRow("blocking", text, share)


def _loader(case: RuleContext) -> Iterator[FineRow]:
    share = case.share_of("input")
    if share < _LITTLE and len(case.ops(_LOADER)):
        text = say(
            "The data loader keeps up: the device waits for it {share} of the time.",
            share=percent(share),
        )
        yield FineRow("loader", text, share)


def _communication(case: RuleContext) -> Iterator[FineRow]:
    if not (case.trace.kernels.communication & case.judged_kernels).any():
        return
    share = case.share_of("exposed_communication")
    if share < _LITTLE:
        text = say(
            "Communication costs next to nothing: {share} of the time is exposed.",
            share=percent(share),
        )
        yield FineRow("communication", text, share)


def _copies(case: RuleContext) -> Iterator[FineRow]:
    share = case.share_of("exposed_copy")
    if share < _LITTLE and len(case.copies()):
        text = say(
            "Copies cost next to nothing: {share} of the time is exposed.", share=percent(share)
        )
        yield FineRow("copies", text, share)


def _allocator(case: RuleContext) -> Iterator[FineRow]:
    if not len(case.trace.launches):
        return
    share = case.share_of("device_memory")
    if not share:
        text = say("No call allocates or frees device memory while the device idles.")
        yield FineRow("allocator", text, share)


def _attention(case: RuleContext) -> Iterator[FineRow]:
    kind = groups.name_categories(case.trace)[case.trace.ops.name]
    rows = case.launched_by((kind == kinds_of_work.KINDS.index("attention")) & case.judged)
    if not len(rows) or len(case.ops(_BY_HAND)):
        return
    running = intervals.intersect(case.time(rows, "kernels"), case.window)
    share = case.share(intervals.length(running))
    text = say("Attention is fused: its kernels take {share} of the time.", share=percent(share))
    yield FineRow("attention", text, share)


def _products(case: RuleContext) -> Iterator[FineRow]:
    """Yield the products' least time by their roofs, as a share of their time."""
    rates = device_rates(case.trace)
    roofed = rates.rows.product & (rates.values.attainable_ns != MISSING) & case.judged_kernels
    total = int(rates.rows.duration_ns[roofed].sum())
    # A best rate of the recording is that of a product in it: to reach it proves nothing.
    if case.share(total) < _MUCH or rates.limits.measured:
        return
    share = float(rates.values.attainable_ns[roofed].sum()) / total
    if share >= _GOOD:
        text = say("Products reach {share} of their roof.", share=percent(share))
        yield FineRow("products", text, share)


def _matrix_units(case: RuleContext) -> Iterator[FineRow]:
    rows = device_rates(case.trace).rows
    products = rows.product & case.judged_kernels
    total = int(rows.duration_ns[products].sum())
    # Without names of such kernels, nothing says which of them use the units.
    if case.share(total) < _MUCH or case.vendor.matrix_names is None:
        return
    share = float(rows.duration_ns[products & rows.on_unit].sum()) / total
    if share >= _MOST:
        text = say(
            "Products run on {unit} in {share} of their time.",
            unit=case.vendor.matrix_unit or say("matrix units"),
            share=percent(share),
        )
        yield FineRow("matrix_units", text, share)


def _steps(case: RuleContext) -> Iterator[FineRow]:
    steps = case.trace.steps.take(case.steps)
    if len(steps) < _STEPS:
        return
    length = steps.end_ns - steps.start_ns
    excess = float(length.max() / max(float(np.median(length)), 1.0)) - 1
    if excess < _EVEN - 1:
        text = say(
            "Steps are even: the longest takes {share} more than the median.",
            share=percent(excess),
        )
        yield FineRow("steps", text, excess)


_CHECKS: tuple[Callable[[RuleContext], Iterator[FineRow]], ...] = (
    _host, _blocking, _loader, _communication, _copies, _allocator, _attention, _products,
    _matrix_units,
)  # fmt: skip
