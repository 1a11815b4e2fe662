"""Changes as text, their scope, and their effect on a replay: by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation import baseline, changes, dependency_graph, prediction
from tb_privateuse1.analysis.simulation.changes import KINDS, Change
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support.make import annotation, frame, kernel, launch, op, step, trace
from tests.unit.analysis.simulation.test_dependency_graph import waiting

US = 1000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("aten::mm=0.5", Change("operator", "aten::mm", 0.5)),
        ("mm=0", Change("kernel", "mm", 0)),
        ("operator:aten::mm=2", Change("operator", "aten::mm", 2)),
        ("kernel:mm=0.1", Change("kernel", "mm", 0.1)),
        ("category:gemm=0.5", Change("category", "gemm", 0.5)),
        ("launches=0.5", Change("launches", "", 0.5)),
        ("synchronization=0", Change("synchronization", "", 0)),
    ],
)
def test_a_change_in_words(text: str, found: Change) -> None:
    """A change is parsed and printed."""
    assert changes.parse_changes(waiting(), text) == (found,)
    assert changes.parse_changes(waiting(), found.text) == (found,)


def test_several_changes() -> None:
    """Lines are separate changes."""
    assert len(changes.parse_changes(waiting(), "aten::mm=0.5\n\n copies=0 \nmm=0.5")) == 3
    assert changes.parse_changes(waiting(), None) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("aten::mm", "is no change"),
        ("aten::mm=fast", "is no change"),
        ("aten::mm=-1", "is no change"),
        ("aten::mm=nan", "is no change"),
        ("aten::mm=101", "is no change"),
        ("aten::mn=0.5", "There is no operator 'aten::mn'"),
        ("kernel:aten::mm=0.5", "There is no kernel"),
        ("category:x=0", "There is no category"),
        ("synchronization=0.5", "cannot be scaled"),
        ("\n" * 200 + "mm=1", "more than 100"),
    ],
)
def test_invalid_changes_are_refused(text: str, says: str) -> None:
    """Invalid texts raise ``bad_change``."""
    with pytest.raises(TraceError, match=says) as error:
        changes.parse_changes(waiting(), text)
    assert error.value.code == "bad_change"


def test_a_near_name_is_offered() -> None:
    """An unknown name gives similar names."""
    with pytest.raises(TraceError) as error:
        changes.parse_changes(waiting(), "operator:aten::mn=0.5")
    assert error.value.hint == "Near to it: aten::mm, aten::add."


def gain(made: Trace, text: str, findings: Mapping[str, Scope] = MappingProxyType({})) -> float:
    """Return the saving in µs, over all steps."""
    graph = dependency_graph.build_graph(made)
    base = baseline.replay_baseline(made, graph)
    found = prediction.predict(made, graph, base, changes.parse_changes(made, text, findings))
    one = found.mean(np.arange(len(made.steps)))
    assert one.low_ns is not None
    assert one.high_ns is not None
    assert one.low_ns <= one.gain_ns <= one.high_ns
    return float(found.gain.sum()) / US


@pytest.mark.parametrize(
    ("text", "us"),
    [
        # mm ends at 37, add runs from 38 to 58, the wait returns at 60.
        ("kernel:mm=0.5", 20),
        # add is launched at 32 and starts at 37, ends at 57; the wait returns at 59.
        ("kernel:mm=0", 21),
        # The host is 10 earlier, too: add starts at 27 and ends at 47, the wait returns at 49.
        ("operator:aten::mm=0", 31),
        # The host ends at 70, the device at 78.
        ("synchronization=0", 22),
        # mm starts at 12; the host's own time of the launches passes while it runs.
        ("launches=0", 5),
        ("kernel:add=0.5", 10),
        ("kernel:mm=0.5\nkernel:add=0.5", 30),
        ("kernel:mm=0.5\nkernel:mm=0.5", 21),
        ("kernel:mm=2", -40),
        ("category:gemm=0", 31),
        ("copies=0", 0),
        ("communication=0", 0),
        ("data_loader=0", 0),
    ],
)
def test_savings_of_changes(text: str, us: float) -> None:
    """Each change has the saving computed by hand."""
    assert gain(waiting(), text) == us


@pytest.mark.parametrize("kind", KINDS)
def test_a_factor_of_one_changes_nothing(kind: str) -> None:
    """A factor of 1 saves nothing."""
    names = {
        "operator": ":aten::mm", "kernel": ":mm", "category": ":gemm", "module": ":Linear",
        "function": ":nn.Module: Linear_0", "call": ":cudaLaunchKernel", "class": ":python",
        "finding": ":casts",
    }  # fmt: skip
    made = modules()
    findings = {"casts": changes.change_scope(made, changes.Change("kernel", "mm", 0))}
    assert gain(made, f"{kind}{names.get(kind, '')}=1", findings) == 0


def test_a_finding_is_the_set_of_its_rows() -> None:
    """By name it is known only where there is such a finding; a text reads as it is written."""
    made = waiting()
    findings = {"casts#2": changes.change_scope(made, changes.Change("kernel", "mm", 0))}
    assert gain(made, "finding:casts#2=0", findings) == gain(made, "kernel:mm=0") > 0
    (change,) = changes.parse_changes(made, "finding:casts#2=0", findings)
    assert change.text == "finding:casts#2=0"
    with pytest.raises(TraceError, match="no finding 'casts'") as failed:
        changes.parse_changes(made, "finding:casts=0", findings)
    assert "casts#2" in (failed.value.hint or "")


def modules() -> Trace:
    """Build a module with a forward and a backward operator, and a batch."""
    return trace(
        step(1, 0, 100),
        annotation("enumerate(DataLoader)#x.__next__", 0, 10),
        frame("nn.Module: Linear_0", 10, 40),
        op("aten::mm", 15, 35, **{"Sequence number": 4, "Fwd thread id": 0}),
        launch(16, 17, 1),
        kernel("mm", 18, 30, 1),
        op("MmBackward0", 50, 70, **{"Sequence number": 4, "Fwd thread id": 1}),
        launch(52, 53, 2),
        kernel("back", 60, 65, 2),
    )


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("module:Linear=0", 50),  # 30 of the forward pass and 20 of its gradient
        ("module:Linear_0=0.5", 25),
        ("data_loader=0", 8.75),  # the middle of all of it and of three quarters
        ("operator:aten::mm=0", 20),
        ("function:nn.Module: Linear_0=0", 50),
        ("class:input=0", 8.75),
        ("class:dispatch=0", 38),  # the operators, without two calls of 1
        ("call:cudaLaunchKernel=0", 2),
        ("class:launch_call=0.5", 1),
        ("class:python=0", 50),  # all that is neither an operator nor the batch
    ],
)
def test_modules_and_batches(text: str, us: float) -> None:
    """Modules and data loading can be scaled."""
    assert gain(modules(), text) == us


def test_a_module_takes_its_gradients_along() -> None:
    """The engine adds a gradient up behind the node that computed it, of whatever module."""
    add = "torch::autograd::AccumulateGrad"
    made = trace(
        step(1, 0, 100),
        frame("nn.Module: Linear_0", 0, 20),
        op("aten::mm", 5, 15, **{"Sequence number": 4, "Fwd thread id": 0}),
        op("aten::relu", 25, 30, **{"Sequence number": 5, "Fwd thread id": 0}),
        op("ReluBackward0", 40, 45, **{"Sequence number": 5, "Fwd thread id": 1}),
        op(add, 46, 49),
        op("MmBackward0", 50, 60, **{"Sequence number": 4, "Fwd thread id": 1}),
        op(f"autograd::engine::evaluate_function: {add}", 61, 68),
        op(add, 62, 67),
        op("aten::add_", 63, 66),
    )
    assert gain(made, "module:Linear_0=0") == 20 + 10 + 7


def test_scope_of_a_module() -> None:
    """A module's scope includes its backward pass."""
    made = modules()
    (change,) = changes.parse_changes(made, "Linear_0=0")
    assert change.kind == "module"
    assert changes.change_scope(made, change).kernels.tolist() == [True, True]
