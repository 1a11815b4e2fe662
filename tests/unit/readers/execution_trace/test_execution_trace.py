"""Execution traces beside a trace: what is joined, what is refused, what is salvaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.readers.execution_trace.tensors import written_arguments
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.model import READ, RETURNED, WRITTEN, Trace
from tests.support import execution_traces, make
from tests.support.execution_traces import node, plain, tensor, tensors
from tests.support.mutants import execution_trace, harness

ADD_ = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"


def operator(record: int, name: str, start: float, end: float, **args: Any) -> make.Event:
    return make.op(name, start, end, id=900 + record, **{"Record function id": record}, **args)


EVENTS = (
    operator(11, "aten::randn", 0, 10),
    operator(12, "aten::empty", 1, 3),
    operator(13, "aten::mm", 20, 30),
    operator(14, "aten::cat", 40, 50, **{"Input Dims": [[9]]}),
    operator(15, "aten::add_", 60, 70),
    operator(16, "aten::empty", 80, 90),
    operator(99, "aten::relu", 100, 110),
)
NODES = (
    node(12, "aten::empty", [plain([2, 3], "GenericList[Int,Int]")], [tensor(7, 2, 3)]),
    node(11, "aten::randn", [plain([2, 3], "GenericList[Int,Int]")], [tensor(7, 2, 3)]),
    node(13, "aten::mm", [tensor(7, 2, 3), tensor(8, 3, 4)], [tensor(9, 2, 4)]),
    node(14, "aten::cat", [tensors(tensor(9, 2, 4), tensor(9, 2, 4)), plain(0, "Int")]),
    node(15, "aten::add_", [tensor(9, 8), tensor(8, 8), plain(0.1, "Double")], [tensor(9, 8)],
         schema=ADD_),
    node(16, "aten::empty", [plain([2, 3], "GenericList[Int,Int]")], [tensor(7, 2, 3)]),
    node(88, "aten::elsewhere", [tensor(7, 2, 3)]),
)  # fmt: skip


def raw_of(tmp_path: Path, *files: str | bytes, events: tuple[make.Event, ...] = EVENTS) -> Raw:
    path = tmp_path / "host_1.5.pt.trace.json"
    path.write_text(json.dumps(make.document(*events)))
    names = []
    for i, content in enumerate(files):
        names.append(tmp_path / f"beside{i}.json")
        names[-1].write_bytes(content.encode() if isinstance(content, str) else content)
    return readers.complete(readers.read(str(path)), [str(name) for name in names])


def trace_of(raw: Raw) -> Trace:
    return inference.build_trace(raw, None)


def codes(raw: Raw) -> list[str]:
    return [finding.code for finding in raw.findings]


def texts(trace: Trace, name: str) -> tuple[str, ...]:
    row = next(i for i in range(len(trace.ops)) if trace.text(trace.ops.name[i]) == name)
    columns = (trace.ops.shapes, trace.ops.dtypes, trace.ops.strides, trace.ops.concrete)
    return tuple(trace.text(column[row]) for column in columns)


def storages(trace: Trace, name: str, access: int, which: int = 0) -> list[int]:
    rows = [i for i in range(len(trace.ops)) if trace.text(trace.ops.name[i]) == name]
    mask = (trace.tensors.op == rows[which]) & (trace.tensors.access == access)
    return [int(storage) for storage in trace.tensors.storage[mask]]


def test_operators_get_inputs_in_the_spelling_of_traces(tmp_path: Path) -> None:
    trace = trace_of(raw_of(tmp_path, execution_traces.text(*NODES)))
    assert texts(trace, "aten::empty") == ("[[]]", '["ScalarList"]', "[[]]", '["[2, 3]"]')
    assert texts(trace, "aten::mm")[:3] == (
        "[[2,3],[3,4]]", '["float","float"]', "[[3,1],[4,1]]",
    )  # fmt: skip
    # Six digits of a fraction are not its value.
    assert texts(trace, "aten::add_")[3] == '["","",""]'
    assert texts(trace, "aten::relu") == ("", "", "", "")
    assert not [f for f in trace.meta.findings if f.code.startswith("execution_trace")]


def test_what_the_trace_has_stays(tmp_path: Path) -> None:
    trace = trace_of(raw_of(tmp_path, execution_traces.text(*NODES)))
    shapes, dtypes, *_ = texts(trace, "aten::cat")
    assert (shapes, dtypes) == ("[[9]]", '["TensorList","Scalar"]')


def test_tensors_have_the_memory_of_their_allocation(tmp_path: Path) -> None:
    trace = trace_of(raw_of(tmp_path, execution_traces.text(*NODES)))
    (made,) = storages(trace, "aten::empty", RETURNED)
    assert storages(trace, "aten::randn", RETURNED) == [made]
    first, second = storages(trace, "aten::mm", READ)
    (product,) = storages(trace, "aten::mm", RETURNED)
    assert first == made
    assert len({first, second, product}) == 3
    assert storages(trace, "aten::cat", READ) == [product, product]
    assert storages(trace, "aten::add_", WRITTEN) == [product]
    assert storages(trace, "aten::add_", READ) == [second]
    # The allocator has given the address again.
    assert storages(trace, "aten::empty", RETURNED, 1) != [made]
    assert set(np.unique(trace.tensors.op)) <= set(range(len(trace.ops)))


def test_a_tensor_without_memory_has_no_storage(tmp_path: Path) -> None:
    nodes = [node(13, "aten::mm", [tensor(8, 0, 4), tensor(8, 3, 4, device="meta")])]
    trace = trace_of(raw_of(tmp_path, execution_traces.text(*nodes)))
    assert storages(trace, "aten::mm", READ) == [-1, -1]


@pytest.mark.parametrize(
    "nodes",
    [
        [node(13, "aten::bmm"), *NODES[:2]],
        [node(70, "aten::mm")],
        [],
    ],
    ids=["another name", "another window", "nothing"],
)
def test_a_file_of_another_recording_adds_nothing(
    tmp_path: Path, nodes: list[dict[str, Any]]
) -> None:
    raw = raw_of(tmp_path, execution_traces.text(*nodes))
    assert codes(raw) == ["execution_trace_other"]
    assert not len(raw.tensors)
    assert texts(trace_of(raw), "aten::empty") == ("", "", "", "")


def test_another_number_of_autograd_is_another_recording(tmp_path: Path) -> None:
    events = (operator(11, "aten::mm", 0, 10, **{"Sequence number": 5}),)
    raw = raw_of(tmp_path, execution_traces.text(node(11, "aten::mm", sequence=6)), events=events)
    assert codes(raw) == ["execution_trace_other"]
    raw = raw_of(tmp_path, execution_traces.text(node(11, "aten::mm", sequence=5)), events=events)
    assert codes(raw) == []


def test_an_id_that_two_operators_have_joins_neither(tmp_path: Path) -> None:
    events = (operator(11, "aten::mm", 0, 10), operator(11, "aten::mm", 20, 30))
    raw = raw_of(tmp_path, execution_traces.text(node(11, "aten::mm")), events=events)
    assert codes(raw) == ["execution_trace_other"]


def test_two_windows_of_one_recording_are_both_joined(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, execution_traces.text(*NODES[:3]), execution_traces.text(*NODES[3:]))
    whole = raw_of(tmp_path, execution_traces.text(*NODES))
    assert codes(raw) == []
    for (name, column), (_, other) in zip(
        trace_of(raw).tensors.columns(), trace_of(whole).tensors.columns(), strict=True
    ):
        assert name == "device_name" or np.array_equal(column, other)


def test_the_same_file_twice_adds_its_tensors_once(tmp_path: Path) -> None:
    text = execution_traces.text(*NODES)
    assert len(raw_of(tmp_path, text, text).tensors) == len(raw_of(tmp_path, text).tensors)


@pytest.mark.parametrize("form", ["packed", "compact", "list", "2022", "2022 list"])
def test_other_forms_of_a_file_give_the_same(tmp_path: Path, form: str) -> None:
    nodes = [execution_traces.of_2022(n) for n in NODES] if "2022" in form else list(NODES)
    content: Any = nodes if "list" in form else execution_traces.document(*nodes)
    data = json.dumps(content, separators=(",", ":") if form == "compact" else None).encode()
    raw = raw_of(tmp_path, gzip.compress(data) if form == "packed" else data)
    whole = trace_of(raw_of(tmp_path, execution_traces.text(*NODES)))
    trace = trace_of(raw)
    assert codes(raw) == []
    assert np.array_equal(trace.tensors.storage, whole.tensors.storage)
    same = slice(0, 2) if "2022" in form else slice(0, 4)  # there were no strides
    for name in ("aten::empty", "aten::mm", "aten::add_"):
        assert texts(trace, name)[same] == texts(whole, name)[same]


@pytest.mark.long
def test_whole_nodes_of_a_cut_file_count(tmp_path: Path) -> None:
    text = execution_traces.text(*NODES)
    for length in range(len(text) - 1, 200, -37):
        raw = raw_of(tmp_path, text[:length])
        whole = text[:length].count('"attrs": [')
        # Which tensors share memory depends on all nodes.
        assert not len(raw.tensors) or length > text.rindex("]")
        assert set(codes(raw)) <= {"execution_trace_cut", "execution_trace_other"}, length
        if whole > 3:
            assert texts(trace_of(raw), "aten::mm")[0] == "[[2,3],[3,4]]"


def test_a_damaged_node_costs_no_other(tmp_path: Path) -> None:
    text = execution_traces.text(*NODES).replace('"name": "aten::mm"', '"name": aten')
    raw = raw_of(tmp_path, text)
    assert codes(raw) == ["part_unreadable"]
    assert not len(raw.tensors)
    trace = trace_of(raw)
    assert texts(trace, "aten::mm")[0] == ""
    assert texts(trace, "aten::add_")[0] == "[[8],[8],[]]"


@pytest.mark.parametrize("number", [1, 11])
def test_a_node_without_id_is_told(tmp_path: Path, number: int) -> None:
    path = tmp_path / "execution_trace.json"
    execution_trace.write_operators(path.with_name(execution_trace.TRACE))
    nodes = execution_trace.whole().split(b'"id"')
    data = b'"id"'.join(nodes[: number + 1]) + b'"i "' + b'"id"'.join(nodes[number + 1 :])
    assert harness.outcome(execution_trace.FORMAT, path, data) == "partial"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"schema": "1.1.0", "pid": 1, "nodes": [',
        b'{"schema": "1.1.0", "pid": 1, "nodes": [' + b"[" * 100_000,
        b'{"schema": "1.1.0", "pid": 1, "nodes": ' + b'[{"id": 1, "name": ' * 20_000,
        b'{"schema": "1.1.0", "pid": 1, "nodes": [' + b'{"id": 1},' * 5000 + b"7]}",
        b'{"schema": "1.1.0", "nodes": [{"id": 1, "name": "a", "inputs": 5, "rf_id": 11}]}',
        b'{"schema": "1.1.0", "nodes": [{"id": 1, "name": "aten::mm", "rf_id": 13, "inputs": '
        b'{"values": 3, "types": "x", "shapes": null, "strides": {}}}]}',
        b'{"schema": "1.1.0", "nodes": [{"id": 1, "name": "aten::mm", "rf_id": 13, "inputs": '
        b'{"values": [[1, 99999999999999999999999999, 0, 1, 4, "cpu"], [1, 2], null], "types": '
        b'["Tensor(float)", "Tensor(float)", "Tensor(float)"], "shapes": [[], [], []]}}]}',
        b'{"schema": "1.1.0", "nodes": [{"id": 1, "name": "aten::mm", "rf_id": 1e999}]}',
        b'{"schema": "1.1.0", "nodes": [{"id": 1, "name": "aten::mm", "rf_id": 13, "inputs": '
        b'{"values": [1, 2], "types": [[], "GenericList[Int]"], "shapes": [[], []]}}]}',
        b'{"schema": "1.1.0", "nodes": [{"id": 1, "name": "aten::mm", "rf_id": 13, "inputs": '
        b'{"values": [2], "types": ["GenericList[Int]"], "shapes": [[]]}}]}',
        gzip.compress(b'{"schema": "1.1.0", "nodes": [', mtime=0)[:-9],
    ],
)
def test_hostile_files_add_nothing_wrong(tmp_path: Path, content: bytes) -> None:
    trace = trace_of(raw_of(tmp_path, content))
    assert not len(trace.tensors)
    assert len(trace.ops) == len(EVENTS)


def test_written_arguments_are_those_with_a_mark() -> None:
    assert written_arguments(ADD_) == {0}
    schema = "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"
    assert written_arguments(schema) == {2}
    schema = "aten::x(int[2] a=[0, 1], Tensor(a -> *) b, Tensor(c!)[] d) -> ()"
    assert written_arguments(schema) == {2}
    assert written_arguments("") == written_arguments("()") == frozenset()
