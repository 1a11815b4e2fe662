"""Spell the inputs of a node as torch spells them in a trace.

A trace has ``Input Dims``, ``Input type``, ``Input Strides`` and ``Concrete Inputs``, in which a
list of numbers is one scalar list without a shape (torch/csrc/profiler/util.cpp). A number with a
fraction is not spelt: an execution trace has only six digits of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tb_privateuse1.readers.execution_trace.nodes import Slots

_TENSOR, _LIST = "Tensor(", "GenericList["
_UNDEFINED = "nullptr"
_SCALARS = frozenset({"Int", "Double", "Bool", "SymInt", "SymFloat", "SymBool", "ComplexDouble"})
_EXACT = frozenset({"Int", "Bool"})
_MOST_LAYOUTS = 1 << 14

Spelled = tuple[str, str, str, str]
"""The JSON of shapes, types, strides and values in torch's spelling."""


class Layout(NamedTuple):
    """The types, shapes and strides of inputs or outputs. Most nodes share one with others."""

    kinds: list[Any]
    tensors: tuple[tuple[int, tuple[bool, ...] | None], ...]
    """The positions of tensors, and of lists with which of their members are tensors."""
    texts: tuple[str, str, str] | None
    """The JSON of shapes, types and strides; None if there are none or the lists do not fit."""
    values: str | None
    """The JSON of the values, if it is the same whatever they are."""


Described = tuple[Any, Layout]
"""The values of a node's inputs or outputs, which should be a list, and their layout."""


class Layouts:
    """The layouts of a file's nodes: each is parsed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes, bytes], Layout] = {}

    def described(self, slots: Slots) -> Described:
        """Return inputs or outputs with their layout. Raises one of ``BROKEN``, as a decoder."""
        key = bytes(slots.types), bytes(slots.shapes), bytes(slots.strides)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_LAYOUTS:
                self._known.clear()
            found = self._known[key] = _layout(*map(msgspec.json.decode, key))
        return slots.values, found


def spelled(given: Described) -> Spelled | None:
    """Return inputs as a trace spells them; None if there are none or the lists do not fit."""
    values, layout = given
    kinds = layout.kinds
    if layout.texts is None or not isinstance(values, list) or len(values) != len(kinds):
        return None
    concrete = layout.values
    if concrete is None:
        concrete = _json([_value(*each) for each in zip(values, kinds, strict=True)])
    return *layout.texts, concrete


def _layout(kinds: Any, shapes: Any, strides: Any) -> Layout:
    kinds = kinds if isinstance(kinds, list) else []
    tensors = tuple(
        (position, None if is_tensor(kind) else tuple(map(is_tensor, member_types(kind) or ())))
        for position, kind in enumerate(kinds)
        if is_tensor(kind) or any(map(is_tensor, member_types(kind) or ()))
    )
    fits = isinstance(shapes, list) and len(shapes) == len(kinds) > 0
    if not fits or not all(isinstance(kind, str) for kind in kinds):
        return Layout(kinds, tensors, None, None)
    known = isinstance(strides, list) and len(strides) == len(kinds)
    columns = zip(shapes, kinds, strides if known else [[]] * len(kinds), strict=True)
    one, two, three = map(list, zip(*(_shape(*each) for each in columns), strict=True))
    values = None if any(map(_has_value, kinds)) else _json([""] * len(kinds))
    return Layout(kinds, tensors, (_json(one), _json(two), _json(three)), values)


def is_tensor(kind: object) -> bool:
    """Return whether a type of an execution trace is that of a defined tensor."""
    return isinstance(kind, str) and kind.startswith(_TENSOR) and _UNDEFINED not in kind


def member_types(kind: object) -> list[str] | None:
    """Return the types of a list's members; None if it is the type of no list."""
    if not isinstance(kind, str) or not kind.startswith(_LIST):
        return None
    inside = kind[len(_LIST) : -1]
    return inside.split(",") if inside else []


def _shape(shape: Any, kind: str, stride: Any) -> tuple[Any, str, Any]:
    """Return the shape, type and strides of one input."""
    if is_tensor(kind):
        return shape, kind[len(_TENSOR) : -1], stride
    members = member_types(kind)
    if members is None:
        return [], "Scalar" if kind in _SCALARS else "", []
    if members and all(map(is_tensor, members)):
        return shape, "TensorList", stride
    return [], "ScalarList" if _SCALARS.issuperset(members) else "", []


def _has_value(kind: str) -> bool:
    members = member_types(kind)
    return kind in _EXACT if members is None else _SCALARS.issuperset(members)


def _value(value: Any, kind: str) -> str:
    """Return the text of one input, empty for one that has none."""
    members = member_types(kind)
    if members is None:
        return _number(value, kind)
    if not _SCALARS.issuperset(members) or not isinstance(value, list):
        return ""
    if len(value) != len(members):
        return ""
    texts = [_number(v, k) for v, k in zip(value, members, strict=True)]
    return "" if "" in texts else f"[{', '.join(texts)}]"


def _number(value: Any, kind: str) -> str:
    return str(value) if kind in _EXACT and isinstance(value, int) else ""


def _json(value: Sequence[Any]) -> str:
    return msgspec.json.encode(value).decode()
