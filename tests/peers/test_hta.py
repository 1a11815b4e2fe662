"""Where HolisticTraceAnalysis is right, its breakdowns and ours are equal.

Its figures are in ``traces/hta.json``, written by ``tests/peers/hta_figures.py``.
docs/guide/migration.md says where we differ deliberately.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.overview import overview
from tests.support.shared_traces import FOLDER, load

FIGURES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "traces" / "hta.json").read_text()
)
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared traces are not here")


@pytest.fixture(scope="module", params=FIGURES)
def both(request: pytest.FixtureRequest) -> tuple[Trace, dict[str, Any]]:
    (path,) = (FOLDER / request.param).glob("*.pt.trace.json.gz")
    return load(path), FIGURES[request.param]


def test_the_temporal_breakdown(both: tuple[Trace, dict[str, Any]]) -> None:
    trace, told = both
    ours = overview(trace, window="all").totals
    assert ours.busy_ns is not None
    assert ours.compute_ns is not None
    assert ours.span_ns is not None
    assert (ours.span_ns, ours.span_ns - ours.busy_ns) == (told["span"], told["idle"])
    assert ours.compute_ns == told["compute"]
    assert ours.busy_ns - ours.compute_ns == told["not_compute"]


def test_the_overlap_of_communication(both: tuple[Trace, dict[str, Any]]) -> None:
    trace, told = both
    ours, parts = overview(trace, window="all").totals, told["exclusive"]

    def of(kind: str) -> int:
        return sum(us for name, us in parts.items() if kind in name.split(" overlapping "))

    both_kinds = "COMPUTATION overlapping COMMUNICATION"
    assert ours.overlap_ns == parts.get(both_kinds, 0)
    assert ours.communication_ns == of("COMMUNICATION")
    assert ours.compute_ns == of("COMPUTATION")
    assert (ours.memcpy_ns or 0) + (ours.memset_ns or 0) == of("MEMORY")
    if told["overlap_percent"] is None:
        assert ours.communication_ns == 0
    else:
        share = 100 * (ours.overlap_ns or 0) / (ours.communication_ns or 1)
        assert round(share, 2) == told["overlap_percent"]


def test_the_kernels(both: tuple[Trace, dict[str, Any]]) -> None:
    trace, told = both
    rows = kernels(trace, group="name", window="all").rows
    ours = sorted([row.total_ns, row.max_ns, row.min_ns] for row in rows)
    assert ours == told["names"]
    assert len(ours) > 10


def test_the_launches(both: tuple[Trace, dict[str, Any]]) -> None:
    """Each launch with its activity: the host's time, the device's, and what lies between.

    It looks at those of the runtime only, not at the driver's.
    """
    trace, told = both
    runtime = [i for i, text in enumerate(trace.strings) if text.startswith("cuda")]
    k = trace.kernels.take(trace.kernels.launch >= 0)
    k = k.take(np.isin(trace.launches.name[k.launch], runtime))
    start, end = trace.launches.start_ns[k.launch], trace.launches.end_ns[k.launch]
    assert {
        "calls": len(k),
        "host": int((end - start).sum()),
        "device": int((k.end_ns - k.start_ns).sum()),
        "delay": int(np.maximum(k.start_ns - end, 0).sum()),
    } == told["launches"]


def test_an_operator_is_no_kernel() -> None:
    """There any event with a ``stream`` is one: Triton's operators on the host are, too."""
    (path,) = (FOLDER / "cuda" / "b200_eager").glob("*.pt.trace.json.gz")
    trace, theirs = load(path), [76_375, 74_391, 1_984]
    name = "triton_poi_fused_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_0"
    (kernel,) = (
        row for row in kernels(trace, group="name", window="all").rows if row.full_name == name
    )
    host = [op for op in range(len(trace.ops)) if trace.text(trace.ops.name[op]) == name]
    lasted = (trace.ops.end_ns - trace.ops.start_ns)[host].tolist()
    assert [kernel.total_ns + sum(lasted), max(lasted), kernel.min_ns] == theirs
