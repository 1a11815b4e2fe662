"""From a kernel to its line of Python, and back."""

from __future__ import annotations

import pytest

from tb_privateuse1.trace import labels
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.links import links
from tests.support.lookups import ask
from tests.support.make import annotation, frame, kernel, launch, memory, op, step, trace

BACKWARD = {"Sequence number": 7, "Fwd thread id": 1}


def some() -> Trace:
    return trace(
        step(1, 0, 100), frame("train.py(12): main", 0, 90),
        frame("torch/nn/linear.py(5): forward", 4, 45),
        op("aten::linear", 5, 40, 1, **{"Sequence number": 7, "Fwd thread id": 0}),
        op("aten::addmm", 10, 30, 2), launch(12, 14, 1), op("MmBackward0", 60, 70, 3, **BACKWARD),
        op("alone", 80, 85, 4), kernel("gemm", 50, 60, 1), kernel("unlinked", 70, 75),
    )  # fmt: skip


def row(one: Trace, table: str, name: str) -> int:
    rows = getattr(one, table)
    return [one.text(n) for n in rows.name].index(name)


def test_from_a_kernel_to_its_function() -> None:
    one = some()
    found = ask(links, one, table="kernels", index=row(one, "kernels", "gemm"))
    assert (found.operator.name, found.launch.name) == ("aten::addmm", "cudaLaunchKernel")
    assert [p.name for p in found.parents] == ["aten::linear", "ProfilerStep#1"]
    assert [f.name.split(": ")[1] for f in found.frames] == ["forward", "main"]
    assert found.where.title == "main (train.py)"
    assert (found.evidence, found.item.bound_ns, found.step) == ("measured", 0, "ProfilerStep#1")


@pytest.mark.parametrize(
    ("base_ns", "first_us", "expected"),
    [
        (1_790_857_026_000_000_000, 4_370_680_496_023, 1_795_227_706_496_073),
        (0, 1_623_142_623_460_111, 1_623_142_623_460_161),  # up to torch 2.2
        (0, 4_458_676_522_690, None),  # since the machine's start
    ],
)
def test_when_it_started_by_the_clock(base_ns: int, first_us: int, expected: int | None) -> None:
    events = (op("a", first_us, first_us + 99), kernel("k", first_us + 50, first_us + 60))
    one = trace(*events, baseTimeNanoseconds=base_ns)
    assert ask(links, one, table="kernels", index=0).unix_us == expected
    facts = {fact.label: fact.value for fact in labels.run(one)}
    assert facts.get("Recorded at") == {
        1_795_227_706_496_073: "2026-11-21 02:21:46 UTC",
        1_623_142_623_460_161: "2021-06-08 08:57:03 UTC",
    }.get(expected or 0)


def test_from_an_operator_to_its_kernels_and_its_backward() -> None:
    one = some()
    found = ask(links, one, table="ops", index=row(one, "ops", "aten::linear"))
    assert ([k.name for k in found.kernels], found.kernels_ns) == (["gemm"], 10_000)
    assert [b.name for b in found.backward] == ["MmBackward0"]
    back = ask(links, one, table="ops", index=row(one, "ops", "MmBackward0"))
    assert (back.forward.name, back.kernels_count) == ("aten::linear", 0)
    alone = ask(links, one, table="ops", index=row(one, "ops", "alone"))
    assert (alone.kernels, alone.forward, alone.backward) == ((), None, ())


def test_from_a_launch_to_its_kernels() -> None:
    one = some()
    found = ask(links, one, table="launches", index=0)
    assert found.operator.name == "aten::addmm"
    assert ([k.name for k in found.kernels], found.kernels_count) == (["gemm"], 1)
    assert (found.kernels_ns, found.kernels_bound_ns) == (10_000, 0)


