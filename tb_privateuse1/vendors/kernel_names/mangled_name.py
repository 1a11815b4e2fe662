"""Demangle C++ names of the Itanium ABI.

``_ZN5aiter6kernelIfLi4EEEvPf`` is ``aiter::kernel<float, 4>``. Only names, template arguments and
numbers are read. Parameters, substitutions and expressions are left out.
https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling
"""

from __future__ import annotations

import re

from tb_privateuse1.vendors.kernel_names.cpp_name import ELLIPSIS, NamePart

_BUILTIN = {
    "v": "void",
    "b": "bool",
    "c": "char",
    "a": "schar",
    "h": "uchar",
    "s": "short",
    "t": "ushort",
    "i": "int",
    "j": "uint",
    "l": "long",
    "m": "ulong",
    "x": "llong",
    "y": "ullong",
    "f": "float",
    "d": "double",
    "Dh": "half",
    "DF16_": "half",
    "DF16b": "bfloat16",
}
_UNREAD = NamePart(ELLIPSIS, namespaces=("std",))


def demangle(name: str) -> NamePart | None:
    """Return the function of a mangled name, as far as it is understood; None if it is not."""
    reader = _Reader(name.removesuffix(".kd")[2:])
    try:
        return reader.name()
    except ValueError:
        return None if reader.own is None else NamePart(reader.own, (_UNREAD,))


class _Reader:
    """Reads a mangled name from the left; raises ValueError at what it does not know."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self.own: str | None = None
        """The function's name, also if its arguments are not understood."""

    def name(self) -> NamePart:
        """Return a nested or a plain name with its template arguments."""
        if not self._take(r"N[rVK]*"):
            return self._with_arguments(self._source())
        own, path = _UNREAD, []
        while not self._take("E"):
            if self._take(r"S[0-9A-Z]*_|S[abdiost]|T[0-9]*_|[CD][0-9]"):
                own = self._with_arguments(ELLIPSIS)
            else:
                own = self._with_arguments(self._source())
            path.append(own.name)
        if own.name == ELLIPSIS:
            return _UNREAD
        return NamePart(own.name, own.args, namespaces=tuple(path[:-1]))

    def _with_arguments(self, name: str) -> NamePart:
        if self._depth == 0:
            self.own = name
        return NamePart(name, tuple(self._arguments()) if self._peek("I") else None)

    def _arguments(self) -> list[NamePart]:
        found: list[NamePart] = []
        self._depth += 1
        self._take("[IJ]")
        while not self._take("E"):
            if self._peek("J"):
                found += self._arguments()
            else:
                found.append(self._argument())
        self._depth -= 1
        return found

    def _argument(self) -> NamePart:
        if self._take("[PRKOV]+"):
            self._argument()
            return _UNREAD
        if self._take("L"):
            return self._literal()
        if self._take(r"S[0-9A-Z]*_|T[0-9]*_"):
            if self._peek("I"):
                self._arguments()
            return _UNREAD
        builtin = self._take(r"DF16[_b]|Dh|[vbcahstijlmxyfd]")
        return NamePart(_BUILTIN[builtin]) if builtin else self.name()

    def _literal(self) -> NamePart:
        """Return ``Li4E``, ``Lb1E`` or ``LN1a4EnumE3E``."""
        kind = self._argument()
        value = self._take(r"n?[0-9]+")
        if not value or not self._take("E"):
            raise ValueError
        if kind.name == "bool":
            return NamePart("true" if value == "1" else "false")
        return NamePart(value.replace("n", "-"))

    def _source(self) -> str:
        """Return ``mydog`` of ``5mydog``."""
        length = int(self._take("[0-9]+") or 0)
        name = self._text[self._at : self._at + length]
        if not length or len(name) != length:
            raise ValueError
        self._at += length
        return name

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, pattern: str) -> str:
        found = re.compile(pattern).match(self._text, self._at)
        if not found:
            return ""
        self._at = found.end()
        return found[0]
