"""Read the recorded inputs of an operator: shapes, element types, strides and values.

torch writes them as four JSON lists of equal length (torch/csrc/profiler/util.cpp): ``Input Dims``,
``Input type``, ``Input Strides`` and ``Concrete Inputs``. A file may have anything there. A model
asks for what it needs, and ``UnknownWork`` says that it is not there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tb_privateuse1.trace.table import HALF_INT64

ITEM_BYTES = {
    "": 0,
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "complex128": 16,
    "complex64": 8,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
"""Bytes of an element by type; the first one stands for an unknown type."""
DTYPES = tuple(ITEM_BYTES)

_SPELLINGS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "c10::half": "float16",
    "c10::bfloat16": "bfloat16",
    "c10::float8_e4m3fn": "float8_e4m3fn",
    "c10::float8_e5m2": "float8_e5m2",
    "c10::float8_e4m3fnuz": "float8_e4m3fnuz",
    "c10::float8_e5m2fnuz": "float8_e5m2fnuz",
    "c10::complex<double>": "complex128",
    "c10::complex<float>": "complex64",
    "long int": "int64",
    "long": "int64",
    "long long": "int64",
    "__int64": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
} | {name: name for name in DTYPES if name}
"""C++ names of element types as torch writes them. Case counts: ``Bool`` is a number's type."""

_SCALAR_TYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "", "complex64",
    "complex128", "bool", "", "", "", "bfloat16", "", "", "", "", "", "", "", "float8_e5m2",
    "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz",
)  # fmt: skip
"""Element types by number (c10/core/ScalarType.h), as values of arguments have them."""

_LIST_TYPE = "TensorList"
_MOST_DIGITS = 19
"""Of the largest int64, which torch writes for an open end."""
_LONGEST_TEXT = 1 << 20
"""Characters. The longest shapes in the shared recordings have 3,301; a longer text is damage."""


class UnknownWork(Exception):
    """The recording does not have what a model needs."""


class Tensor(Struct, frozen=True):
    """A tensor; ``dtype`` is empty if unknown, ``stored`` the number of distinct elements."""

    shape: tuple[int, ...]
    dtype: str
    stored: int
    strides: tuple[int, ...] | None = None
    """In elements; None if they were not recorded."""

    @property
    def numel(self) -> int:
        """Return the number of elements; those of expanded dimensions count each time."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Return the bytes that reading it once needs; raises UnknownWork without a type."""
        return self.stored * item_bytes(self.dtype)


Input = Tensor | tuple[Tensor, ...] | None


class Arguments(Struct, frozen=True):
    """The inputs of one call; ``values`` are texts, empty for tensors and missing ones."""

    name: str
    inputs: tuple[Input, ...]
    values: tuple[str, ...]

    @property
    def in_place(self) -> bool:
        """Return whether the operator writes its first input."""
        return self.name.endswith("_")

    def tensor(self, at: int) -> Tensor:
        """Return the tensor at a position; raises UnknownWork if there is none."""
        if (found := self.optional(at)) is None:
            raise UnknownWork
        return found

    def optional(self, at: int) -> Tensor | None:
        """Return the tensor at a position, or None."""
        found = self.inputs[at] if at < len(self.inputs) else None
        return found if isinstance(found, Tensor) else None

    def tensors(self, stop: int | None = None) -> Iterator[Tensor]:
        """Yield the tensors among the first inputs, those of lists included."""
        for one in self.inputs[:stop]:
            if isinstance(one, Tensor):
                yield one
            elif one is not None:
                yield from one

    def tensor_list(self, at: int) -> tuple[Tensor, ...]:
        """Return the list of tensors at a position; raises UnknownWork if there is none."""
        found = self.inputs[at] if at < len(self.inputs) else None
        if not isinstance(found, tuple) or not found:
            raise UnknownWork
        return found

    def value(self, at: int) -> str:
        """Return the text of a value; empty if it was not given or not recorded."""
        return self.values[at] if at < len(self.values) else ""

    def flag(self, at: int) -> bool:
        """Return a truth value; raises UnknownWork if it was not recorded."""
        text = self.value(at)
        if text not in ("True", "False", "1", "0"):
            raise UnknownWork
        return text in ("True", "1")

    def integer(self, at: int) -> int:
        """Return a whole number; raises UnknownWork without one."""
        return _whole(self.value(at))

    def integers(self, at: int) -> tuple[int, ...]:
        """Return a list of whole numbers; raises UnknownWork without one."""
        return tuple(_whole(text) for text in _items(self.value(at)))

    def flags(self, at: int) -> tuple[bool, ...]:
        """Return a list of truth values; raises UnknownWork without one."""
        return tuple(text in ("True", "1") for text in _items(self.value(at)))

    def dtype(self, at: int, default: str) -> str:
        """Return an element type that was given as a number, else the default."""
        if not self.value(at):
            return default
        number = self.integer(at)
        return _SCALAR_TYPES[number] if 0 <= number < len(_SCALAR_TYPES) else ""


