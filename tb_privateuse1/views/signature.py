"""Read from a view's signature what it reads and which options it takes."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

_KINDS = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    typing.Literal: "choice",
}


def query_of(view: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Name, type and default of each keyword-only parameter of a view."""
    hints = typing.get_type_hints(view)
    parameters = inspect.signature(view).parameters.values()
    return [(p.name, hints[p.name], p.default) for p in parameters if p.kind is p.KEYWORD_ONLY]


def reads_of(view: Callable[..., Any]) -> tuple[str, ...]:
    """What a view reads: the names of its positional parameters."""
    parameters = inspect.signature(view).parameters.values()
    return tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)


def options_of(view: Callable[..., Any]) -> list[dict[str, Any]]:
    """Name, kind, choices, default and help of each option, as JSON has them."""
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
