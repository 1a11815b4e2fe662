"""Mutate execution traces beside a trace: sums stay, or a finding says what is wrong.

    python -m tests.support.execution_trace_mutation --count 20000 --seed 1

The tensors and values that the file adds are compared with plain loops over its JSON.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.raw import Raw
from tests.support import execution_traces, make, trace_files
from tests.support.database_mutation import SLOWEST_S, mutated
from tests.support.file_mutation import with_other_digits

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


def outcome(trace: Path, path: Path, data: bytes) -> str:
    """What becomes of a mutated file.

    ``same``: sums are those of plain loops. ``partial``: findings say what is wrong.
    ``unchecked``: plain Python cannot read it.
    """
    path.write_bytes(data)
    started = time.process_time()
    raw = readers.complete(readers.read(str(trace)), [str(path)])
    inference.build_trace(raw, None)
    assert time.process_time() - started < SLOWEST_S
    if raw.findings:
        return "partial"
    try:
        expected = plain_sums(json.loads(data.decode()))
    except _UNREADABLE:
        return "unchecked"
    assert read_sums(raw) == expected, data
    return "same"


def read_sums(raw: Raw) -> Sums:
    """Return what the reader has."""
    concrete = raw.groups["cpu_op"].text("concrete")
    return len(raw.tensors), sum(raw.tensors.elements.tolist()), int((concrete >= 0).sum())


def plain_sums(document: dict[str, Any]) -> Sums:
    """Return the same of a decoded file; each Record function id counts once."""
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


def mutations(rng: random.Random, count: int, folder: Path) -> Counter[str]:
    """Return the number of mutations by outcome."""
    trace = folder / "host_1.1.pt.trace.json"
    write_operators(trace)
    data, changes = whole(), (mutated, with_other_digits)
    return Counter(
        outcome(trace, folder / "execution_trace.json", changes[i % 2](data, rng))
        for i in range(count)
    )


def main() -> int:
    """Print how many mutations had which outcome."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        print(mutations(random.Random(arguments.seed), arguments.count, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