def item_bytes(dtype: str) -> int:
    """Return the bytes of an element; raises UnknownWork if the type is unknown."""
    if not (size := ITEM_BYTES.get(dtype, 0)):
        raise UnknownWork
    return size


def size_of(shape: Sequence[int], dtype: str) -> int:
    """Return the bytes of a dense tensor; raises UnknownWork without a type."""
    return math.prod(shape) * item_bytes(dtype)


def parse_arguments(
    name: str, shapes: str, dtypes: str, strides: str = "", concrete: str = ""
) -> Arguments:
    """Return the inputs that four recorded texts describe; an empty text was not recorded.

    Raises UnknownWork if shapes or types are no lists.
    """
    dims, types = _list(shapes), _list(dtypes) if dtypes else []
    # torch of early 2021 recorded shapes without types.
    types = types or [""] * len(dims)
    steps = _list(strides) if strides else []
    values = _list(concrete) if concrete else []
    for each in (dims, steps):
        each.extend([None] * (len(types) - len(each)))
    inputs = tuple(map(_input, dims, types, steps))  # as many as there are types
    return Arguments(name, inputs, tuple(v if isinstance(v, str) else "" for v in values))


def typed_shapes(shapes: str, dtypes: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield shape and type of each recorded tensor with dimensions that is in no list."""
    try:
        dims, kinds = _list(shapes), _list(dtypes)
    except UnknownWork:
        return
    for one, kind in zip(dims, kinds, strict=False):
        if isinstance(one, list) and one and isinstance(kind, str):
            dtype = _spelled(kind)
            if dtype and all(type(size) is int for size in one):
                yield tuple(one), dtype


def numbers_of_elements(shapes: str) -> set[int]:
    """Return the numbers of elements of recorded tensors that have several; those of lists, too."""
    try:
        dims = [one for one in _list(shapes) if isinstance(one, list)]
    except UnknownWork:
        return set()
    dims += [each for one in dims for each in one if isinstance(each, list)]
    found = {math.prod(one) for one in dims if all(type(size) is int for size in one)}
    return found - {1}


def has_list(dtypes: str) -> bool:
    """Return whether one of the recorded types may be that of a list of tensors."""
    return _LIST_TYPE in dtypes


def has_tensor(dtypes: str) -> bool:
    """Return whether one of the recorded types is that of a tensor that is in no list."""
    try:
        return any(isinstance(one, str) and _spelled(one) for one in _list(dtypes))
    except UnknownWork:
        return False


def _list(text: str) -> list[Any]:
    if len(text) > _LONGEST_TEXT:
        raise UnknownWork
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise UnknownWork from None
    if not isinstance(found, list):
        raise UnknownWork
    return found


def _input(dims: Any, kind: Any, steps: Any) -> Input:
    if not isinstance(kind, str) or not isinstance(dims, list):
        return None
    if not kind and dims:
        return _tensor(dims, "", steps)
    dtype = _spelled(kind)
    if dtype is not None:
        return _tensor(dims, dtype, steps)
    if not kind.startswith(_LIST_TYPE) or not all(isinstance(one, list) for one in dims):
        return None
    given = steps if isinstance(steps, list) and len(steps) == len(dims) else [None] * len(dims)
    found = [_tensor(one, "", step) for one, step in zip(dims, given, strict=True)]
    return tuple(one for one in found if one is not None) if None not in found else None


def _spelled(kind: str) -> str | None:
    """Return the type of elements; None of a number, whose type is in capitals (``Int``)."""
    if (found := _SPELLINGS.get(kind)) is None and kind.startswith("c10::"):
        found = _SPELLINGS.get(kind.lower())
    return found


def _tensor(dims: list[Any], dtype: str, steps: Any) -> Tensor | None:
    for size in dims:
        if type(size) is not int or not 0 <= size < HALF_INT64:
            return None
    elements = math.prod(dims)
    if elements > HALF_INT64:
        return None
    strides = _strides(dims, steps)
    return Tensor(tuple(dims), dtype, _stored(dims, strides, elements), strides)


def _strides(dims: list[int], steps: Any) -> tuple[int, ...] | None:
    if not isinstance(steps, list) or len(steps) != len(dims):
        return None
    for step in steps:
        if type(step) is not int or not 0 <= step < HALF_INT64:
            return None
    return tuple(steps)


def _stored(dims: list[int], strides: tuple[int, ...] | None, elements: int) -> int:
    """Return the distinct elements: an expanded or overlapping view shows more than there are."""
    if not elements or strides is None:
        return elements
    extent = 1
    for size, step in zip(dims, strides, strict=True):
        extent += (size - 1) * step
    return min(elements, extent)


def _whole(text: str) -> int:
    stripped = text.strip()
    if not stripped.removeprefix("-").isdecimal() or len(stripped) > _MOST_DIGITS:
        raise UnknownWork
    return int(stripped)


def _items(text: str) -> list[str]:
    if not (text.startswith("[") and text.endswith("]")):
        raise UnknownWork
    return [item.strip() for item in text[1:-1].split(",") if item.strip()]
