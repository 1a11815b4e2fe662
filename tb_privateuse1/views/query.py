"""A question in words -> a view's result: shared by routes, command line and Python interface.

What a view reads and asks for is in its signature (``schema.reads_of``, ``schema.query_of``).
"""

from __future__ import annotations

import struct
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1 import i18n
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.base import Rule
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import LANGUAGES, say
from tb_privateuse1.storage import derived
from tb_privateuse1.storage import event_record as events
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views.lookups import LOOKUPS


def view_named(name: str) -> Callable[..., Any]:
    """The view or lookup of a name. Raises TraceError ``unknown_view``."""
    found = VIEWS.get(name) or LOOKUPS.get(name)
    if found is None:
        message = say("There is no view {name!r}.", name=name)
        hint = say("There are: {names}.", names=", ".join((*VIEWS, *LOOKUPS)))
        raise TraceError("unknown_view", message, hint)
    return found


def reject_unknown(what: str, given: Iterable[str], allowed: Sequence[str]) -> None:
    """Raises TraceError ``unknown_option`` for the first given name that is not allowed."""
    if unknown := [name for name in given if name not in allowed]:
        message = say("{what} has no option {unknown!r}.", what=what, unknown=unknown[0])
        hint = say("It has: {names}.", names=", ".join(allowed) or say("none"))
        raise TraceError("unknown_option", message, hint)


def parse_options(view: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """A view's keyword arguments from the query's texts; absent ones keep their default.

    Raises TraceError ``unknown_option`` or ``bad_option``.
    """
    known = {name: hint for name, hint, _ in signature.query_of(view)}
    reject_unknown(view.__name__, texts, list(known))
    return {name: parse_value(name, text, known[name]) for name, text in texts.items()}


def parse_whole(name: str, text: str | None) -> int | None:
    """A number of the selection (rank, span). Raises TraceError ``bad_option``."""
    return None if text is None else typing.cast(int, parse_value(name, text, int))


def run_view(
    view: Callable[..., Any],
    trace: Trace,
    asked: Mapping[str, Any],
    rules: Sequence[Rule] = RULES,
) -> Any:
    """The result of a view of one trace, of what is prepared of it, and of rules."""
    ready = derived.of(trace)
    names = signature.reads_of(view)
    sources = [rules if name == "rules" else getattr(ready, name) for name in names]
    return view(*sources, **asked)


def run_event(
    store: Store, files: TraceFiles, texts: Mapping[str, str], wait_s: float | None = None
) -> events.EventRecord:
    """The event that a query's texts name by ``table`` and ``row``.

    Raises TraceError ``unknown_option`` or ``bad_option``, and what ``event.event`` does.
    """
    asked = parse_options(events.read_record, texts)
    for name, _, _ in signature.query_of(events.read_record):
        if name not in asked:
            raise TraceError(
                "bad_option", say("An event has a table and a row: {name} is missing.", name=name)
            )
    return events.read_record(store, files, wait_s, **asked)


def encode(result: Any, language: str = LANGUAGES[0]) -> bytes:
    """The JSON of any result: the same bytes over HTTP and on the command line."""

    def plain(value: Any) -> Any:
        return i18n.render(value, language) if isinstance(value, str) else value.tolist()

    return msgspec.json.encode(result, enc_hook=plain)


def encode_columns(result: Any, language: str = LANGUAGES[0]) -> bytes | None:
    """A result with its columns of numbers as they are in memory; None if it has none.

    ``uint32`` length of the JSON, JSON, padding to 8 bytes, columns. In the JSON a column is
    ``{"$column": [dtype, offset behind the padding, length]}``; all is little-endian.
    """
    columns: list[bytes] = []
    size = 0

    def column(values: Any) -> dict[str, Any] | str:
        nonlocal size
        if isinstance(values, str):
            return i18n.render(values, language)
        little = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
        place = [values.dtype.name, size, len(values)]
        columns.append(little + bytes(-len(little) % 8))
        size += len(columns[-1])
        return {"$column": place}

    head = msgspec.json.encode(result, enc_hook=column)
    if not columns:
        return None
    padding = bytes(-(4 + len(head)) % 8)
    return b"".join((struct.pack("<I", len(head)), head, padding, *columns))


def parse_value(name: str, text: str, hint: Any) -> Any:
    """Return the value of an option of this type. Raises TraceError ``bad_option``."""
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    if choices:
        if text in choices:
            return text
        message = say(
            "{name} must be one of {names}, not {text!r}.",
            name=name,
            names=", ".join(choices),
            text=text,
        )
        raise TraceError("bad_option", message)
    if isinstance(hint, types.UnionType):
        (hint,) = (h for h in typing.get_args(hint) if h is not type(None))
        return parse_value(name, text, hint)
    if hint is int and text.isascii() and text.removeprefix("-").isdigit() and len(text) < 19:
        return int(text)
    if hint is bool and text in ("true", "false"):
        return text == "true"
    if hint is float:
        try:
            return float(text)
        except ValueError:
            pass
    if hint is str:
        return text
    kinds = {int: say("a whole number"), bool: say("true or false"), float: say("a number")}
    kind = kinds.get(hint, hint)
    message = say("{name} must be {kind}, not {text!r}.", name=name, kind=kind, text=text)
    raise TraceError("bad_option", message)
