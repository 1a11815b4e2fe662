"""Exposed communication."""

from typing import Any

import pytest

from tb_privateuse1.advice.rules.exposed_communication import RULE
from tests.support import make
from tests.support.program import Program, found


def program(beside: bool) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            run.launched += 1
            begin = run.device if not beside else run.device - 300
            run.events.append(make.launch(run.now, run.now + 1, run.launched))
            talk = make.kernel(
                "ncclDevKernel_AllReduce", begin, begin + 200, run.launched, stream=9
            )
            run.events.append(talk)
            run.device = max(run.device, begin + 200)
            run.wait()
    return run


def test_it_is_found_with_its_cost() -> None:
    (row,) = found(RULE, program(beside=False).trace())
    assert row.saving_ns == pytest.approx(3 * 200_000, rel=0.05)
    assert row.events == 3


def test_hidden_communication_is_fine() -> None:
    assert found(RULE, program(beside=True).trace()) == []


def test_overlap_hides_no_more_than_there_is_to_compute() -> None:
    """0.4 ms of computation beside 1.4 ms of communication: a step takes 1.4 ms at least."""
    (row,) = found(RULE, sized(1600).trace())
    assert "Overlap alone leaves 59.6 % of the time" in row.explanation
    (row,) = found(RULE, sized(300).trace())
    assert "Overlap alone" not in row.explanation


def test_without_communication_there_is_nothing() -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 10, kernel=400)
    assert found(RULE, run.trace()) == []


def layers(run: Program, kind: str) -> None:
    for _ in range(5):
        run.op("aten::mm", 10, kernel=100)
        if kind:
            run.op("c10d::collective_", 5, kernel=100, device=kind)
    run.op("aten::mm", 10, kernel=100)


def training(kind: str, forward: bool = False) -> Program:
    """Steps with a forward and a backward pass, and collectives between kernels of one of them."""
    run = Program()
    for number in range(3):
        links: dict[str, Any] = {"Sequence number": number}
        back = {**links, "Fwd thread id": 1}
        with run.step():
            run.op("aten::mm", 10, kernel=100, **links)
            layers(run, kind if forward else "")
            with run.around("autograd::engine::evaluate_function: MmBackward0", **back):
                layers(run, kind)
            run.wait()
    return run


def test_sums_in_the_backward_pass_could_run_beside_it() -> None:
    (row,) = found(RULE, training("ncclDevKernel_AllReduce").trace())
    assert "Of that time: 100 % all_reduce." in row.explanation
    assert "reads no gradient" in row.explanation
    assert "async_op=True" in row.fix


def test_sums_in_the_forward_pass_are_of_split_products() -> None:
    (row,) = found(RULE, training("ncclDevKernel_AllReduce", forward=True).trace())
    assert "the next product waits" in row.explanation
    assert "sequence parallelism" in row.fix


def test_an_exchange_between_all_is_of_experts() -> None:
    (row,) = found(RULE, training("ncclDevKernel_AllToAll", forward=True).trace())
    assert "all_to_all" in row.explanation
    assert "micro-batch" in row.fix


def recommender(*, exchange_us: float, sum_us: float) -> Program:
    """Build steps that look up tables, exchange the embeddings, and sum gradients at their end."""
    run = Program()
    for number in range(3):
        links: dict[str, Any] = {"Sequence number": number}
        with run.step():
            run.op("aten::embedding_bag", 10, kernel=100, **links)
            run.op("c10d::alltoall_base_", 5, kernel=exchange_us, device="ncclDevKernel_AllToAll")
            run.op("c10d::reduce_scatter_", 5, kernel=20, device="ncclDevKernel_ReduceScatter")
            run.op("aten::mm", 10, kernel=100)
            with run.around(
                "autograd::engine::evaluate_function: MmBackward0", **links, **{"Fwd thread id": 1}
            ):
                run.op("aten::mm", 10, kernel=100)
                run.op("c10d::allreduce_", 5, kernel=sum_us, device="ncclDevKernel_AllReduce")
            run.wait()
    return run


def test_an_exchange_behind_lookups_is_of_embeddings() -> None:
    """STORY 1.6: the advice for a recommender was tensor parallelism."""
    (row,) = found(RULE, recommender(exchange_us=500, sum_us=100).trace())
    assert "exchanges embeddings" in row.explanation
    assert "torchrec" in row.fix
    assert {one.name for one in row.evidence} == {"ncclDevKernel_AllToAll"}


def test_a_small_sum_in_the_forward_pass_is_no_tensor_parallelism() -> None:
    """The events are those of the kind with most of the time."""
    (row,) = found(RULE, recommender(exchange_us=100, sum_us=500).trace())
    assert "next product waits" not in row.explanation
    assert {one.name for one in row.evidence} == {"ncclDevKernel_AllReduce"}


def sized(us: float, ranks: int = 8) -> Program:
    """Steps with an all_reduce of 64 MiB over some ranks, on a node with eight devices."""
    run = Program()
    args: dict[str, Any] = {
        "Collective name": "allreduce", "In msg nelems": 1 << 24, "Out msg nelems": 1 << 24,
        "dtype": "Float", "Group size": ranks, "Process Group Name": "0",
    }  # fmt: skip
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            run.launch("ncclDevKernel_AllReduce", us, **args)
            run.wait()
    return run


H100S = [{"id": i, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9} for i in range(8)]


def test_links_that_are_hardly_used_are_named() -> None:
    (row,) = found(RULE, sized(10_000).trace(deviceProperties=H100S))
    assert "moves 11.7 GB/s, while NVLink" in row.explanation


def test_links_that_are_used_or_lead_elsewhere_are_not() -> None:
    for run in (sized(400), sized(10_000, ranks=16)):
        (row,) = found(RULE, run.trace(deviceProperties=H100S))
        assert "NVLink" not in row.explanation
