"""Format figures with units, by their field's name: ``total_ns``, ``peak_bytes``, ``share``.

Names from a trace may hold any character: control characters are shown as escapes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_SHARES = ("share", "utilization", "sm_efficiency", "occupancy", "mfu", "hfu")
_RATES = (("tflop_per_s", "TFLOP/s"), ("gb_per_s", "GB/s"), ("flops_per_byte", "FLOP/B"))
_TIMES = (("s", 10**9), ("ms", 10**6), ("µs", 10**3))
_WORK = (("TFLOP", 10**12), ("GFLOP", 10**9), ("MFLOP", 10**6))
_SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def title(name: str) -> str:
    """Return a field's name as a title, without its unit."""
    return name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")


def with_unit(name: str, value: Any) -> str:
    """Return a field's value with its unit; ``-`` if it is missing."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ns") and isinstance(value, int):
        return _scaled(value, _TIMES, "ns")
    if name.endswith("bytes") and isinstance(value, int):
        return _scaled(value, _SIZES, "B")
    if name.endswith("bytes_per_s"):
        return f"{value / 1e9:.3g} GB/s"
    if name.endswith("flops") and isinstance(value, int):
        return _scaled(value, _WORK, "FLOP")
    if unit := next((unit for figure, unit in _RATES if name.endswith(figure)), None):
        return f"{f'{value:,.0f}' if abs(value) >= 1000 else f'{value:.3g}'} {unit}"
    figure = name.removesuffix("_low").removesuffix("_high")
    if figure in _SHARES or figure.endswith("_share"):
        return percent(value)
    return f"{value:.4g}" if isinstance(value, float) else plain_text(str(value))


def percent(share: float) -> str:
    """Return a share (0 to 1) in per cent, as the pages do (``frontend/src/lib/format.ts``).

    Three significant digits, and two decimals below 1 %: ``9.32 %``, ``0.25 %``, ``100 %``.
    """
    size = 100 * abs(share)
    minus = "-" if share < 0 else ""
    if not size:
        return "0 %"
    if size < _LEAST_PERCENT:
        return f"{'> -' if minus else '< '}{_LEAST_PERCENT} %"
    # Never "100 %" of less: the reader would take it for all.
    if _NEARLY_ALL <= size < 100 and not minus:
        return "> 99.9 %"
    return f"{minus}{f'{size:.2f}' if size < 1 else significant(size)} %"


_LEAST_PERCENT = 0.01
_NEARLY_ALL = 99.95
"""In per cent; from here on, rounding gives 100."""


def significant(value: float) -> str:
    """Return a number with three significant digits and no exponent: ``1.20``, ``12.0``, ``1,234``.

    Whole numbers from 1,000 on.
    """
    digits = 2 - math.floor(math.log10(abs(value))) if value else 2
    rounded = round(value, digits)
    if abs(rounded) >= 1000:
        return f"{value:,.0f}"
    decimals = 2 - math.floor(math.log10(abs(rounded))) if rounded else 2
    return f"{rounded:.{decimals}f}"


def bounds(names: Sequence[str]) -> dict[str, str]:
    """Return the names of the fields with error bounds, by the names of their figures."""
    bound_of = {}
    for bound in names:
        stem, is_bound, unit = bound.rpartition("bound")
        if not is_bound or unit not in ("", "_ns"):
            continue
        figure = f"{stem.removesuffix('_') or 'total'}{unit}"
        if figure in names and figure != bound:
            bound_of[figure] = bound
    return bound_of


def ranges(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the names of least and greatest values, by the names of their figures."""
    limits = {name: (f"{name}_low", f"{name}_high") for name in names}
    return {name: both for name, both in limits.items() if set(both) <= set(names)}


def with_range(row: Any, name: str, limits: tuple[str, str]) -> str:
    """Return a field of a Struct with its unit and, unless it is exact, its limits."""
    value = getattr(row, name)
    low, high = (getattr(row, limit) for limit in limits)
    if value is None or low == high == value:
        return with_unit(name, value)
    if low is None or high is None:
        return f"{with_unit(name, value)} (range unknown)"
    if low == 0:
        return f"{with_unit(name, value)} (at most {with_unit(name, high)})"
    return f"{with_unit(name, value)} ({with_unit(name, low)} to {with_unit(name, high)})"


def with_bound(row: Any, name: str, bound: str | None) -> str:
    """Return a field of a Struct with its unit and, if inferred, its error bound."""
    value = getattr(row, name)
    if bound is None or value is None or (off := getattr(row, bound)) == 0:
        return with_unit(name, value)
    return f"{with_unit(name, value)} ± {'unknown' if off is None else with_unit(name, off)}"


def plain_text(text: str) -> str:
    """Escape control characters: a name must not move the cursor or color the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shorten(text: str, most: int) -> str:
    """Return a text cut to at most ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _scaled(value: int, units: Sequence[tuple[str, int]], smallest: str) -> str:
    for unit, size in units:
        if abs(value) >= size:
            return f"{value / size:.3f} {unit}"
    return f"{value} {smallest}"
