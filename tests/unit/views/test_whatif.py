"""Predicted steps, what gains how much, and the critical path as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict, replace

from tb_privateuse1.analysis.simulation import ranking, replayed_part
from tb_privateuse1.export.reports import csv
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import signature
from tb_privateuse1.views.encoding import encode_columns
from tb_privateuse1.views.whatif import WhatIf, whatif
from tests.support import chinese
from tests.support.make import kernel, launch, op, span, trace
from tests.support.repeats import sampled
from tests.support.results import result
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.support.simulate import Op, simulate, step
from tests.unit.analysis.recording.test_phases import called, slow_launch
from tests.unit.analysis.simulation.test_dependency_graph import waiting

US = 1000


def ask(made: Trace, *lines: str, **options: object) -> WhatIf:
    found = result(whatif, made, changes="\n".join(lines), **options)
    assert isinstance(found, WhatIf)
    return found


def inferred() -> Trace:
    """Three steps in which the device is behind, each with a wait at its end."""
    ops = [Op("aten::mm", 8 * US, US, 40 * US) for _ in range(12)]
    wait = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    return simulate([step(i, *ops, wait) for i in range(3)]).trace


def test_a_prediction() -> None:
    found = ask(waiting(), "kernel:mm=0.5")
    assert (found.measured_ns, found.predicted_ns, found.gain_ns) == (80_000, 60_000, 20_000)
    assert found.gain_share == 0.25
    assert (found.replayed_ns, found.replay_error_share) == (80_000, 0)
    assert found.gain_low_ns == 15_000
    assert found.gain_high_ns == 25_000
    (change,) = found.changes
    assert (change.host_ns, change.device_ns, change.activities) == (0, 40_000, 1)
    (one,) = found.steps
    assert (one.name, one.measured_ns, one.predicted_ns) == ("ProfilerStep#1", 80_000, 60_000)


def test_what_gains_how_much() -> None:
    rows = {(row.kind, row.name): row for row in ask(waiting()).rows}
    assert rows["kernel", "mm"].half_gain_ns == 20_000
    assert rows["kernel", "mm"].free_gain_ns == 21_000
    assert rows["operator", "aten::mm"].free_gain_ns == 31_000
    assert rows["kernel", "mm"].on_path_ns == 40_000
    assert rows["operator", "aten::mm"].on_path_ns == 45_000
    assert rows["synchronization", ""].free_gain_ns == 22_000
    gains = [row.free_gain_ns for row in ask(waiting()).rows]
    assert gains == sorted(gains, reverse=True)
    assert ask(waiting(), ranking=False).rows == ()
    assert len(ask(waiting(), limit=2).rows) == 2


def test_a_change_that_changes_nothing_is_refused() -> None:
    """STORY 2.1: `attention=0.3` was accepted in a program without attention, with a gain of 0."""
    for text in ("copies=0", "data_loader=0.5", "communication=0", "rank_waits=0"):
        with pytest.raises(TraceError, match="changes nothing") as error:
            ask(waiting(), text)
        assert error.value.hint == "Without a name: launches, synchronization, profiler."
    with pytest.raises(TraceError, match="There is no category 'attention'"):
        ask(waiting(), "category:attention=0.3")
    with pytest.raises(TraceError, match="There is no operator 'attention'"):
        ask(waiting(), "attention=0.3")


def test_names_of_one_thing_are_one_row() -> None:
    """An operator, the one inside of it, its kind of work and its kernel were four rows."""
    made = trace(
        *(event for at in (0, 100) for event in (
            op("aten::linear", at, at + 40), op("aten::addmm", at, at + 40),
            launch(at + 20, at + 21, at + 1), kernel("gemm", at + 22, at + 92, at + 1),
            op("aten::item", at + 40, at + 95, number=at),
            span("cuda_runtime", "cudaStreamSynchronize", at + 42, at + 94, correlation=at + 2),
        ))
    )  # fmt: skip
    rows = [{f"{row.kind}:{row.name}", *row.aliases} for row in ask(made).rows]
    (names,) = (names for names in rows if "operator:aten::linear" in names)
    assert names >= {
        "operator:aten::linear", "operator:aten::addmm", "category:gemm",
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("change", ["kernel:mm=0.5", "synchronization=0", "operator:aten::mm=0"])
def test_further_gains_are_those_of_the_changed_step(change: str) -> None:
    found = ask(waiting(), change)
    for row in found.rows:
        name = row.full_name or row.name
        further = f"{row.kind}:{name}=0" if name else f"{row.kind}=0"
        both = ask(waiting(), change, further, ranking=False)
        assert both.gain_ns is not None
        assert found.gain_ns is not None
        assert row.free_gain_ns == both.gain_ns - found.gain_ns, further


def test_the_path_sums_to_the_step() -> None:
    found = ask(waiting())
    assert sum(row.path_ns for row in found.path) == found.measured_ns
    assert {one.name: one.path_ns for one in found.classes} == {
        "python": 10_000,
        "dispatch": 2_000,
        "kernel": 60_000,
        "launch_call": 3_000,
        "launch_latency": 2_000,
        "queued_gap": 1_000,
        "synchronization": 2_000,
    }
    assert sum(one.share for one in found.classes) == pytest.approx(1)
    assert found.path[0].name == "mm"
    assert found.path_rows == len(found.path)


def test_inferred_times_have_a_bound() -> None:
    found = ask(inferred(), "kernel:aten::mm=0.5")
    assert found.gain_ns is not None
    assert found.gain_low_ns is not None
    assert found.gain_high_ns is not None
    # Twelve operators of 40 us a step, while the host needs 8 us for each.
    assert found.gain_ns == pytest.approx(12 * 20 * US, rel=0.1)
    assert found.gain_low_ns < found.gain_high_ns
    assert found.gain_low_ns <= 12 * 20 * US <= found.gain_high_ns
    assert [note.code for note in found.notes] == ["inferred"]


def test_unknown_bounds_are_null() -> None:
    made = simulate([step(0, Op("aten::mm", 8 * US, US, 40 * US))]).trace
    lost = made.kernels.take(np.arange(len(made.kernels)))
    columns = dict(lost.columns()) | {"duration_bound_ns": np.full(len(lost), -(1 << 63))}
    unknown = Trace(**{**asdict(made), "kernels": type(lost)(**columns)})
    found = ask(unknown, "kernel:aten::mm=0.5")
    assert (found.gain_low_ns, found.gain_high_ns) == (None, None)
    assert found.steps[0].gain_low_ns is None


def test_without_device_times() -> None:
    found = ask(trace(op("aten::mm", 0, 30), op("aten::add", 30, 40)), "aten::mm=0.5")
    assert (found.measured_ns, found.gain_ns) == (40_000, 15_000)
    assert [note.code for note in found.notes] == ["no_device_times"]


def test_one_step() -> None:
    made = inferred()
    assert len(ask(made, "kernel:aten::mm=0.5", step=1).steps) == 1
    with pytest.raises(TraceError, match="no step 9"):
        ask(made, step=9)


@pytest.mark.long
def test_of_a_long_recording_some_steps_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [step(i, *([Op("aten::mm", 9000, 1000, 9000)] * 20)) for i in range(20)]
    made = simulate(steps).trace
    whole = ask(made)
    assert not {note.code for note in whole.notes} & {"replayed_steps", "ranked_rows"}
    size = len(made.ops) + len(made.launches) + len(made.kernels)
    monkeypatch.setattr(replayed_part, "_EVENTS", size // 4)
    part = ask(simulate(steps).trace)  # the ranking of the other one is kept
    (note,) = (note for note in part.notes if note.code == "replayed_steps")
    # The first of the five that fit leads in.
    assert note.message == f"Gains are those of 4 of {len(whole.steps)} steps."
    assert len(part.steps) == 4
    assert part.measured_ns == whole.measured_ns
    assert whole.measured_ns is not None
    names = {(row.kind, row.name): row for row in whole.rows}
    assert {(row.kind, row.name) for row in part.rows} == set(names)
    for row in part.rows:
        other = names[row.kind, row.name].free_gain_ns
        assert row.free_gain_ns == pytest.approx(other, rel=0.1, abs=0.01 * whole.measured_ns)


def test_of_a_step_that_is_very_long_few_rows_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_WORK", 1)
    found = ask(waiting())
    assert len(found.rows) == 3
    assert "ranked_rows" in {note.code for note in found.notes}


def test_tables() -> None:
    found = ask(waiting(), "kernel:mm=0.5")
    assert csv.csv_table(found, "steps").splitlines()[1].startswith("ProfilerStep#1,80000,60000")
    assert found.tables == ("rows", "choices", "changes", "steps", "classes", "path", "notes")


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda path: path.parent.name)
def test_real_traces(path: Path) -> None:
    """Nothing changed, nothing gained; faster is never slower; the path is the step."""
    made = load(path)
    whole = ask(made, limit=6)
    if not whole.measured_ns:
        return
    assert (whole.gain_ns, whole.gain_low_ns, whole.gain_high_ns) == (0, 0, 0)
    assert sum(c.path_ns for c in whole.classes) == pytest.approx(whole.measured_ns, abs=12)
    assert whole.replay_error_share == pytest.approx(0, abs=0.02)
    for row in whole.rows:
        assert -1 <= row.half_gain_ns <= row.free_gain_ns + 1
        if row.free_gain_low_ns is not None and row.free_gain_high_ns is not None:
            assert 0 <= row.free_gain_low_ns <= row.free_gain_ns <= row.free_gain_high_ns
            assert row.free_gain_low_ns < row.free_gain_high_ns
    if whole.rows:
        assert ask(made, f"{whole.choices[0].text}=1", ranking=False).gain_ns == 0


def test_over_http_as_on_the_command_line() -> None:
    """Nothing in it is a column, and no option has the name of a selection."""
    assert encode_columns(ask(waiting(), "kernel:mm=0.5")) is None
    options = {name for name, _, _ in signature.query_of(whatif)}
    assert not options & {"run", "rank", "span"}


def test_only_steady_steps_count() -> None:
    """A step that starts up is no part of the mean, and a note says so."""
    made = slow_launch("gemm", 20_000).trace()
    found = ask(made)
    lengths = (made.steps.end_ns - made.steps.start_ns)[1:]
    assert found.measured_ns == round(float(lengths.mean()))
    assert len(found.steps) == len(lengths)
    assert sum(one.path_ns for one in found.classes) == pytest.approx(found.measured_ns, abs=12)
    (note,) = [note for note in found.notes if note.code == "steady_steps"]
    few = len(lengths)
    assert str(note.message).startswith(f"{few} of {few + 1} complete steps are steady")
    number = made.text(made.steps.name[0]).split("#")[1]
    (first,) = ask(made, step=number).steps
    assert first.name == made.text(made.steps.name[0])


def test_without_a_steady_step_a_note_says_so() -> None:
    """The recording is of a start-up: its gains are not those of later steps."""
    made = trace(
        op("aten::empty", 0, 6_000_000), called("cudaMalloc", 0, 5_000_000),
        called("cudaFree", 5_000_010, 5_000_020), called("cudaFree", 5_000_030, 5_000_040),
        launch(5_500_000, 5_500_010, 1), kernel("gemm", 5_500_020, 5_900_000, 1),
    )  # fmt: skip
    (note,) = [note for note in ask(made).notes if note.code == "not_steady"]
    assert note.hint


def test_the_ranking_of_the_same_step_and_changes_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, asked = inferred(), []
    rank_gains = ranking.rank_gains

    def counted(*arguments: Any) -> ranking.Ranking:
        asked.append(arguments[-2:])
        return rank_gains(*arguments)

    monkeypatch.setattr(ranking, "rank_gains", counted)
    first = ask(made)
    assert ask(made) == first
    assert len(asked) == 1
    assert len(ask(made, limit=1).rows) == 1
    assert ask(made, "class:python=0").rows
    assert len(asked) == 3


def test_a_ranking_that_fails_leaves_the_prediction(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise IndexError("a mistake")

    made = inferred()
    expected = ask(made, ranking=False)
    monkeypatch.setattr(ranking, "rank_gains", fails)
    found = ask(made)
    (note,) = (note for note in found.notes if note.code == "internal")
    assert note.message == "The ranking of savings failed: IndexError: a mistake"
    assert replace(found, notes=expected.notes) == expected
    (record,) = caplog.records
    assert record.exc_info is not None
    chinese.check((note.message, note.hint or ""))


def test_predicted_steps_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones are listed; means are of all."""
    made = simulate([step(i, Op("aten::mm", 9000, 1000, 9000)) for i in range(12)]).trace
    whole = ask(made)
    monkeypatch.setattr("tb_privateuse1.views.whatif.MOST_STEPS", 4)
    part = ask(made)
    assert part.steps == whole.steps[:4]
    assert (part.predicted_total, part.measured_ns) == (len(whole.steps), whole.measured_ns)
