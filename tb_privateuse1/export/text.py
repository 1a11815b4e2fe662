"""A view's result for a terminal: facts, then tables, then where the figures come from.

Names from a trace may hold anything: control characters are shown as escapes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from tb_privateuse1.trace import Finding

_MOST_ROWS = 40
_SHARES = ("share", "utilisation")
_TIMES = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def render(result: Any, width: int | None = None) -> str:
    """The text of a result; lines are cut to ``width`` columns, if given."""
    fields = [field.name for field in dataclasses.fields(result)]
    fields.sort(key=lambda name: (_is_block(getattr(result, name)), name == "provenance"))
    lines = [line for name in fields for line in _field(name, getattr(result, name))]
    cut = [line[: width - 1] + "…" if width and len(line) > width else line for line in lines]
    return "\n".join(cut).strip("\n") + "\n"


def _is_block(value: Any) -> bool:
    return dataclasses.is_dataclass(value) or isinstance(value, tuple)


def _field(name: str, value: Any) -> Iterator[str]:
    title = name.removesuffix("_ns").removesuffix("_bytes").replace("_", " ")
    if dataclasses.is_dataclass(value):
        yield from ("", title)
        for field in dataclasses.fields(value):
            for line in _field(field.name, getattr(value, field.name)):
                yield f"  {line}".rstrip()
    elif isinstance(value, tuple) and value and isinstance(value[0], Finding):
        yield f"{title}:"
        for finding in value:
            yield plain(f"  {finding.message} {finding.hint or ''}").rstrip()
    elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        yield from ("", title)
        yield from _table(value)
    elif isinstance(value, tuple):
        yield f"{title}: {', '.join(plain(str(v)) for v in value) or 'none'}"
    else:
        yield f"{title}: {_cell(name, value)}"


def _table(rows: Sequence[Any]) -> Iterator[str]:
    names = [field.name for field in dataclasses.fields(rows[0])]
    heads = [n.removesuffix("_ns").removesuffix("_bytes").replace("_", " ") for n in names]
    cells = [[_cell(n, getattr(row, n)) for n in names] for row in rows[:_MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    numbers = [not isinstance(getattr(rows[0], n), str) for n in names]
    for line in [heads, ["-" * w for w in widths], *cells]:
        padded = [
            cell.rjust(w) if number else cell.ljust(w)
            for cell, w, number in zip(line, widths, numbers, strict=True)
        ]
        yield "  ".join(padded).rstrip()
    if len(rows) > _MOST_ROWS:
        yield f"… and {len(rows) - _MOST_ROWS} more rows: --csv or --json has all of them"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_ns") and isinstance(value, int):
        return _scaled(value, _TIMES, "ns")
    if name.endswith("bytes") and isinstance(value, int):
        return _scaled(value, _SIZES, "B")
    if name in _SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.4g}" if isinstance(value, float) else plain(str(value))


def _scaled(value: int, units: Sequence[tuple[str, int]], smallest: str) -> str:
    for unit, size in units:
        if abs(value) >= size:
            return f"{value / size:.3f} {unit}"
    return f"{value} {smallest}"


def plain(text: str) -> str:
    """Nothing in a name may move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
