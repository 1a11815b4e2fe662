"""A kernel's name in the parts that the parsers of all families read."""

from __future__ import annotations

import re
from functools import cached_property

from msgspec import Struct

from tb_privateuse1.trace.work_kinds import Kind
from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.cpp_name import NamePart, read_cpp
from tb_privateuse1.vendors.kernel_names.mangled_name import demangle

_WRAPPERS = frozenset(("Kernel", "Kernel2", "kernel", "kentry", "device_kernel", "kernel_func"))
"""Functions of libraries whose only argument is the kernel itself."""


_INDICES = ("i32", "i64", "bool")


class KernelName(Struct, frozen=True):
    """The parts of a kernel's name."""

    display: str
    """The name that people read: family, operation, data type and tile."""
    family: Kind | None
    """Its kind of work; None if the name does not say."""


class Kernel(Struct, frozen=True, dict=True):
    """The parts of a full name."""

    full: str
    part: NamePart | None
    """Its C++ function; None of a name that is none."""

    @cached_property
    def name(self) -> str:
        """Return the function without namespaces and arguments, else the full name."""
        if self.part is None:
            return self.full.removesuffix(".kd")
        generic = self.part.name in _WRAPPERS and self.part.namespaces
        return self.part.namespaces[-1] if generic else self.part.name

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the words of the name in lower case: ``layer``, ``norm`` of ``LayerNorm``."""
        return split_words(self.name)

    @cached_property
    def data_type(self) -> str | None:
        """Return the type of its first argument that is one, else that of a word."""
        for one in self.part.inside() if self.part else ():
            if not one.pointer and (found := data_types.of_part(one)):
                return found
        words = (word for word in self.words if word not in ("int", "long", "bool"))
        return next((kind for word in words if (kind := data_types.of_word(word))), None)

    @cached_property
    def operand_type(self) -> str | None:
        """Return the type of its first argument that is no index, else ``data_type``."""
        parts = self.part.inside() if self.part else ()
        kinds = (data_types.of_part(one) for one in parts if not one.pointer)
        found = next((kind for kind in kinds if kind and kind not in _INDICES), None)
        return found or self.data_type


def read_kernel(full: str) -> Kernel:
    """Return the parts of a full name; a library's wrapper gives way to the kernel in it."""
    part = demangle(full) if full.startswith("_Z") else read_cpp(full)
    while part and part.args and (part.name in _WRAPPERS or part.name.startswith("enable_")):
        inner = [one for one in part.args if not one.plain]
        if not inner or data_types.of_name(inner[0].name) or "Params" in inner[0].name:
            break
        part = inner[0]
    return Kernel(full, part)


def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in snake or camel case, in lower case."""
    pieces = re.split(r"[^A-Za-z0-9]+", name)
    return tuple(word.lower() for piece in pieces if piece for word in _camel(piece))


def _camel(piece: str) -> list[str]:
    if not re.search(r"[a-z]", piece) or not re.search(r"[A-Z]", piece):
        return [piece]
    return re.findall(
        r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+(?:[0-9]+d(?![a-z]))?[0-9]*|[A-Z]+[0-9]*|[0-9]+[A-Za-z]?",
        piece,
    )
