"""The base of results: their tables, for CSV, Arrow and pandas, and the provenance of figures.

A table is a field that is a tuple of Structs. The main table is ``rows``; of a result without
it (overview), the first one that holds times: the steps.
"""

from __future__ import annotations

import html
import types
import typing
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec
from msgspec import Struct, field

from tb_privateuse1.analysis.recording.window import Window, WindowFacts
from tb_privateuse1.i18n.units import bounds, plain_text, title, with_bound
from tb_privateuse1.storage import file_identity
from tb_privateuse1.trace import device_times
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Timeline, Trace
from tb_privateuse1.trace.version import VERSION

if TYPE_CHECKING:
    import pandas
    import pyarrow

_SHOWN = 20


class Provenance(Struct, frozen=True):
    """The sources of a result's figures; part of every result."""

    timeline: Timeline
    """``measured`` by a device profiler, ``inferred`` from elapsed times, or ``none``: no device
    times at all."""
    missing_streams: tuple[str, ...]
    """The streams whose work has no times, while that of others has: sums of device times are lower
    bounds without an error bound, and idle times upper ones."""
    files: tuple[str, ...]
    warnings: tuple[Finding, ...]
    version: str = VERSION
    build: str = field(default_factory=file_identity.build_digest)
    """A digest of the program's sources: the same build gives the same figures."""
    window: WindowFacts | None = None
    """The part of the recording that the figures are about, also where it is all of it; null of
    several recordings."""


def provenance(trace: Trace, window: Window | None = None) -> Provenance:
    """Return the provenance of a result that reads one trace."""
    meta = trace.meta
    missing = device_times.missing_streams(trace)
    facts = None if window is None else window.facts
    return Provenance(meta.timeline, missing, meta.files, meta.findings, window=facts)


class Result(Struct, frozen=True):
    """The base of every view's result."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the names of its tables."""
        return tuple(tables(type(self)))

    def to_arrow(self, table: str | None = None) -> pyarrow.Table:
        """Return one of its tables as Arrow, with the field names as columns.

        Numbers are int64 or float64 in the units of their names, missing ones are null. The
        schema's metadata ``tb_privateuse1`` is the provenance as JSON. Raises TraceError
        ``no_table`` or ``unknown_table``.
        """
        import pyarrow

        name, row = tables_of(type(self), table)
        kinds = {field: _arrow(hint) for field, hint in typing.get_type_hints(row).items()}
        rows = [_plain(one) for one in getattr(self, name)]
        columns = {
            field: pyarrow.array([one[field] for one in rows], kind)
            for field, kind in kinds.items()
        }
        source = msgspec.json.encode(getattr(self, "provenance", None), enc_hook=str)
        schema = pyarrow.schema(list(kinds.items()), {"tb_privateuse1": source})
        return pyarrow.table(columns, schema=schema)

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """Return one of its tables as a data frame; missing numbers are ``NA``, times integers.

        Raises ImportError without pandas, else as ``to_arrow``.
        """
        try:
            import pandas
        except ImportError:
            message = "to_pandas needs pandas, which is not installed; to_arrow does without it"
            raise ImportError(message, name="pandas") from None
        import pyarrow

        whole = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.bool_(): pandas.BooleanDtype()}
        return self.to_arrow(table).to_pandas(types_mapper=whole.get)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: its facts, and the first rows of its tables."""
        return "".join(_blocks(self))


def tables(result: type[Any]) -> dict[str, type[Any]]:
    """Return the tables of a result class and the Struct of their rows."""
    hints = typing.get_type_hints(result)
    return {
        name: kind
        for name in result.__struct_fields__
        if typing.get_origin(hints[name]) is tuple
        and is_struct(kind := typing.get_args(hints[name])[0])
    }


def tables_of(result: type[Any], table: str | None = None) -> tuple[str, type[Any]]:
    """Return the table of a name, or the main one, and the Struct of its rows.

    Raises TraceError ``no_table`` or ``unknown_table``.
    """
    found = tables(result)
    if table is not None:
        if table not in found:
            message = f"{result.__name__} has no table {table!r}."
            raise TraceError("unknown_table", message, f"It has: {', '.join(found) or 'none'}.")
        return table, found[table]
    timed = [n for n, kind in found.items() if any(f.endswith("_ns") for f in _fields(kind))]
    for name in [n for n in found if n == "rows"] + timed:
        return name, found[name]
    raise TraceError("no_table", f"{result.__name__} has no table.", "Use JSON.")


def _fields(kind: Any) -> tuple[str, ...]:
    fields: tuple[str, ...] = kind.__struct_fields__
    return fields


def is_struct(hint: Any) -> TypeGuard[type[Struct]]:
    """Return whether a type is that of a row or of another part of a result."""
    return isinstance(hint, type) and issubclass(hint, Struct)


def _plain(value: Any) -> Any:
    """Return a value in types that Arrow takes."""
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in _fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _arrow(hint: Any) -> pyarrow.DataType:
    import pyarrow

    plain = {int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    if hint in plain:
        return plain[hint]
    if is_struct(hint):
        hints = typing.get_type_hints(hint)
        return pyarrow.struct([(name, _arrow(hints[name])) for name in _fields(hint)])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (hint,) = (h for h in arguments if h is not type(None))
        return _arrow(hint)
    if origin is tuple:
        return pyarrow.list_(_arrow(arguments[0]))
    return pyarrow.string()


def _blocks(result: Any) -> Iterator[str]:
    yield f"<b>{html.escape(type(result).__name__)}</b>"
    yield _html((), list(_facts(result)))
    for name in tables(type(result)):
        rows = getattr(result, name)
        columns = _fields(rows[0]) if rows else ()
        of = bounds(columns)
        columns = tuple(c for c in columns if c not in of.values())
        cells = [[_cell(row, c, of.get(c)) for c in columns] for row in rows[:_SHOWN]]
        more = f": the first {_SHOWN} of {len(rows):,}" if len(rows) > _SHOWN else ""
        yield f"<p>{html.escape(title(name))}{more if rows else ': none'}</p>"
        yield _html([title(c) for c in columns], cells)


def _cell(row: Any, name: str, bound: str | None) -> str:
    value = getattr(row, name)
    if isinstance(value, tuple):
        return plain_text(", ".join(map(str, value))) if _are_plain(value) else str(len(value))
    return with_bound(row, name, bound)


def _are_plain(values: tuple[Any, ...]) -> bool:
    return not any(isinstance(value, Struct) for value in values)


def _facts(result: Any, of: str = "") -> Iterator[tuple[str, str]]:
    bound = bounds(_fields(result))
    for name in _fields(result):
        value = getattr(result, name)
        if name in bound.values():
            continue
        if isinstance(value, Struct):
            yield from _facts(value, f"{title(name)}: ")
        elif isinstance(value, tuple):
            for finding in value:
                if isinstance(finding, Finding):
                    yield of + title(name), plain_text(f"{finding.message} {finding.hint or ''}")
        else:
            yield of + title(name), with_bound(result, name, bound.get(name))


def _html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with all cells escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        inside = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
        return f"<tr>{inside}</tr>"

    head = f"<thead>{line(heads, 'th')}</thead>" if heads else ""
    return f"<table>{head}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"
