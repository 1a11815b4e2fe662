"""Compare what the same scripts wrote on two devices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError


def compared(first: str, second: str) -> Iterator[str]:
    """Yield the lines of a table from two texts of JSON lines, by the time of the first.

    Of several results of one call the last counts. Raises TraceError ``bad_option`` for a text
    that the scripts did not write, and for two that have no call in common.
    """
    one, other = _by_call(first), _by_call(second)
    both = [key for key in one if key in other]
    if not both:
        raise TraceError("bad_option", say("The two files have no call in common."))
    names = [
        sorted({str(row["here"]["device"]) for row in found.values()}) for found in (one, other)
    ]
    yield f"A: {', '.join(names[0])}   B: {', '.join(names[1])}"
    yield f"{'A us':>12} {'B us':>12} {'B / A':>8}  {'numbers':9} operator"
    for key in sorted(both, key=lambda k: -one[k]["here"]["ns"]):
        yield _line(one[key], other[key])
    alone = len(one) + len(other) - 2 * len(both)
    if alone:
        yield f"{alone} calls are in one of the files only."


def _by_call(text: str) -> dict[str, dict[str, Any]]:
    found = {}
    try:
        for line in filter(None, text.splitlines()):
            row = json.loads(line)
            _line(row, row)  # it has all that a line needs
            found[json.dumps([row["operator"], row["inputs"]])] = row
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        message = say("This is no file that the scripts wrote with --json.")
        raise TraceError("bad_option", message) from None
    return found


def _line(one: dict[str, Any], other: dict[str, Any]) -> str:
    a, b = one["here"], other["here"]
    tensors = (given for given in one["inputs"] if "tensor" in given)
    sizes = " ".join(f"{tensor['dtype']}{tensor['tensor']}" for tensor in tensors)
    ratio = f"{b['ns'] / a['ns']:8.3f}"
    return f"{_time(a)} {_time(b)} {ratio}  {_verdict(a, b):9} {one['operator']} {sizes}"


def _time(here: dict[str, Any]) -> str:
    """Return microseconds; ``<`` where the host was the limit, not the device."""
    return f"{'<' if here.get('host_bound') else ''}{here['ns'] / 1e3:.4g}".rjust(12)


def _verdict(*both: dict[str, Any]) -> str:
    found = [here["agree"] for here in both]
    return "differ" if False in found else "unknown" if None in found else "agree"
