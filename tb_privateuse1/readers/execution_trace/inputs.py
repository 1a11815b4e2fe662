"""Spell the inputs of a node as torch spells them in a trace.

A trace has ``Input Dims``, ``Input type``, ``Input Strides`` and ``Concrete Inputs``, in which a
list of numbers is one scalar list without a shape (torch/csrc/profiler/util.cpp). A number with a
fraction is not spelt: an execution trace has only six digits of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tb_privateuse1.readers.execution_trace.nodes import Slots

_TENSOR, _LIST = "Tensor(", "GenericList["
_UNDEFINED = "nullptr"
_SCALARS = frozenset({"Int", "Double", "Bool", "SymInt", "SymFloat", "SymBool", "ComplexDouble"})
_EXACT = frozenset({"Int", "Bool"})


class Inputs(NamedTuple):
    """The inputs of an operator in torch's spelling: four lists of one length."""

    shapes: list[Any]
    dtypes: list[str]
    strides: list[Any]
    concrete: list[str]


def is_tensor(kind: object) -> bool:
    """Return whether a type of an execution trace is that of a defined tensor."""
    return isinstance(kind, str) and kind.startswith(_TENSOR) and _UNDEFINED not in kind


def member_types(kind: object) -> list[str] | None:
    """Return the types of a list's members; None if it is the type of no list."""
    if not isinstance(kind, str) or not kind.startswith(_LIST):
        return None
    inside = kind[len(_LIST) : -1]
    return inside.split(",") if inside else []


def spelled(slots: Slots) -> Inputs | None:
    """Return inputs as a trace spells them; None if there are none or the lists do not fit."""
    values, shapes, kinds, strides = slots.values, slots.shapes, slots.types, slots.strides
    if not isinstance(values, list) or not isinstance(shapes, list) or not isinstance(kinds, list):
        return None
    known = isinstance(strides, list) and len(strides) == len(kinds)
    if not all(isinstance(kind, str) for kind in kinds):
        return None
    if not kinds or len(values) != len(kinds) or len(shapes) != len(kinds):
        return None
    columns = zip(values, shapes, kinds, strides if known else [[]] * len(kinds), strict=True)
    return Inputs(*map(list, zip(*(_one(*each) for each in columns), strict=True)))


def _one(value: Any, shape: Any, kind: Any, stride: Any) -> tuple[Any, str, Any, str]:
    """Return the shape, type, strides and text of one input."""
    if is_tensor(kind):
        return shape, kind[len(_TENSOR) : -1], stride, ""
    members = member_types(kind)
    if members is None:
        return [], "Scalar" if kind in _SCALARS else "", [], _text(value, kind)
    if members and all(map(is_tensor, members)):
        return shape, "TensorList", stride, ""
    if not all(member in _SCALARS for member in members):
        return [], "", [], ""
    if not isinstance(value, list) or len(value) != len(members):
        return [], "ScalarList", [], ""
    texts = [_text(v, k) for v, k in zip(value, members, strict=True)]
    if "" in texts:
        return [], "ScalarList", [], ""
    return [], "ScalarList", [], f"[{', '.join(texts)}]"


def _text(value: Any, kind: str) -> str:
    return str(value) if kind in _EXACT and isinstance(value, int) else ""
