"""The call of an operator as it was recorded: its overload, its arguments and its tensors.

Values of tensors are not recorded. They are random and equal on each device: standard normal
numbers, indices that are equally likely, and positive numbers where a negative one has no meaning.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

SEED = 0
SCALAR_TYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
    "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2",
    "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float8_e5m2",
    "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz",
)  # fmt: skip
"""Element types by number (c10/core/ScalarType.h)."""
MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
"""By number (c10/core/MemoryFormat.h)."""
INDICES = ("index", "indices", "target", "input_ids")
"""Names of arguments that select rows of another one."""
OFFSETS = ("offsets", "cum_", "cu_")
"""Beginnings of names of arguments that are positions in ascending order."""
POSITIVE = ("var", "std", "exp_avg_sq", "denom", "scale")
"""Parts of names of arguments that are no negative numbers."""
OF_POSITIVE = re.compile(r"_?(foreach_)?(sqrt|rsqrt|log|log2|log10|log1p|lgamma|digamma|xlogy)_?")
"""Operators of positive numbers. Of others they are NaN, and sqrt and log take a CPU up to 84 times
as long."""


class NotRunnable(Exception):
    """Why this call cannot run here."""


class Call:
    """The overload and its arguments on a device."""

    def __init__(self, case: dict[str, Any], device: str, *, in_float64: bool = False) -> None:
        self._device, self._in_float64 = device, in_float64
        self._inputs = case["inputs"]
        self.overload = find_overload(case["operator"], self._inputs)
        self._schema = self.overload._schema.arguments
        base = case["operator"].partition("::")[2]
        self._of_positive = OF_POSITIVE.fullmatch(base) is not None
        self._generator = torch.Generator().manual_seed(SEED)
        self.assumed: list[str] = []
        """Texts that torch does not record, such as ``approximate`` of gelu, by their default."""
        made = [self._argument(at) for at in range(len(self._schema))]
        named = {a.name: m for a, m in zip(self._schema, made, strict=True) if a.kwarg_only}
        self._args, self._kwargs = made[: len(made) - len(named)], named

    def run(self) -> Any:
        """Call the operator."""
        return self.overload(*self._args, **self._kwargs)

    def results(self) -> list[torch.Tensor]:
        """Call the operator; return what it returns and what it writes, on the CPU."""
        returned = self.run()
        given = [*self._args, *self._kwargs.values()]
        written = [
            value
            for argument, value in zip(self._schema, given, strict=True)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        return [one.detach().cpu() for one in tensors_in([returned, written])]

    def _argument(self, at: int) -> Any:
        given, argument = self._inputs[at], self._schema[at]
        if given is None or ("value" in given and not given["value"]):
            return self._missing(argument)
        if "tensors" in given:
            pairs = itertools.zip_longest(given["tensors"], given.get("dtypes", ()))
            return [
                self._tensor({"tensor": shape, "dtype": dtype}, argument.name, k)
                for k, (shape, dtype) in enumerate(pairs)
            ]
        if "tensor" in given:
            one = self._tensor(given, argument.name, 0)
            return [one] if "List" in str(argument.type) else one
        return value_of(given["value"], str(argument.real_type), self._device)

    def _missing(self, argument: Any) -> Any:
        if argument.has_default_value():
            if "str" in str(argument.type):
                self.assumed.append(f"{argument.name}={argument.default_value!r}")
            return argument.default_value
        if str(argument.type).startswith("Optional"):
            return None
        if str(argument.type) == "Device":
            return torch.device(self._device)
        raise NotRunnable(
            f"the recording lacks the argument {argument.name} ({argument.type}): add it to CASE"
        )

    def _tensor(self, spec: dict[str, Any], name: str, place: int) -> torch.Tensor:
        """Return a tensor of these sizes, strides and type, made on the CPU from the seed."""
        shape, strides = spec["tensor"], spec.get("strides")
        dtype = type_of(spec["dtype"] or "float32")
        strides = strides if strides is not None else dense_strides(shape)
        extent = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
        flat = self._fill(max(extent, 1), dtype, name, place, scalar=not shape)
        if self._in_float64 and dtype.is_floating_point:
            flat = flat.double()
        elif self._in_float64 and dtype.is_complex:
            flat = flat.to(torch.complex128)
        # A number among tensors is a double on the CPU, which torch takes beside any device.
        stays = not shape and dtype is torch.float64
        return (flat if stays else flat.to(self._device)).as_strided(shape, strides)

    def _fill(
        self, count: int, dtype: torch.dtype, name: str, place: int, *, scalar: bool
    ) -> torch.Tensor:
        draw: dict[str, Any] = {"generator": self._generator}
        if dtype.is_complex:
            return torch.randn(count, dtype=torch.complex64, **draw).to(dtype)
        if dtype.is_floating_point:
            if scalar or self._of_positive or any(part in name for part in POSITIVE):
                return torch.rand(count, **draw).mul_(0.9).add_(0.1).to(dtype)
            return torch.randn(count, **draw).to(dtype)
        if dtype is torch.bool:
            return torch.rand(count, **draw) < 0.5
        bound = self._bound(name, place)
        if name.startswith(OFFSETS):
            return torch.linspace(0, bound, count).to(dtype)
        return torch.randint(max(min(bound, torch.iinfo(dtype).max), 1), (count,), **draw).to(dtype)

    def _bound(self, name: str, place: int) -> int:
        """Return how many values an integer argument may have: what it selects from."""
        others = [(a.name, g) for a, g in zip(self._schema, self._inputs, strict=True) if g]
        shapes = {n: given["tensor"] for n, given in others if "tensor" in given and n != name}
        values = {n: given["value"] for n, given in others if given.get("value")}
        source = shapes.get("weight", shapes.get("self", shapes.get("input", [])))
        if name.startswith(OFFSETS):
            return int(shapes.get("indices", shapes.get("query", [1]))[0])
        if name in INDICES and "num_weights" in values:
            return int(values["num_weights"])
        if name in INDICES and source:
            # Rows of a table, of the dimension that is given, or of the one at the index's place.
            at = 0 if "weight" in shapes else int(values.get("dim", place))
            return int(source[min(len(source) - 1, 1 if name == "target" else at)])
        return min((size for shape in shapes.values() for size in shape), default=100)


def find_overload(name: str, inputs: Sequence[Any]) -> Any:
    """Return the overload whose arguments fit; raises NotRunnable."""
    namespace, _, base = name.partition("::")
    packet = None
    with contextlib.suppress(AttributeError, RuntimeError):
        packet = getattr(getattr(torch.ops, namespace), base)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        raise NotRunnable(
            f"torch has no operator {name} here: import what registers it (--import MODULE)"
        )
    registered: Any = packet
    for each in registered.overloads():
        overload = getattr(registered, each)
        wanted = overload._schema.arguments
        if len(wanted) == len(inputs) and all(map(fits, wanted, inputs)):
            return overload
    raise NotRunnable(f"no overload of {name} takes these {len(inputs)} arguments")


def fits(argument: Any, given: Any) -> bool:
    """Return whether an argument of a schema takes what was recorded."""
    kind = str(argument.type)
    if given is None or ("value" in given and not given["value"]):
        return "Tensor" not in kind or kind.startswith("Optional") or "Optional[Tensor]" in kind
    if "tensors" in given:
        return "List" in kind and "Tensor" in kind
    if "tensor" in given:
        return "Tensor" in kind
    return "Tensor" not in kind and ("List" in kind) == given["value"].startswith("[")


def value_of(text: str, kind: str, device: str) -> Any:
    """Return a recorded value as the type of the schema; raises NotRunnable."""
    inner = kind.removeprefix("Optional[").removesuffix("]") if "Optional" in kind else kind
    try:
        if text.startswith("["):
            items = [part.strip() for part in text[1:-1].split(",") if part.strip()]
            return [number_of(part) for part in items]
        if inner == "ScalarType":
            return getattr(torch, SCALAR_TYPES[int(text)])
        if inner == "MemoryFormat":
            return getattr(torch, MEMORY_FORMATS[int(text)])
        if inner == "Layout":
            return torch.strided
        if inner == "Device":
            return torch.device(device)
        return text if inner == "str" else number_of(text)
    except (ValueError, IndexError, AttributeError):
        raise NotRunnable(f"the recorded value {text!r} is no {kind}") from None


def type_of(name: str) -> torch.dtype:
    """Return the element type of a name; raises NotRunnable."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise NotRunnable(f"torch has no type {name} here")
    return found


def number_of(text: str) -> bool | int | float:
    """Return a truth value, a whole number or another one; raises ValueError."""
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        return float(text)


def dense_strides(shape: Sequence[int]) -> list[int]:
    """Return the strides of a contiguous tensor."""
    return [math.prod(shape[at + 1 :]) for at in range(len(shape))]


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of nested lists."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for one in values:
            yield from tensors_in(one)


def describe(given: Any) -> str:
    """Return one input in short."""
    if given is None:
        return "None"
    if "tensors" in given:
        return f"{len(given['tensors'])} tensors"
    if "tensor" in given:
        return f"{given['dtype']}{given['tensor']}"
    return given["value"] or "None"
