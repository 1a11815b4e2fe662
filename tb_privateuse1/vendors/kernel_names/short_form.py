"""Shorten C++ kernel names of no known family: as many template arguments as fit.

Class names among these stay longest, as a functor is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from tb_privateuse1.vendors.kernel_names.cpp_name import ELLIPSIS, NamePart

MOST = 60
"""Characters that fit into a column of names."""


def short_form(part: NamePart) -> str:
    """Return the longest form that fits: numbers go first, then arguments of arguments."""
    if not part.classes:
        forms: tuple[Callable[[], str], ...] = (lambda: _whole(part),)
    else:
        inner = replace(part, args=tuple(_adapted(arg) for arg in part.args or ()))
        forms = (
            lambda: _whole(part),
            lambda: _without_plain(part),
            lambda: _without_plain(inner),
            lambda: _text(inner, (ELLIPSIS if arg.plain else arg.name for arg in inner.args or ())),
        )
    texts = (form() for form in forms)
    return next((text for text in texts if len(text) <= MOST), None) or _first_arguments(part)


def _adapted(part: NamePart) -> NamePart:
    """Return an argument without the adapters around it: templates with one other template."""
    inner = part.classes
    return _adapted(inner[0]) if len(inner) == 1 else part


def _whole(part: NamePart) -> str:
    return _text(part, map(_whole, part.args or ()))


def _without_plain(part: NamePart) -> str:
    return _text(part, (ELLIPSIS if a.plain else _without_plain(a) for a in part.args or ()))


def _first_arguments(part: NamePart) -> str:
    """Return it with the first arguments, as many as fit, at least one class or number."""
    classes = any(not arg.plain for arg in part.args or ())
    shown = [
        ELLIPSIS if classes and arg.plain else _text(arg, (ELLIPSIS,) if arg.args else ())
        for arg in part.args or ()
    ]
    least = next((i + 1 for i, arg in enumerate(shown) if arg != ELLIPSIS), 0)
    for count in range(len(shown) - 1, least, -1):
        fitting = _text(part, [*shown[:count], ELLIPSIS])
        if len(fitting) <= MOST:
            return fitting
    return _text(part, [*shown[:least], ELLIPSIS])


def _text(part: NamePart, shown: Iterable[str]) -> str:
    merged: list[str] = []
    for one in shown:
        if one != ELLIPSIS or merged[-1:] != [ELLIPSIS]:
            merged.append(one)
    return f"{part.name}<{', '.join(merged)}>" if merged else part.name
