"""What torch's profiler says of a live program beside its table, and what is read of its files."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

import tb_privateuse1 as tbp
from tb_privateuse1.analysis.operators import groups
from tb_privateuse1.export.taken import recorded_calls
from tb_privateuse1.trace import labels
from tb_privateuse1.trace.groupby import counted_operators
from tb_privateuse1.trace.model import Trace
from tests.support import live_figures


class Live(Struct, frozen=True):
    """The folder of a recording with its memory timeline, and torch's figures."""

    folder: Path
    figures: dict[str, Any]

    def trace(self) -> Trace:
        """Return the recording, with the memory timeline beside it."""
        return tbp.open(self.folder).trace()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """Return the recording of the program, with all that torch can record on a CPU."""
    folder = tmp_path_factory.mktemp("live")
    return Live(folder, live_figures.record(folder / "w.1.pt.trace.json"))


BACKWARD = "<built-in method run_backward"
LEFT_OUT = ("torch/autograd/__init__.py", "torch/_tensor.py")
"""Files with frames that torch's events lack and its file has (``_filter_stack_entry``)."""


def frames(stack: str) -> list[str]:
    return [frame for frame in stack.split(";") if frame and not frame.startswith(LEFT_OUT)]


def test_stacks_are_those_of_torchs_events(live: Live) -> None:
    """Torch's events of a backward pass have the stack of the forward pass; its file has not."""
    trace = live.trace()
    rows = np.flatnonzero(counted_operators(trace)).tolist()
    theirs = live.figures["operators"]
    assert [trace.text(trace.ops.name[row]) for row in rows] == [name for name, _, _ in theirs]
    forward = set()
    for row, (_, stack, _) in zip(rows, theirs, strict=True):
        ours = groups.python_stack(trace, row) or ""
        if ours.startswith(BACKWARD):
            assert not frames(stack) or frames(stack) == frames(ours) or stack in forward
        else:
            assert frames(ours) == frames(stack)
            forward.add(stack)
    assert len(forward) > 10


def test_calls_and_times_by_stack_are_torchs(live: Live) -> None:
    trace = live.trace()
    rows = np.flatnonzero(counted_operators(trace)).tolist()
    theirs: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for row, (name, _, own_ns) in zip(rows, live.figures["operators"], strict=True):
        theirs[name, groups.call_site_of(groups.python_stack(trace, row))].append(own_ns)
    found = tbp.open(live.folder).operators(group="stack", window="all").rows
    ours = {(row.name, groups.call_site_of(row.stack)): row for row in found}
    assert len(ours) > 20
    assert {key: (row.calls, row.host_self_ns) for key, row in ours.items()} == {
        key: (len(times), sum(times)) for key, times in theirs.items()
    }


def test_memory_with_the_operators_inside_is_torchs(live: Live) -> None:
    rows = {row.name: row for row in tbp.open(live.folder).operators(window="all").rows}
    theirs = live.figures["memory"]
    assert {name: rows[name].host_memory_self_bytes or 0 for name in theirs} == {
        name: own for name, (own, _) in theirs.items()
    }
    assert {name: rows[name].host_memory_bytes or 0 for name in theirs} == {
        name: whole for name, (_, whole) in theirs.items()
    }
    assert sum(whole > own for own, whole in theirs.values()) > 2


def test_the_memory_timeline_has_torchs_sums_by_category(live: Live) -> None:
    trace = live.trace()
    series, samples = trace.counter_series, trace.counter_samples
    ours = {
        trace.text(key): samples.value[samples.series == row].tolist()
        for row, key in enumerate(series.key.tolist())
    }
    theirs = live.figures["categories"]
    assert ours.keys() == theirs.keys()
    for category, values in theirs.items():
        assert ours[category][-1] == values[-1]
        # Torch merges what happens within a microsecond, so that it may have fewer values.
        assert set(values) <= {0, *ours[category]}


def test_what_the_program_added_is_read(live: Live) -> None:
    facts = {fact.label: fact.value for fact in labels.run(live.trace())}
    added = {"note": live_figures.ADDED["note"], "model": '{"layers":[2,3]}', "batch": "32"}
    assert added.items() <= facts.items()


def test_what_should_benchmark_measures_again_is_what_is_taken_away(live: Live) -> None:
    """Torch multiplies recorded times by what it measures of their shapes: these are the same."""
    theirs: dict[Any, list[int]] = defaultdict(list)
    for shapes, time_ns in live.figures["products"]:
        theirs[tuple(map(tuple, shapes))].append(time_ns)
    assert len(theirs) > 2
    assert "(2.0X)" in live.figures["summary"]
    trace = live.trace()
    every = np.ones(len(trace.ops), np.bool_)
    ours: dict[Any, list[recorded_calls.RecordedCall]] = defaultdict(list)
    for call in recorded_calls.most_time(trace, every, 100, "aten::mm"):
        tensors = (one for one in call.inputs if isinstance(one, recorded_calls.TensorInput))
        ours[tuple(one.tensor for one in tensors)].append(call)
    assert {key: sum(call.recorded.calls for call in calls) for key, calls in ours.items()} == {
        key: len(times) for key, times in theirs.items()
    }
    for key, calls in ours.items():
        if len(calls) == 1:  # else calls differ in their strides, which torch does not regard
            assert calls[0].recorded.host_ns == round(statistics.median(theirs[key]))
