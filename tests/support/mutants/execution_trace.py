"""Mutants of execution traces: the tensors that they add are those of plain loops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1 import readers
from tb_privateuse1.readers.raw import Raw
from tests.support import execution_traces, make, trace_files
from tests.support.mutants.changes import other_bytes, other_digits
from tests.support.mutants.harness import Format, Mutate, Reading, with_trace

TRACE = "host_1.1.pt.trace.json"
NODES = 12
_LIMIT = 1 << 62
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What plain Python raises for a file that it cannot read, or that is none."""

Sums = tuple[int, int, int]
"""Tensors, the sum of their elements, and operators that get values of inputs."""


def name_of(number: int) -> str:
    return f"aten::op{number % 3}"


def whole() -> bytes:
    """The execution trace: tensors, a list of them, numbers and a list of numbers."""
    tensor, plain = execution_traces.tensor, execution_traces.plain
    nodes = [
        execution_traces.node(
            10 + i,
            name_of(i),
            [
                tensor(i % 3 + 1, 8, 4),
                execution_traces.tensors(tensor(5, 2), tensor(6, i + 1)),
                plain(i, "Int"),
                plain([i, 2], "GenericList[Int,Int]"),
            ],
            [tensor(7 + i, 8, 4)],
            schema="aten::op(Tensor(a!) self, Tensor[] others) -> Tensor(a!)",
        )
        for i in range(NODES)
    ]
    return execution_traces.text(*nodes).encode()


def make_mutants(folder: Path) -> Sequence[Mutate]:
    """Write the trace; return changes of bytes and of digits of the file beside it."""
    write_operators(folder / TRACE)
    data, path = whole(), folder / "execution_trace.json"
    return (
        lambda rng: (path, other_bytes(data, rng)),
        lambda rng: (path, other_digits(data, rng)),
    )


def read(path: Path) -> Reading:
    """Read the trace with the file beside it."""
    return with_trace(readers.complete(readers.read(str(path.with_name(TRACE))), [str(path)]))


def read_sums(found: Reading) -> Sums:
    """Return what the reader has."""
    raw = found.raw
    concrete = raw.groups["cpu_op"].text("concrete")
    return len(raw.tensors), sum(raw.tensors.elements.tolist()), int((concrete >= 0).sum())


def plain_sums(path: Path, raw: Raw) -> Sums:
    """Return the same of the decoded file; each Record function id counts once."""
    document = json.loads(path.read_bytes().decode())
    tensors = elements = values = 0
    left = {10 + i: name_of(i) for i in range(NODES)}
    for node in document["nodes"]:
        found = {a["name"]: a["value"] for a in node["attrs"]}
        if left.pop(found["rf_id"], None) != node["name"]:
            continue
        inputs = node["inputs"]
        lengths = {len(inputs[key]) for key in ("values", "shapes", "types")}
        values += len(lengths) == 1 and all(isinstance(kind, str) for kind in inputs["types"])
        for slots in (inputs, node["outputs"]):
            for value in tensor_values(slots):
                if is_whole(value):
                    tensors += 1
                    elements += value[3]
    return tensors, elements, values


def tensor_values(slots: dict[str, Any]) -> list[Any]:
    """Return the values of the tensors in inputs or outputs, also of those in lists."""
    found = []
    for value, kind in zip(slots["values"], slots["types"], strict=False):
        if kind.startswith("Tensor(") and "nullptr" not in kind:
            found.append(value)
        elif kind.startswith("GenericList[") and isinstance(value, list):
            members = kind[len("GenericList[") : -1].split(",")
            pairs = zip(value, members, strict=False)
            found += [v for v, k in pairs if k.startswith("Tensor(") and "nullptr" not in k]
    return found


def is_whole(value: Any) -> bool:
    """Return whether a tensor has a storage, an offset, elements, their bytes and a device."""
    if not isinstance(value, list) or len(value) < 6 or not isinstance(value[5], str):
        return False
    return all(type(number) is int and 0 <= number < _LIMIT for number in value[1:5])


def write_operators(trace: Path) -> None:
    """Write the trace whose operators the nodes are of."""
    operators = [
        make.op(name_of(i), 9 * i, 9 * i + 8, id=i, **{"Record function id": 10 + i})
        for i in range(NODES)
    ]
    trace_files.write(trace, make.document(*operators))


FORMAT = Format(
    make_mutants,
    read_sums,
    plain_sums,
    read,
    unreadable=_UNREADABLE,
    refusals=frozenset(),
    least={"same": 0.2, "partial": 0.2},
    count=100,
)
