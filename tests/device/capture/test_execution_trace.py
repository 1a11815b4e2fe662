"""Execution traces that torch writes, beside the traces of the same recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1 import inference, readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.model import READ, RETURNED, Trace
from tests.support.on_device import run_python

PROGRAM = """
import sys, threading
import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

folder = sys.argv[1]
observer = ExecutionTraceObserver().register_callback(folder + "/observed.json")
weight = torch.randn(16, 16, requires_grad=True)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 16))
optimizer = torch.optim.SGD([weight, *model.parameters()], lr=0.1, momentum=0.9)

def work():
    for _ in range(3):
        product = model(torch.randn(8, 16)) @ weight
        both = torch.cat([product, product], 0)
        torch._foreach_add([product, both], 1.0)
        torch.nn.functional.layer_norm(both, (16,))
        torch.empty(0, 4).sum()
        product.detach()[0:2, [1, 2]].add_(1)

def written(prof):
    prof.export_chrome_trace(f"{folder}/host_1.{prof.step_num}.pt.trace.json")

with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=1, repeat=2),
    record_shapes=sys.argv[2] == "shapes",
    profile_memory=True,
    on_trace_ready=written,
    execution_trace_observer=observer,
    experimental_config=torch._C._profiler._ExperimentalConfig(
        profile_all_threads=sys.argv[2] == "shapes"  # torch then records no memory
    ),
) as prof:
    for _ in range(6):
        thread = threading.Thread(target=work)
        thread.start()
        work()
        model(torch.randn(8, 16)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        thread.join()
        prof.step()
observer.unregister_callback()
"""
COLUMNS = ("shapes", "dtypes", "strides", "concrete")


@pytest.fixture(scope="module", params=["shapes", "plain"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two windows of a program and its execution trace."""
    folder = tmp_path_factory.mktemp(request.param)
    run_python(folder, "-c", PROGRAM, str(folder), request.param)
    return folder


def windows(log: Path) -> list[tuple[Raw, Raw]]:
    """Return each window as it was read, and with what the execution trace adds."""
    found = catalog.scan(str(log), readers.READERS).files.values()
    assert [[part.name for part in files.parts] for files in found] == [["observed.json"]] * 2
    return [
        (raw := readers.read(files.trace.path), readers.complete(raw, [files.parts[0].path]))
        for files in found
    ]


def column(raw: Raw, key: str) -> list[str | None]:
    index = raw.groups["cpu_op"].text(key)
    return [raw.strings[i] if i >= 0 else None for i in index.tolist()]


def without_inputs(raw: Raw) -> Raw:
    """Return a recording as without shapes."""
    operators = raw.groups["cpu_op"]
    texts = {key: value for key, value in operators.texts.items() if key not in COLUMNS}
    groups = raw.groups | {"cpu_op": replace(operators, texts=texts)}
    return replace(raw, groups=groups)


def nodes(log: Path) -> dict[int, dict[str, Any]]:
    """Return the nodes of the file by their Record function ids."""
    found = {}
    for node in json.loads((log / "observed.json").read_text())["nodes"]:
        attributes = {each["name"]: each["value"] for each in node["attrs"]}
        found[attributes["rf_id"]] = node
    return found


def test_operators_in_both_are_joined_and_no_others(log: Path) -> None:
    of_file = nodes(log)
    for before, after in windows(log):
        assert not after.findings
        operators = before.groups["cpu_op"]
        ids = operators.id("record_function").tolist()
        assert len(ids) > 200
        in_both = [i for i, record in enumerate(ids) if record in of_file]
        assert len(in_both) == len(ids)
        names = [before.strings[i] for i in operators.name.tolist()]
        assert all(of_file[ids[i]]["name"] == names[i] for i in in_both)
        takes = [bool(of_file[record]["inputs"]["types"]) for record in ids]
        assert [text is not None for text in column(after, "shapes")] == takes


def test_inputs_are_those_that_the_profiler_records(log: Path) -> None:
    for before, after in windows(log):
        if not any(column(before, "shapes")):
            assert any(column(after, "shapes"))
            continue
        assert all(column(after, key) == column(before, key) for key in COLUMNS)
        blank = without_inputs(before)
        assert not any(column(blank, "shapes"))
        filled = readers.complete(blank, [str(log / "observed.json")])
        for key in ("shapes", "dtypes", "strides"):
            assert column(filled, key) == column(before, key)
        for own, added in zip(column(before, "concrete"), column(filled, "concrete"), strict=True):
            values = zip(json.loads(own or "[]"), json.loads(added or "[]"), strict=True)
            # Of a fraction the file has six digits.
            assert all(a == b or (not b and "." in a) for a, b in values)


def test_tensors_of_one_storage_are_within_one_block(log: Path) -> None:
    for _, after in windows(log):
        trace = inference.build_trace(after, None)
        if not len(trace.memory):
            assert any(column(after, "shapes"))
            continue
        blocks = allocated(trace)
        assert len(blocks) > 50
        assert len({storage for storage, _, _ in blocks}) == len(blocks)
        tensors, ops = trace.tensors, trace.ops
        for storage, start, end in blocks:
            used = tensors.op[(tensors.storage == storage) & (tensors.access != RETURNED)]
            # An operator inside of the one that allocates begins first, too.
            assert (ops.end_ns[used] >= start).all()
            assert (ops.start_ns[used] <= end).all()


def allocated(trace: Trace) -> list[tuple[int, int, int]]:
    """Return storage, allocation and release of blocks whose operator made one tensor in one."""
    memory, tensors, never = trace.memory, trace.tensors, int(np.iinfo(np.int64).max)
    found = []
    for op in np.unique(memory.op[memory.bytes > 0]).tolist():
        rows = np.flatnonzero((memory.op == op) & (memory.bytes > 0))
        of_op = tensors.op == op
        storages = np.unique(tensors.storage[of_op & (tensors.access == RETURNED)])
        taken = tensors.storage[of_op & (tensors.access == READ)]
        if len(rows) != 1 or len(storages) != 1 or storages[0] < 0 or storages[0] in taken:
            continue
        at, address = int(memory.ts_ns[rows[0]]), memory.address[rows[0]]
        gone = (memory.address == address) & (memory.bytes < 0) & (memory.ts_ns >= at)
        until = int(memory.ts_ns[gone].min(initial=never))
        # A number is a tensor for as long as its operator runs: an inner one makes the result.
        if until > trace.ops.end_ns[op]:
            found.append((int(storages[0]), at, until))
    return found
