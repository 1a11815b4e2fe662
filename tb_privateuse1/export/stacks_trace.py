"""Make a Chrome trace of collapsed stacks: its ranges are as long as the sums of their stacks.

A line is ``frame;frame;frame count``, frames from the outermost on, as torch's ``export_stacks``,
flamegraph.pl and this package write them. The file has sums, and no order: the ranges follow one
another as the file lists them, so that the flame graph is right, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.step_names import PREFIX

UNITS: Mapping[str, float] = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "samples": 1e3}
"""The us of a count. A sample has no length of its own: it is drawn as a millisecond."""
_MOST_FRAMES = 2_000
"""A deeper stack is damage: Python itself ends at 1,000 by default."""
_STEP = f"{PREFIX}0"
"""The range around all: the window of all figures is then the whole sum."""


class _Node(Struct, eq=False):
    """A frame below the same frames, with the count that is its own."""

    own: int = 0
    inside: dict[str, _Node] = field(default_factory=dict)


def trace_of_stacks(lines: Iterable[str], unit: str) -> dict[str, Any]:
    """Return the trace as a document of JSON; ``unit`` is one of ``UNITS``.

    Raises TraceError ``not_stacks`` with the line that is none, or for a file without any.
    """
    root = _Node()
    for number, line in enumerate(lines, 1):
        if line.strip():
            _add(root, line, number)
    if not root.inside:
        raise TraceError("not_stacks", say("The file has no stacks."))
    events = list(_events(root, UNITS[unit]))
    return {"schemaVersion": 1, "stacks": unit, "traceEvents": events}


def _add(root: _Node, line: str, number: int) -> None:
    stack, _, count = line.strip().rpartition(" ")
    names = [name.strip() for name in stack.split(";")]
    if not count.isdecimal() or len(count) > 18 or not all(names) or len(names) > _MOST_FRAMES:
        message = say("Line {number} is no stack with a count.", number=number)
        raise TraceError("not_stacks", message, say("A line is frame;frame;frame 123."))
    node = root
    for name in names:
        node = node.inside.setdefault(name, _Node())
    node.own += int(count)


def _events(root: _Node, us: float) -> Iterator[dict[str, Any]]:
    """Yield a range for each frame, around those inside, its own time behind them."""
    totals = _totals(root)
    at = 0
    pending: list[tuple[str, _Node, int]] = [(_STEP, root, 0)]
    while pending:
        name, node, start = pending.pop()
        category = "user_annotation" if node is root else "python_function"
        yield {
            "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1,
            "ts": start * us, "dur": totals[id(node)] * us,
        }  # fmt: skip
        at = start
        for inner, child in node.inside.items():
            pending.append((inner, child, at))
            at += totals[id(child)]


def _totals(root: _Node) -> dict[int, int]:
    """Return the count of each frame with those inside, by identity."""
    order = [root]
    for node in order:
        order += node.inside.values()
    totals: dict[int, int] = {}
    for node in reversed(order):
        totals[id(node)] = node.own + sum(totals[id(child)] for child in node.inside.values())
    return totals
