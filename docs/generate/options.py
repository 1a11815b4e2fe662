"""Build the tables of the views' and lookups' options from their signatures."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

from docs.generate.sections import between, table
from tb_privateuse1.lookups import LOOKUPS
from tb_privateuse1.schema import query_of
from tb_privateuse1.views import VIEWS

_BEGIN, _END = "<!-- options: generated -->\n", "<!-- end of options -->\n"


def with_options(document: str) -> str:
    """Return docs/reference/http.md with the current options."""
    return between(document, _BEGIN, "".join(_tables()), _END)


def _tables() -> Iterator[str]:
    for title, registry in (("Views", VIEWS), ("Lookups", LOOKUPS)):
        rows = [
            (
                f"`{name}`",
                f"`{key}`",
                _kind(hint),
                "" if default in (None, "") else f"`{_value(default)}`",
            )
            for name, view in registry.items()
            for key, hint, default in query_of(view)
        ]
        yield f"\n### {title}\n\n{table((title[:-1].lower(), 'option', 'value', 'default'), rows)}"
    yield "\n"


def _kind(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_kind(a) for a in typing.get_args(hint) if a is not types.NoneType)
    if origin is typing.Literal:
        return ", ".join(f"`{a}`" for a in typing.get_args(hint))
    return {int: "whole number", float: "number", str: "text", bool: "`true`, `false`"}[hint]


def _value(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
