"""The work of one call (FLOPs and bytes), and functions that most work models share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import (
    ITEM_BYTES,
    Arguments,
    Tensor,
    UnknownWork,
    size_of,
)


class Work(Struct, frozen=True):
    """The work of one call. None is unknown.

    ``flops`` counts a multiplication and an addition as two, any other operation on an element as
    one. Bytes count each input and output once: a cache can do no better. ``matrix`` says that
    matrix units can do it; ``dtype`` is the type of the operands.

    ``at_most`` says that a kernel may do fewer operations or read fewer bytes: a convolution by
    Winograd's or Fourier's transform, or rows that indices choose again while a cache holds them.
    A rate above the device's is then possible.
    """

    flops: int | None
    read_bytes: int | None
    written_bytes: int | None
    matrix: bool = False
    dtype: str = ""
    at_most: bool = False


Model = Callable[[Arguments], Work]
"""Returns the work of a call; raises UnknownWork if the recording does not have it."""

Related = Callable[[Arguments, Arguments], Work]
"""Returns the work of a call, with the inputs of a related call that has what it lacks."""

_ORDER = ("float64", "float32", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8")


def known_sum(sizes: Callable[[], Iterable[int]]) -> int | None:
    """Return the sum of sizes, or None if one of them is unknown."""
    try:
        return sum(sizes())
    except UnknownWork:
        return None


def read_of(tensors: Iterable[Tensor]) -> int | None:
    """Return the bytes of tensors that are read once, or None if a type is unknown."""
    found = list(tensors)
    return known_sum(lambda: (one.bytes for one in found))


def written_of(*outputs: tuple[Sequence[int], str]) -> int | None:
    """Return the bytes of outputs of these shapes and types, or None if a type is unknown."""
    return known_sum(lambda: (size_of(shape, dtype) for shape, dtype in outputs))


def broadcast(shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to; raises UnknownWork if they do not."""
    result: list[int] = []
    for shape in shapes:
        longer = max(len(result), len(shape))
        one = [1] * (longer - len(result)) + result
        two = [1] * (longer - len(shape)) + list(shape)
        result = []
        for a, b in zip(one, two, strict=True):
            if a != b and 1 not in (a, b):
                raise UnknownWork
            result.append(b if a == 1 else a)
    return tuple(result)


def promoted(tensors: Sequence[Tensor]) -> str:
    """Return the type of a result: that of the largest category and size among the operands.

    Tensors with dimensions count before those without (torch's type promotion).
    """
    known = [one for one in tensors if one.dtype]
    if len(known) < len(tensors) or not known:
        return ""
    floats = [one for one in known if _is_float(one.dtype)] or known
    pool = [one for one in floats if one.shape] or floats
    kinds = {one.dtype for one in pool}
    if {"float16", "bfloat16"} <= kinds:
        return "float32"
    return max(kinds, key=lambda dtype: (ITEM_BYTES[dtype], dtype in _ORDER))


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex"))


def accumulated(dtype: str) -> str:
    """Return the type in which statistics of a type are kept."""
    return "float32" if ITEM_BYTES.get(dtype, 0) == 2 else dtype
