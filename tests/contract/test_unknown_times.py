"""A device time that is not known is null in every view, lookup and export: never 0 ± 0.

The tests walk all results of recordings whose device times are refused, partly refused or absent. A
time of 0 there is an error unless its field is listed here, with the reason why 0 is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import asdict, replace

from tb_privateuse1.export import trace_tables
from tb_privateuse1.export.reports import text
from tb_privateuse1.trace.device_times import missing_streams
from tb_privateuse1.trace.model import Meta, Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.method import method
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tests.support import rank_runs
from tests.support.results import ranks, result
from tests.support.unknown_times import KINDS, partly_refused, refused

RECORDINGS = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)

PLACES = {"start_ns", "stop_ns", "shift_ns"}
"""Instants and offsets: 0 is the recording's start."""

HOST = {
    "Step.runtime_ns", "Step.dataloader_ns", "Step.cpu_ns", "Step.other_ns",
    "Step.communication_host_ns", "ModuleRow.backward_host_ns", "FlameNode.merged_ns",
    "Flame.merged_ns", "FlameNode.self_ns", "Runtime.total_ns", "Runtime.blocked_ns",
    "RuntimeRow.blocked_ns",
}  # fmt: skip
"""The host's own times, which were measured."""

RECORDED = {
    "Share.bound_ns", "AreaRow.bound_ns", "AreaRow.mean_bound_ns", "AreaRow.max_bound_ns",
    "Item.bound_ns", "Item.shift_bound_ns", "FlameNode.bound_ns", "DiffRow.bound_ns",
    "Timeline.shift_bound_ns", "Hotspot.bound_ns", "FlameDiffNode.bound_ns",
}  # fmt: skip
"""Bounds of ranges of the host: exact. No inferred start is shifted where there is none."""

CHANGES = {
    "AdviceRow.behind_ns",
    "WhatIf.gain_ns", "WhatIf.gain_low_ns", "WhatIf.gain_high_ns", "PredictedStep.gain_ns",
    "PredictedStep.gain_low_ns", "PredictedStep.gain_high_ns", "Gain.free_gain_low_ns",
    "AdviceTable.saving_ns", "DiffRow.change_ns", "DiffRow.host_change_ns",
    "DiffRow.device_change_ns", "DiffRow.noise_ns", "DiffFigure.change_ns", "DiffFigure.noise_ns",
    "DiffStep.change_ns", "RankRow.caused_ns", "FlameDiffNode.change_ns",
    "FlameDiffNode.noise_ns", "Explanation.change_ns", "Explanation.rest_ns",
    "Explanation.rest_noise_ns",
}  # fmt: skip
"""Nothing was changed, and known parts are compared with themselves."""

OF_THE_KNOWN = {
    "Step.kernel_bounded_ns", "OperatorRow.above_roof_ns", "KernelRow.above_roof_ns",
    "CallWork.above_roof_ns",
    "RooflineRow.above_roof_ns", "RooflineRow.above_roof_low_ns", "RooflineRow.above_80_ns",
    "RooflineRow.above_50_ns", "RooflineRow.above_20_ns", "RooflineRow.below_20_ns",
    "RooflineRow.no_roof_ns", "RooflineRow.unknown_ns", "Roofline.others_ns", "DistanceRow.low_ns",
    "Constant.value_ns", "Constant.least_ns",
}  # fmt: skip
"""Parts of a time above 0 that is known, least values, and constants of the device."""

AVERAGES = {f"Average.{name}_ns" for name in ("mean", "min", "max", "deviation")}
"""Of parts of the host: those of the device are in ``test_device_parts_of_steps_are_null``."""
FIGURES = {"DiffFigure.base_ns", "DiffFigure.now_ns"}
"""The same."""

KNOWN = HOST | RECORDED | CHANGES | OF_THE_KNOWN | AVERAGES | FIGURES


