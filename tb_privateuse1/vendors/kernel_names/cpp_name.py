"""Parse a C++ name for a short form: functions, template arguments and lambdas.

``void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>, …>(int, …)`` has
the function ``vectorized_elementwise_kernel``. Return types and parameters are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

ELLIPSIS = "…"
_CPP = re.compile(r"void [\w:(<]|[\w:]+::[^.]*\(|.*[\w>]<[^<>]")
_CLONE = re.compile(r"(\s*\[clone [^\]]*\]|\.kd|\s*\(\.\w+\))+$")
_TOKEN = re.compile(r"::|[<>(){}\[\],]|\s+|[^\s<>(){}\[\],:]+|:")
_PAIRS = {"(": ")", "{": "}", "[": "]"}
_ANONYMOUS = re.compile(r"([({\[].*|operator\W*|)$")
_PLAIN = re.compile(
    r"([-(\d].*|true|false|nullptr|void|bool|u?s?char|u?short|u?int|u?long|u?llong|float|double)$"
)
_LAMBDA = re.compile(r"[{\[]lambda\(([^()]*)\)")
_CLEAN = (
    (re.compile(r"\s*\b(const|volatile)\b"), ""),
    (re.compile(r"\b(un)?signed (?=(long|int|char|short)\b)"), lambda m: "u" if m[1] else ""),
    (re.compile(r"\b(u?)long long( int)?\b"), r"\1llong"),
    (re.compile(r"\b(u?)(long|short) int\b"), r"\1\2"),
    (re.compile(r"\bunsigned\b"), "uint"),
    (re.compile(r"\boperator \(\)"), "operator()"),
    (re.compile(r"(?<=[<(,]) +| +(?=[:>*&,)])"), ""),
)


class NamePart(Struct, frozen=True):
    """A function or a type, without its namespaces."""

    name: str
    args: tuple[NamePart, ...] | None = None
    """Template arguments; empty of a function without any, None of another type."""
    namespaces: tuple[str, ...] = ()
    """What it is inside of, the outermost first: ``std``."""
    parameters: str = ""
    """The types that its innermost lambda takes: ``c10::BFloat16, float``."""
    pointer: bool = False

    @property
    def plain(self) -> bool:
        """Return whether it is a number, a pointer or a type of the language or its library."""
        return (
            self.pointer or self.namespaces[:1] == ("std",) or _PLAIN.match(self.name) is not None
        )

    @property
    def classes(self) -> tuple[NamePart, ...]:
        """Return the arguments that are templates or functions."""
        return tuple(one for one in self.args or () if not one.plain and one.args is not None)

    def inside(self) -> Iterator[NamePart]:
        """Yield it and all arguments, the outer ones first."""
        level: tuple[NamePart, ...] = (self,)
        while level:
            yield from level
            level = tuple(arg for one in level for arg in one.args or ())


def read_cpp(name: str) -> NamePart | None:
    """Return the function of a signature or of a template's instance; None of any other name."""
    text = _CLONE.sub("", name)
    if not _CPP.match(text) or text[-1] not in ")>":
        return None
    for pattern, new in _CLEAN:
        text = pattern.sub(new, text)
    try:
        return _function(_Reader(text).spaced())
    except (IndexError, ValueError):
        return None


def _function(found: list[NamePart]) -> NamePart | None:
    """Return the first part behind the return type that has parameters, or the last one."""
    called = (one for one in found[1:] if one.args is not None)
    part = next(called, found[-1]) if found else None
    return part if part and part.name else None


class _Reader:
    """Reads tokens from the left. Raises ValueError if brackets do not match."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def spaced(self) -> list[NamePart]:
        """Return the parts up to a comma, a closing bracket or the end."""
        found = []
        while (token := self._peek()) not in (",", ">", ""):
            if token.isspace():
                self._at += 1
            else:
                found.append(self._path())
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _path(self) -> NamePart:
        """Return the last part of a path that has a name of its own."""
        pieces = [NamePart("")]
        while (token := self._peek()) not in (",", ">", "") and not token.isspace():
            last = pieces[-1]
            if token == "::":
                pieces.append(NamePart(""))
                self._at += 1
            elif token == "<":
                pieces[-1] = replace(last, args=self._arguments())
            elif token in _PAIRS:
                raw = self._balanced()
                if not last.name:
                    pieces[-1] = replace(last, name=raw)
                elif last.name == "operator":
                    pieces[-1] = replace(last, name="operator()")
                elif last.args is None:
                    pieces[-1] = replace(last, args=())
            else:
                pieces[-1] = replace(last, name=last.name + token)
                self._at += 1
        return _own(pieces)

    def _arguments(self) -> tuple[NamePart, ...]:
        self._at += 1
        found: list[NamePart] = []
        while self._peek() != ">":
            if not self._peek():
                raise ValueError
            found += self.spaced()[-1:]
            self._at += self._peek() == ","
        self._at += 1
        return tuple(found)

    def _balanced(self) -> str:
        """Return the text of a bracket with its end; a > in it compares and closes nothing."""
        start, expected = self._at, [_PAIRS[self._peek()]]
        while expected:
            self._at += 1
            token = self._tokens[self._at]
            if token in _PAIRS:
                expected.append(_PAIRS[token])
            elif token == expected[-1]:
                expected.pop()
        self._at += 1
        return "".join(self._tokens[start : self._at])


def _own(pieces: list[NamePart]) -> NamePart:
    named = [one for one in pieces if not _ANONYMOUS.match(one.name)]
    own = named[-1] if named else pieces[-1]
    name = own.name.strip("&*.")
    extra = [one.args for one in pieces if one.name == "operator()" and one.args]
    lambdas = [found[1] for one in pieces if (found := _LAMBDA.match(one.name))]
    args = own.args if not (lambdas and own.args is None) else ()
    return NamePart(
        name=name,
        args=(args or ()) + tuple(arg for more in extra for arg in more) if extra else args,
        namespaces=tuple(one.name for one in pieces[: pieces.index(own)] if one in named),
        parameters=lambdas[-1] if lambdas else "",
        pointer=name != own.name and own.name[-1:] in "&*",
    )