def test_a_kernel_knows_its_place_among_those_of_its_launch() -> None:
    one = trace(op("a", 0, 90, id=1), launch(2, 4, 1), launch(5, 6, 2), kernel("k", 10, 20, 1),
                kernel("alone", 12, 15, 2, stream=8), kernel("l", 20, 30, 1),
                kernel("m", 25, 40, 1, stream=8), kernel("lost", 50, 60))  # fmt: skip
    found = {
        one.text(one.kernels.name[i]): ask(links, one, table="kernels", index=i)
        for i in range(len(one.kernels))
    }
    assert {name: (of.node, of.nodes) for name, of in found.items()} == {
        "k": (1, 3), "l": (2, 3), "m": (3, 3), "alone": (None, None), "lost": (None, None),
    }  # fmt: skip
    call = ask(links, one, table="launches", index=0)
    assert (call.node, call.nodes) == (None, None)


def test_what_has_no_links() -> None:
    one = some()
    found = ask(links, one, table="kernels", index=row(one, "kernels", "unlinked"))
    assert (found.operator, found.launch, found.parents, found.where) == (None, None, (), None)
    assert ask(links, one, table="steps").item.name == "ProfilerStep#1"
    frames = ask(links, one, table="frames", index=1)
    assert [f.name for f in frames.frames] == ["train.py(12): main"]


@pytest.mark.parametrize("index", [-1, 2, 10**9])
def test_a_row_that_is_not_there(index: int) -> None:
    with pytest.raises(TraceError, match="There is no row"):
        ask(links, some(), table="kernels", index=index)


def test_the_ways_to_other_pages() -> None:
    one = trace(
        frame("train.py(1): f", 0, 90), frame("nn.Module: Net_0", 1, 50),
        annotation("part", 2, 45), op("aten::mm", 5, 20, 1), memory(6, 4096, 4096),
        op("aten::add", 7, 9), memory(8, 512, 4608), launch(10, 11, 1),
        kernel("ncclDevKernel_AllReduce_Sum", 30, 40, 1), op("outside", 60, 70),
    )  # fmt: skip
    part = ask(links, one, table="ops", index=row(one, "ops", "part"))
    assert (part.annotation, part.module, part.memory_events) == (True, "Net_0", 2)
    mm = ask(links, one, table="ops", index=row(one, "ops", "aten::mm"))
    assert (mm.annotation, mm.module, mm.collective, mm.memory_events) == (False, "Net_0", None, 2)
    talk = ask(links, one, table="kernels", index=0)
    assert (talk.collective, talk.module, talk.memory_events) == ("all_reduce", "Net_0", 0)
    outside = ask(links, one, table="ops", index=row(one, "ops", "outside"))
    assert (outside.module, outside.memory_events) == (None, 0)
    module = ask(links, one, table="frames", index=row(one, "frames", "nn.Module: Net_0"))
    assert (module.module, module.annotation) == ("Net_0", False)
    around = ask(links, one, table="frames", index=row(one, "frames", "train.py(1): f"))
    assert around.module is None


def test_the_function_of_a_backward_operator_is_that_of_its_forward_one() -> None:
    forward = {"Sequence number": 7, "Fwd thread id": 0}
    one = trace(
        frame("model.py(31): forward", 0, 50), frame("nn.Module: Net_0", 1, 45),
        op("aten::mm", 5, 20, 1, **forward),
        op("MmBackward0", 60, 80, 2, tid=2, **BACKWARD), op("aten::mm", 62, 78, 3, tid=2),
        op("aten::alone", 85, 89, 4, tid=2),
        launch(63, 64, 1, tid=2), kernel("gemm", 90, 99, 1),
    )  # fmt: skip
    gemm = ask(links, one, table="kernels", index=0)
    assert (gemm.where.title, gemm.where_forward) == ("forward (model.py)", True)
    assert (gemm.frames, gemm.module) == ((), "Net_0")
    first = ask(links, one, table="ops", index=0)
    assert (first.where.title, first.where_forward) == ("forward (model.py)", False)
    alone = ask(links, one, table="ops", index=row(one, "ops", "aten::alone"))
    assert (alone.where, alone.where_forward, alone.module) == (None, False, None)