def times(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the class, name and value of each time of a result, however deep."""
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from times(getattr(value, name), f"{type(value).__name__}.{name}")
    elif isinstance(value, tuple | list):
        for one in value:
            yield from times(one, at)
    elif at.endswith("_ns") and (value is None or isinstance(value, int)):
        yield at, value


def answers(trace: Trace) -> Iterator[tuple[str, Any]]:
    for name, view in {**VIEWS, **LOOKUPS}.items():
        yield name, result(view, trace, **({"table": "ops"} if name == "links" else {}))


@pytest.mark.long
@RECORDINGS
def test_no_time_of_the_device_is_0(make: Callable[[], Trace]) -> None:
    zeros = {
        at
        for _, answer in answers(make())
        for at, value in times(answer)
        if value == 0 and at.partition(".")[2] not in PLACES
    }
    assert zeros - KNOWN == set()


DEVICE = ("kernel", "memcpy", "memset", "communication", "unknown")


@RECORDINGS
def test_device_parts_of_steps_are_null(make: Callable[[], Trace]) -> None:
    trace = make()
    shown = overview(trace)
    assert len(shown.steps) > 0
    for step in shown.steps:
        for name in DEVICE:
            assert getattr(step, f"{name}_ns") != 0
            assert getattr(step, f"{name}_bound_ns") is None
        assert step.duration_bound_ns is None
        assert step.cpu_ns is not None
    for average in shown.averages:
        if average.part in DEVICE:
            assert average.mean_ns != 0
            assert average.bound_ns is None
    figures = {one.name: one for one in result(VIEWS["diff"], trace).figures}
    assert figures["step"].now_ns
    for name in DEVICE:
        assert figures[name].now_ns != 0
        assert figures[name].verdict in ("unknown", "same")


@RECORDINGS
def test_nothing_bounds_a_sum_to_which_work_may_add(make: Callable[[], Trace]) -> None:
    shown = overview(make())
    totals = asdict(shown.totals)
    assert {value for name, value in totals.items() if name.endswith("_bound_ns")} == {None}
    assert (shown.utilization_low, shown.utilization_high) == (None, None)
    assert shown.account is None or shown.account.idle_bound_ns is None
    assert shown.average_step_bound_ns is None


@RECORDINGS
def test_ranks_have_no_time_of_the_device_that_is_0(make: Callable[[], Trace]) -> None:
    for row in result(VIEWS["distributed"], make()).rows:
        assert row.step_ns > 0
        assert not row.on_host
        for name in ("computation", "communication", "overlap", "exposed", "copy"):
            assert getattr(row, f"{name}_ns") != 0
            assert getattr(row, f"{name}_bound_ns") is None


def test_a_rank_without_times_is_no_straggler_beside_the_others() -> None:
    view = VIEWS["distributed"]
    steps, meets = [rank_runs.Does()] * rank_runs.STEPS, [4000.0] * rank_runs.STEPS
    others = [rank_runs.rank(i, steps, meets, transfer=100) for i in range(3)]
    shown = view(ranks(*others, replace(refused(), meta=_third(refused()))))
    assert [row.computation_ns is None for row in shown.rows] == [False] * 3 + [True]
    assert shown.culprits == ()


def _third(trace: Trace) -> Meta:
    return replace(trace.meta, rank=3)


@RECORDINGS
def test_there_is_one_error_and_it_has_the_reason(make: Callable[[], Trace]) -> None:
    trace = make()
    grave = [f for f in trace.meta.findings if f.severity in ("error", "warning")]
    assert len(grave) <= 1
    shown = method(trace)
    assert [f.message for f in shown.refused] == [f.message for f in trace.meta.findings]
    for name, answer in answers(trace):
        notes = getattr(answer, "notes", ())
        own = notes if isinstance(notes, tuple) else ()
        assert [note for note in own if note.severity == "error"] == [], name


def test_a_missing_stream_is_named_in_every_result() -> None:
    trace = partly_refused()
    (name,) = missing_streams(trace)
    assert "stream" in name
    for view, answer in answers(trace):
        if hasattr(answer, "provenance"):
            assert answer.provenance.missing_streams == (name,), view
            assert name in json.loads(encode(answer))["provenance"]["missing_streams"], view
            lines = text.text_report(answer).splitlines()
            assert any("lower bounds" in line and name in line for line in lines[:3]), view
    timeline = result(VIEWS["timeline"], trace)
    (lost,) = [track for track in timeline.tracks if track.busy_ns is None]
    assert lost.label.endswith("(no times)")
    (curve,) = [one for one in timeline.counters if one.what == "utilization"]
    assert "device 0 without stream 1" in curve.label
    (row,) = result(VIEWS["distributed"], trace).rows
    assert row.missing_streams == (name,)


def test_an_operator_of_the_missing_stream_has_no_time_but_the_others_have() -> None:
    table = operators(partly_refused())
    assert table.device_self_ns
    assert table.device_self_bound_ns is None
    launched = [row for row in table.rows if row.device_self_ns is not None]
    assert launched
    assert all(row.device_self_ns and row.device_bound_ns is None for row in launched)
    whole = kernels(partly_refused())
    assert whole.total_ns
    assert whole.bound_ns is None


@RECORDINGS
def test_texts_say_unknown_and_not_0(make: Callable[[], Trace]) -> None:
    lines = text.text_report(overview(make())).splitlines()
    busy = next(line for line in lines if "Busy" in line or "busy" in line)
    assert "0 ns" not in busy.replace("00 ns", "")


def test_tables_name_the_stream_without_times() -> None:
    trace = partly_refused()
    (table,) = trace_tables.batches(trace, "lanes")
    assert table.column("missing").to_pylist() == [0, 1]
    lanes = set(trace.kernels.lane.tolist())
    assert lanes == {0}
