"""Build the recorded inputs of a call in one line, and compute its work."""

from __future__ import annotations

import json
from typing import Any

from tb_privateuse1.analysis.work import arguments, registry
from tb_privateuse1.analysis.work.call_work import Work


def tensor(*shape: int, dtype: str = "float") -> dict[str, Any]:
    """Return a tensor of a call."""
    return {"shape": list(shape), "dtype": dtype}


def texts(name: str, *inputs: Any) -> dict[str, Any]:
    """Return the arguments of an event: tensors, lists of tensors, None, or values."""
    dims: list[Any] = []
    kinds: list[str] = []
    values: list[str] = []
    for one in inputs:
        if isinstance(one, dict):
            dims, kinds, values = [*dims, one["shape"]], [*kinds, one["dtype"]], [*values, ""]
        elif isinstance(one, list) and one and isinstance(one[0], dict):
            dims.append([each["shape"] for each in one])
            kinds, values = [*kinds, "TensorList"], [*values, ""]
        else:
            kind = "" if one is None else "ScalarList" if isinstance(one, list) else "Scalar"
            dims, kinds = [*dims, []], [*kinds, kind]
            values.append("" if one is None else str(one))
    return {"Input Dims": dims, "Input type": kinds, "Concrete Inputs": values}


def call(name: str, *inputs: Any) -> arguments.Arguments:
    """Return the inputs of a call as the models read them."""
    args = texts(name, *inputs)
    dims, kinds, values = (json.dumps(one) for one in args.values())
    return arguments.parse_arguments(name, dims, kinds, "", values)


def work(name: str, *inputs: Any) -> Work | None:
    """Return the work of a call, or None if it is unknown."""
    return registry.work_of(call(name, *inputs))


def flops(name: str, *inputs: Any) -> int | None:
    """Return the operations of a call that has a model."""
    found = work(name, *inputs)
    return None if found is None else found.flops


def moved(name: str, *inputs: Any) -> tuple[int | None, int | None]:
    """Return the bytes of a call that has a model: read and written."""
    found = work(name, *inputs)
    assert found is not None
    return found.read_bytes, found.written_bytes
