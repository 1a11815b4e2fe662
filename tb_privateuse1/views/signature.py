"""Read a view's inputs and options from its function signature, for HTTP, CLI and Python."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from tb_privateuse1.trace.model import Trace

_View = TypeVar("_View", bound=Callable[..., Any])

_KINDS = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    typing.Literal: "choice",
}
_VIEWS = 128
"""Views whose signature is remembered, more than there are: each poll asks for it."""


def reduces(reduction: Callable[[Trace], Any]) -> Callable[[_View], _View]:
    """Declare how a view of ``ranks`` or ``recordings`` reduces each trace to a ``part``.

    Views with the same reduction share its results.
    """

    def declare(view: _View) -> _View:
        vars(view)["reduction"] = reduction
        return view

    return declare


def heavy(view: _View) -> _View:
    """Declare that a view takes seconds and much memory: few of them run at a time."""
    vars(view)["heavy"] = True
    return view


def reduction_of(view: Callable[..., Any]) -> Callable[[Trace], Any]:
    """Return the reduction that a view of ``ranks`` or ``recordings`` declares."""
    reduction: Callable[[Trace], Any] = vars(view)["reduction"]
    return reduction


def is_heavy(view: Callable[..., Any]) -> bool:
    """Return whether a view is declared ``heavy``."""
    return "heavy" in vars(view)


def sorts_of(view: Callable[..., Any]) -> tuple[str, ...]:
    """Return the columns that a view's rows can be sorted by; none without that option."""
    columns: tuple[str, ...] = vars(view).get("sorts", ())
    return columns


@functools.lru_cache(_VIEWS)
def query_of(view: Callable[..., Any]) -> tuple[tuple[str, Any, Any], ...]:
    """Return name, type and default of each option: the view's keyword-only parameters."""
    hints = typing.get_type_hints(view)
    parameters = inspect.signature(view).parameters.values()
    return tuple((p.name, hints[p.name], p.default) for p in parameters if p.kind is p.KEYWORD_ONLY)


@functools.lru_cache(_VIEWS)
def reads_of(view: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a view's inputs: its positional parameters."""
    parameters = inspect.signature(view).parameters.values()
    return tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)


def options_of(view: Callable[..., Any]) -> list[dict[str, Any]]:
    """Return name, kind, choices, default and help of each option, as values of JSON."""
    hints = typing.get_type_hints(view, include_extras=True)
    described = []
    for name, hint, default in query_of(view):
        (kind,) = {hint, *typing.get_args(hint)} & _KINDS.keys() or {typing.Literal}
        described.append(
            {
                "name": name,
                "kind": _KINDS[kind],
                "choices": typing.get_args(hint) if kind is typing.Literal else None,
                "required": default is inspect.Parameter.empty,
                "default": None if default is inspect.Parameter.empty else default,
                "help": "".join(getattr(hints[name], "__metadata__", ())),
            }
        )
    return described
