"""Read amounts with a unit, such as ``12 ms``, ``500 MB`` and ``5%``, as users write limits."""

from __future__ import annotations

import re

from tb_privateuse1.analysis.comparison.baseline_check import Limit
from tb_privateuse1.analysis.comparison.run_figures import Unit
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

_AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[A-Za-zµ]*)")
_SHARE = re.compile(r"(\d+(\.\d+)?)\s*%")

_SCALES: dict[Unit, dict[str, int]] = {
    "ns": {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9},
    "bytes": {
        "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
    },
    "count": {"": 1},
}  # fmt: skip


def parse_amount(text: str, unit: Unit) -> float:
    """Return an amount in this unit. Raises TraceError ``bad_limit``."""
    match, scales = _AMOUNT.fullmatch(text.strip()), _SCALES[unit]
    if match is None or match["unit"] not in scales:
        units = ", ".join(scales) if unit != "count" else say("a number")
        message = say("{text!r} is no amount.", text=text)
        raise TraceError("bad_limit", message, say("Its unit must be: {units}.", units=units))
    return float(match["number"]) * scales[match["unit"]]


def parse_limit(text: str, unit: Unit) -> Limit:
    """Return a limit: a share like ``5%``, or an amount. Raises TraceError ``bad_limit``."""
    if share := _SHARE.fullmatch(text.strip()):
        return Limit(share=float(share[1]) / 100)
    return Limit(amount=parse_amount(text, unit))
