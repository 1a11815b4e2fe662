"""What the kit says of the inferred timeline agrees with the device's own log."""

from __future__ import annotations

from pathlib import Path

from tests.support.on_device import device

SCRIPT = """
from pathlib import Path
import numpy as np
import refdevice
from tb_privateuse1.testing.conformance.host_timing import HostBusyError
from tb_privateuse1.testing.conformance.subject import Subject
from tb_privateuse1.testing.conformance.truth import (
    OPERATOR,
    ROW,
    measure,
    read_recording,
    rows_named,
)

torch.set_num_threads(1)
subject = Subject()
for attempt in range(20):
    folder = Path(f"log{attempt}")
    refdevice.truth.start()
    try:
        found = measure(subject, folder)
        break
    except HostBusyError:
        pass
refdevice.truth.stop()
log, trace = refdevice.truth.columns(), read_recording(folder)
of = {number: row for row, number in enumerate(log["external_id"])}
ops, kernels = trace.ops, trace.kernels
row_of = {int(op): row for row, op in enumerate(kernels.op)}
lengths, starts = [], []
for size in (4, 16):
    for outer in rows_named(trace, f"{ROW}_{size}"):
        first = None
        for op in rows_named(trace, OPERATOR):
            if not ops.start_ns[outer] <= ops.start_ns[op] <= ops.end_ns[outer]:
                continue
            mine, true = row_of[int(op)], of[int(ops.external_id[op])]
            lengths.append([int(kernels.end_ns[mine] - kernels.start_ns[mine]),
                            log["end_ns"][true] - log["start_ns"][true]])
            now = [int(kernels.start_ns[mine]), log["start_ns"][true]]
            first = first or now
            starts.append([now[0] - first[0], now[1] - first[1]])
answer.update(found.as_json(), lengths=lengths, starts=starts)
"""
_ROOM_NS = 1_000


def test_errors_and_coverage_are_those_of_the_log(tmp_path: Path) -> None:
    found = device(tmp_path, SCRIPT).answer
    lengths, starts = found["lengths"], found["starts"]
    assert len(lengths) == found["kernels"]
    true_lengths = sorted(true for _, true in lengths)
    # The known length is that of the log, within its own bound: the device has no gaps.
    assert abs(found["operator_ns"] - true_lengths[len(lengths) // 2]) <= found["operator_bound_ns"]
    errors = sorted(abs(mine - true) for mine, true in lengths)
    middle = errors[len(errors) // 2]
    assert abs(found["duration_error_ns"] - middle) <= found["operator_bound_ns"] + _ROOM_NS
    held = sum(abs(mine - true) <= found["duration_bound_ns"] + _ROOM_NS for mine, true in lengths)
    assert held / len(lengths) >= found["coverage"] - 0.05
    behind = sorted(abs(mine - true) for mine, true in starts if true > 0)
    assert behind[len(behind) // 2] <= found["start_bound_ns"]
    assert found["coverage"] >= 0.95
