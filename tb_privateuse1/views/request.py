"""A request: a view, the traces it reads, its options, and the caller's deadline.

``parse_request`` makes one from the texts of an HTTP query. The command line and ``api`` have a
``Selection`` at hand and call ``Request`` itself. ``Reader.run`` turns a request into a result.
"""

from __future__ import annotations

import inspect
import time
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.signature import query_of, reads_of

SELECTION = ("run", "rank", "span")
"""The texts of a selection."""
TRACE_QUERY = (*SELECTION, "wait_ms")
"""The texts of every HTTP query of a trace."""
RENAMED = {"calls": "operator_calls", "instances": "kernel_instances"}
"""Views of the last version by their old name, for one release (docs/reference/stability.md)."""
_RENAMED_CHOICES = {("by", "line"): "function"}
"""The same of choices of options."""
_BASE_SELECTION = tuple(f"base_{name}" for name in SELECTION)
_LONGEST_WAIT_MS = 60_000
_PATIENT_MS = 600_000
"""Of a client that says nothing: no request takes a thread of the server for ever."""
_GREATEST = {"limit": 200_000, "points": 20_000}
"""The greatest value of options that an answer's size depends on."""


class Selection(Struct, frozen=True):
    """Which trace: by default the first run, the lowest rank, the latest span."""

    run: str | None = None
    rank: int | None = None
    span: int | None = None


class Request(Struct, frozen=True):
    """A view and all that its result depends on, with options of the types that it declares."""

    view: Callable[..., Any]
    selection: Selection = Selection()
    base: Selection | None = None
    """The trace to compare with, for a view that reads ``base``; None selects the same trace."""
    options: Mapping[str, Any] = field(default_factory=dict)
    deadline_s: float | None = None
    """Of ``time.monotonic``: a result that takes longer raises Pending. None waits."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the view's inputs."""
        return reads_of(self.view)


def parse_request(name: str, texts: Mapping[str, str]) -> Request:
    """Return the request of an HTTP path and query.

    ``base_rank`` and ``base_span`` are by default those of the selection, unless ``base_run`` names
    another run. An answer over HTTP has bounds that the command line and Python do not have.
    Raises TraceError ``unknown_view``, ``unknown_option`` or ``bad_option``.
    """
    view = event_view() if name == "event" else view_named(name)
    query = query_of(view)
    place = (*TRACE_QUERY, *(_BASE_SELECTION if "base" in reads_of(view) else ()))
    reject_unknown(name, texts, [*place, *(key for key, _, _ in query)])
    deadline_s = parse_deadline(texts)
    options = _options(query, texts)
    own = {} if "base_run" in texts else {key: texts[key] for key in SELECTION if key in texts}
    base = own | {key: texts[f"base_{key}"] for key in SELECTION if f"base_{key}" in texts}
    for option, most in _GREATEST.items():
        if options.get(option, 0) > most:
            message = say("{name} must be at most {most:,}.", name=option, most=most)
            raise TraceError("bad_option", message)
    return Request(view, parse_selection(texts), parse_selection(base), options, deadline_s)


def event_view() -> Callable[..., Any]:
    """Return what answers ``event``: it has the options of a view, and reads a file again."""
    from tb_privateuse1.storage.event_record import read_record

    return read_record


def view_named(name: str) -> Callable[..., Any]:
    """Return the view or lookup of a name. Raises TraceError ``unknown_view``."""
    for registry in (VIEWS, LOOKUPS):
        if name in registry:
            return registry[name]
    message = say("There is no view {name!r}.", name=name)
    hint = say("There are: {names}.", names=", ".join((*VIEWS, *LOOKUPS)))
    if name in RENAMED:
        hint = say("It is {name} now.", name=RENAMED[name])
    raise TraceError("unknown_view", message, hint)


def reject_unknown(what: str, names: Iterable[str], allowed: Sequence[str]) -> None:
    """Raise TraceError ``unknown_option`` for the first name that is not allowed."""
    if unknown := [name for name in names if name not in allowed]:
        message = say("{what} has no option {unknown!r}.", what=what, unknown=unknown[0])
        hint = say("It has: {names}.", names=", ".join(allowed) or say("none"))
        raise TraceError("unknown_option", message, hint)


def parse_selection(texts: Mapping[str, str]) -> Selection:
    """Return the selection that texts name. Raises TraceError ``bad_option``."""
    rank, span = (parse_whole(key, texts.get(key)) for key in ("rank", "span"))
    return Selection(texts.get("run"), rank, span)


def parse_deadline(texts: Mapping[str, str]) -> float:
    """Return the deadline of ``wait_ms``, at most a minute from now; without it in ten minutes.

    Raises TraceError ``bad_option``.
    """
    wait_ms = parse_whole("wait_ms", texts.get("wait_ms"))
    allowed_ms = _PATIENT_MS if wait_ms is None else min(max(wait_ms, 0), _LONGEST_WAIT_MS)
    return time.monotonic() + allowed_ms / 1000


def seconds_left(deadline_s: float | None) -> float | None:
    """Return the time until a deadline of ``time.monotonic``, at least 0; None without one."""
    return None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)


def parse_options(view: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a view's keyword arguments; absent ones keep their default.

    Raises TraceError ``unknown_option`` or ``bad_option``.
    """
    query = query_of(view)
    reject_unknown(view.__name__, texts, [name for name, _, _ in query])
    return _options(query, texts)


def _options(query: Sequence[tuple[str, Any, Any]], texts: Mapping[str, str]) -> dict[str, Any]:
    options = {}
    for name, hint, default in query:
        if name in texts:
            options[name] = parse_value(name, texts[name], hint)
        elif default is inspect.Parameter.empty:  # only options of events are required
            message = say("An event has a table and a row: {name} is missing.", name=name)
            raise TraceError("bad_option", message)
    return options


def parse_whole(name: str, text: str | None) -> int | None:
    """Return a whole number; None without a text. Raises TraceError ``bad_option``."""
    return None if text is None else typing.cast(int, parse_value(name, text, int))


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
        new = _RENAMED_CHOICES.get((name, text))
        hint = say("It is {name} now.", name=new) if new in choices else None
        raise TraceError("bad_option", message, hint)
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
