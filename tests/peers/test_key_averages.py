"""Host times and memory of operators equal ``prof.key_averages()`` of the same run exactly.

torch counts a call inside a call of the same operator twice in host total; we do not.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import tb_privateuse1 as tbp
from tb_privateuse1.analysis.operators import groups, totals
from tb_privateuse1.trace.groupby import counted_operators, group_rows
from tb_privateuse1.trace.model import Trace
from tests.support.recording import Average, averages, record, rows
from tests.support.repeats import repeats, sampled

Figures = dict[tuple[str, str], Counter[str]]

WORKLOADS = ("inference", "mha", "mlp", "streams", "transformer")


def torchs(table: Iterable[Average], shapes: bool) -> Figures:
    """Calls, host self and host total, and own memory by name, or by name and shapes."""
    found: Figures = defaultdict(Counter)
    for row in table:
        key = (row.name, row.shapes.replace(" ", "") if shapes else "")
        found[key].update(calls=row.calls, self=row.host_self_ns, total=row.host_total_ns)
        found[key].update(host=row.host_self_bytes, device=row.device_self_bytes)
    return found


def ours(path: Path, shapes: bool, rank: int | None = None) -> Figures:
    """The same of the operators' view."""
    found: Figures = defaultdict(Counter)
    log = tbp.open(path)
    group: groups.Group = "shapes" if shapes else "name"
    for row in log.operators(group=group, rank=rank).rows:
        if row.name is None:  # the device was busy, and no operator is known to have launched that
            assert (row.calls, row.host_total_ns) == (0, 0)
            continue
        key = (row.name, without_lists(row.input_shapes or ""))
        found[key].update(calls=row.calls, self=row.host_self_ns, total=row.host_total_ns)
        found[key].update(host=row.host_memory_self_bytes or 0)
        found[key].update(device=row.device_memory_self_bytes or 0)
    for key, again in recursion(log.trace(rank=rank), group).items():
        found[key].update(total=again)
    return found


def recursion(trace: Trace, group: groups.Group) -> Counter[tuple[str, str]]:
    """What torch's totals count again: the calls inside a call of the same row."""
    ops = trace.ops
    rows = np.flatnonzero(counted_operators(trace))
    _, member = group_rows(*groups.group_columns(trace, rows, group))
    found: Counter[tuple[str, str]] = Counter()
    for row in rows[totals.nested_in_group(ops, rows, member)]:
        shapes = trace.text(ops.shapes[row]) if group == "shapes" else ""
        key = trace.text(ops.name[row]), without_lists(shapes)
        found[key] += int(ops.end_ns[row] - ops.start_ns[row])
    return found


def without_lists(shapes: str) -> str:
    """The shapes as torch's table has them: it leaves out those of lists of tensors."""
    if not shapes:
        return ""
    inputs = [[] if any(isinstance(d, list) for d in one) else one for one in json.loads(shapes)]
    return json.dumps(inputs, separators=(",", ":"))


@pytest.mark.parametrize("device", ["refdev", "cpu"])
@pytest.mark.parametrize("workload", sampled(WORKLOADS, 3))
def test_a_workload(workload: str, device: str, tmp_path: Path) -> None:
    record(tmp_path, workload, "--device", device, "--steps", "2")
    table = averages(tmp_path)
    for shapes in (False, True):
        told = torchs(table, shapes)
        assert len(told) > 4
        assert ours(tmp_path, shapes) == told


@pytest.mark.exhaustive
def test_two_ranks(tmp_path: Path) -> None:
    record(tmp_path, "ddp", "--steps", "2")
    for rank in (0, 1):
        table = averages(tmp_path, str(rank))
        assert ours(tmp_path, False, rank=rank) == torchs(table, False)


def in_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def nested(x: torch.Tensor, depth: int = 3) -> None:
    with torch.profiler.record_function(f"level {depth}"):
        x.relu()
        if depth:
            nested(x, depth - 1)


def failing(x: torch.Tensor) -> None:
    with pytest.raises(RuntimeError):
        x @ torch.ones(1, 1)


MOVES: dict[str, Callable[[torch.Tensor], Any]] = {
    "matmul": lambda x: x @ x,
    "backward": lambda x: ((x @ x).relu().sum()).backward(),
    "contiguous": lambda x: x.t().contiguous(),
    "to": lambda x: x.to(torch.float64).to(torch.float32),  # an operator inside its own kind
    "foreach": lambda x: torch._foreach_add([x.detach(), x.detach()], 1.0),
    "thread": lambda x: in_thread(lambda: x.detach() @ x.detach()),
    "nested": nested,
    "item": lambda x: x.detach().sum().item(),
    "leaf": lambda x: torch.zeros(1) if x.is_leaf else None,
    "raises": failing,
}


@settings(max_examples=repeats(12), suppress_health_check=list(HealthCheck))
@given(
    moves=st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=12),
    with_stack=st.booleans(),
)
def test_any_program(moves: list[str], with_stack: bool, tmp_path_factory: Any) -> None:
    x = torch.ones(3, 3, requires_grad=True)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    prof = torch.profiler.profile(
        activities=cpu, record_shapes=True, with_stack=with_stack, profile_memory=True
    )
    try:
        with prof:
            for move in moves:
                MOVES[move](x)
    except UnicodeDecodeError:
        reject()  # torch now and then cannot read the name of an event of its own
    path = tmp_path_factory.mktemp("program") / "w.1.pt.trace.json"
    prof.export_chrome_trace(str(path))
    for shapes in (False, True):
        assert ours(path, shapes) == torchs(rows(prof), shapes)
