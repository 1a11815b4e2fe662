"""A row that bounds its device times bounds each of them, or says here why it need not."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Struct

from tb_privateuse1.i18n import units
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.result import is_struct

INSTANTS = """
    Area.start_ns Area.stop_ns Item.start_ns Item.end_ns Rectangles.start_ns Step.start_ns
    Timeline.start_ns Timeline.end_ns Timeline.stop_ns HistoryRow.written_ns
    Verdict.longest_start_ns ServingIteration.start_ns
"""
"""Places on the timeline: their rows, or the whole answer, say how far they may be shifted."""
OF_HOST = """
    AreaOperator.self_ns Links.self_ns Links.elapsed_ns ModuleRow.host_self_ns
    ModuleRow.host_total_ns ModuleRow.backward_host_ns OperatorRow.host_self_ns
    OperatorRow.host_total_ns OperatorRow.launch_ns Operators.host_self_ns DiffRow.host_change_ns
    Step.communication_host_ns Overview.duration_ns OperatorRow.host_mean_ns RuntimeRow.total_ns
    RuntimeRow.mean_ns RuntimeRow.median_ns RuntimeRow.max_ns RuntimeRow.blocked_ns
"""
"""Recorded by the host, or in a sidecar."""
OF_ROW = """
    Average.mean_ns Average.min_ns Average.max_ns Average.deviation_ns Spread.mean_ns
    Spread.median_ns Spread.min_ns Spread.max_ns Spread.deviation_ns
    OperatorRow.device_mean_ns
    ModuleRow.device_total_ns ModuleRow.backward_device_ns OperatorRow.device_self_ns
    OperatorRow.backward_device_ns DiffFigure.base_ns DiffFigure.now_ns DiffFigure.change_ns
    DiffFigure.noise_ns DiffRow.base_ns DiffRow.now_ns DiffRow.change_ns DiffRow.noise_ns
    FlameDiffNode.base_ns FlameDiffNode.now_ns FlameDiffNode.change_ns FlameDiffNode.noise_ns
    Reason.base_ns Reason.now_ns Reason.change_ns Reason.noise_ns HistoryRow.deviation_ns
    ServingIteration.token_ns
"""
"""A bound of the row, by another name, is that of these times."""
OPEN = """
    Account.window_ns AreaRow.inside_ns Culprit.kernel_ns Culprit.cause_ns Culprit.cost_ns
    DiffRow.device_change_ns FlameNode.self_ns FlameNode.merged_ns Hotspot.step_ns
    KernelRow.above_roof_ns ModuleRow.device_self_ns ModuleRow.above_roof_ns
    OperatorRow.above_roof_ns Operators.unlinked_device_ns Overview.unlinked_device_ns
    RuntimeRow.device_idle_ns
    RankRow.transferring_ns RankRow.synchronizing_ns RankRow.caused_ns RankRow.clock_offset_ns
    RankRow.clock_residual_ns RankStep.transferring_ns RankStep.synchronizing_ns
    Rectangles.length_ns Rectangles.busy_ns Roofline.others_ns Roofline.above_roof_ns
    RooflineRow.above_80_ns RooflineRow.above_50_ns RooflineRow.above_20_ns RooflineRow.below_20_ns
    RooflineRow.no_roof_ns RooflineRow.unknown_ns Verdict.judged_ns Verdict.longest_ns
"""
"""They have none. Only ever fewer."""
WITHOUT = " ".join((INSTANTS, OF_HOST, OF_ROW, OPEN)).split()


def structs(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return the Structs in a result, and in those inside it, by name."""
    if is_struct(kind) and kind.__name__ not in found:
        found[kind.__name__] = kind
        for hint in typing.get_type_hints(kind).values():
            structs(hint, found)
    for part in typing.get_args(kind):
        structs(part, found)
    return found


def unbounded(kind: Any) -> Iterator[str]:
    """Yield the times without a bound of a Struct that has one for others."""
    names = kind.__struct_fields__
    if not any("bound" in name and name.endswith("_ns") for name in names):
        return
    known = units.bounds(names).keys() | units.ranges(names).keys()
    for name in names:
        stem = name.removesuffix("_ns")
        if stem == name or "bound" in name or stem.endswith(("_low", "_high")):
            continue
        if name not in known and f"{stem}_low_ns" not in names:
            yield f"{kind.__name__}.{name}"


def shown() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for view in (*VIEWS.values(), *LOOKUPS.values()):
        structs(typing.get_type_hints(view)["return"], found)
    return found


def test_each_time_has_a_bound() -> None:
    found = [name for kind in shown().values() for name in unbounded(kind)]
    wanted = "a field NAME_bound_ns, or the reason for none in tests/contract/test_bounds.py"
    assert sorted(found) == sorted(WITHOUT), wanted


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("total_ns", "total_bound_ns", "mean_ns"), ["Row.mean_ns"]),
        (("total_ns", "bound_ns"), []),
        (("total_ns", "mean_ns"), []),
    ],
)
def test_a_time_without_a_bound_is_found(names: tuple[str, ...], found: list[str]) -> None:
    row = type("Row", (Struct,), {"__annotations__": dict.fromkeys(names, int)})
    assert list(unbounded(row)) == found
