"""Text report of a view's result for a terminal: facts, tables, provenance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import (
    bounds,
    plain_text,
    ranges,
    title,
    with_bound,
    with_range,
    with_unit,
)
from tb_privateuse1.trace.findings import Finding

_MOST_ROWS = 40


def text_report(result: Any, width: int | None = None) -> str:
    """Return the text of a result; lines are cut to ``width`` columns, if given."""
    fields = sorted(
        result.__struct_fields__,
        key=lambda name: (_is_block(getattr(result, name)), name == "provenance"),
    )
    recording = getattr(result, "recording", None)
    first = [] if recording is None else [recording.sentence, recording.hint]
    first += [*_missing(result), *_window(result)]
    first += [""] if first else []
    lines = [*map(plain_text, filter(None, first)), *_fields(result, fields)]
    cut = [line[: width - 1] + "…" if width and len(line) > width else line for line in lines]
    return "\n".join(cut).strip("\n") + "\n"


def _missing(result: Any) -> list[str]:
    """Return the sentence on streams that no figure of the device has."""
    streams = getattr(getattr(result, "provenance", None), "missing_streams", ())
    if not streams:
        return []
    return [
        say(
            "Times of the device are lower bounds, idle times upper bounds: the work of {streams} "
            "has no times.",
            streams=", ".join(streams),
        )
    ]


def _window(result: Any) -> list[str]:
    """Return what part of the recording the figures are about."""
    window = getattr(getattr(result, "provenance", None), "window", None)
    return [] if window is None else [say("Window: {text}", text=window.text)]


def _is_block(value: Any) -> bool:
    return isinstance(value, Struct | tuple)


def _fields(row: Any, names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of all fields; bounds and ranges stand beside their figures."""
    bound_of, range_of = bounds(names), ranges(names)
    beside = {*bound_of.values(), *(limit for both in range_of.values() for limit in both)}
    for name in names:
        if name in bound_of:
            yield f"{title(name)}: {with_bound(row, name, bound_of[name])}"
        elif name in range_of:
            yield f"{title(name)}: {with_range(row, name, range_of[name])}"
        elif name not in beside:
            yield from _field(name, getattr(row, name))


def _field(name: str, value: Any) -> Iterator[str]:
    head = title(name)
    if isinstance(value, Struct):
        yield from ("", head)
        names = value.__struct_fields__
        for line in _fields(value, names):
            yield f"  {line}".rstrip()
    elif isinstance(value, tuple) and value and isinstance(value[0], Finding):
        yield f"{head}:"
        for finding in value:
            grave = "" if finding.severity == "warning" else f"{finding.severity}: "
            yield plain_text(f"  {grave}{finding.message} {finding.hint or ''}").rstrip()
            for e in finding.examples:
                place = f"{e.table} {e.row}: {e.name}, {e.thread}, at {e.start_ns:,} ns"
                yield plain_text(f"    {place}{f', {e.note}' if e.note else ''}")
    elif isinstance(value, tuple) and value and isinstance(value[0], Struct):
        yield from ("", head)
        yield from _table(value)
    elif name == "record" and isinstance(value, str):
        yield f"{head}:"
        yield from (f"  {plain_text(line)}" for line in value.split("\n"))
    elif isinstance(value, tuple):
        yield f"{head}: {', '.join(plain_text(str(v)) for v in value) or 'none'}"
    else:
        yield f"{head}: {with_unit(name, value)}"


def _table(rows: Sequence[Any]) -> Iterator[str]:
    names = rows[0].__struct_fields__
    bound_of = bounds(names)
    names = [name for name in names if name not in bound_of.values()]
    heads = [title(n) for n in names]
    cells = [[with_bound(row, n, bound_of.get(n)) for n in names] for row in rows[:_MOST_ROWS]]
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
