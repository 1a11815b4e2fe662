"""Write execution traces as torch does: nodes of operators, with tensors that have storages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.model import Trace
from tests.support import make

Node = dict[str, Any]


def tensor(storage: int, *shape: int, offset: int = 0, device: str = "cuda:0") -> Node:
    """A float tensor of a storage; its value is torch's tuple of ids and sizes."""
    elements, strides = 1, list[int]()
    for size in reversed(shape):
        strides.insert(0, elements)
        elements *= size
    value = [1000 + storage, storage, offset, elements, 4, device]
    return {"value": value, "shape": list(shape), "type": "Tensor(float)", "strides": strides}


def tensors(*members: Node) -> Node:
    """A list of tensors."""
    kinds = ",".join(member["type"] for member in members)
    return {
        "value": [member["value"] for member in members],
        "shape": [member["shape"] for member in members],
        "type": f"GenericList[{kinds}]",
        "strides": [member["strides"] for member in members],
    }


def plain(value: Any, kind: str) -> Node:
    """An input that is no tensor."""
    return {"value": value, "shape": [], "type": kind, "strides": []}


def node(
    record: int,
    name: str,
    inputs: list[Node] | None = None,
    outputs: list[Node] | None = None,
    schema: str = "",
    sequence: int = -1,
) -> Node:
    """A call of an operator."""
    return {
        "id": 100 + record,
        "name": name,
        "ctrl_deps": 1,
        "inputs": _slots(inputs or []),
        "outputs": _slots(outputs or []),
        "attrs": [
            {"name": "rf_id", "type": "uint64", "value": record},
            {"name": "seq_id", "type": "int64", "value": sequence},
            {"name": "op_schema", "type": "string", "value": schema},
        ],
    }


def document(*nodes: Node, pid: int = 1) -> dict[str, Any]:
    """The content of a file."""
    head = {"schema": "1.1.1-chakra.0.0.4", "pid": pid, "time": "2026-01-01", "start_ts": 1}
    return {**head, "nodes": list(nodes), "finish_ts": 2}


def text(*nodes: Node, pid: int = 1) -> str:
    """The text of a file, with spaces as torch sets them."""
    return json.dumps(document(*nodes, pid=pid), indent=2)


def trace_of(events: Sequence[make.Event], *nodes: Node, **keys: Any) -> Trace:
    """The Trace of some events with an execution trace beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path, beside = Path(folder, "worker.1.pt.trace.json"), Path(folder, "beside.json")
        path.write_text(json.dumps(make.document(*events, **keys)))
        beside.write_text(text(*nodes))
        raw = readers.complete(readers.read(str(path)), [str(beside)])
        return inference.build_trace(raw, None, worker="worker", files=(path.name,))


def of_2022(one: Node) -> Node:
    """The same node as of schema 1.0.1, which had no lists of attributes and no strides."""
    attributes = {each["name"]: each["value"] for each in one["attrs"]}
    lists = {
        f"{way}{suffix}": one[f"{way}puts"][key]
        for way in ("in", "out")
        for suffix, key in (("puts", "values"), ("put_shapes", "shapes"), ("put_types", "types"))
    }
    return {"name": one["name"], "id": one["id"], "parent": 1, **attributes, **lists}


def _slots(slots: list[Node]) -> dict[str, list[Any]]:
    names = {"values": "value", "shapes": "shape", "types": "type", "strides": "strides"}
    return {name: [slot[key] for slot in slots] for name, key in names.items()}
