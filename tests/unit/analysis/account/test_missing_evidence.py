"""What a recording lacks to explain its idle time, in sentences."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.account.table import account_table
from tests.support.make import kernel, launch, op, span, trace


def lacks(*events: dict[str, object]) -> tuple[str, ...]:
    made = trace(op("x", 0, 900), *events)
    return account_table(made, (np.array([0]), np.array([900_000]))).missing


def test_a_gap_before_a_node_of_a_replay_is_the_graphs() -> None:
    replay = span("cuda_runtime", "cudaGraphLaunch", 5, 10, correlation=1)
    said = lacks(replay, kernel("a", 12, 100, 1), kernel("b", 500, 900, 1))
    assert [one for one in said if one.startswith("In 44.4 % of the time")] == [
        "In 44.4 % of the time the device stands still before a recorded node of a graph that it "
        "replays. Nodes that are not recorded may run there, or a branch of the graph waits for "
        "another one."
    ]
    assert not any("with work in its queue" in one for one in said)


def test_a_gap_before_another_launch_is_not() -> None:
    replay = span("cuda_runtime", "cudaGraphLaunch", 5, 10, correlation=1)
    said = lacks(
        replay, kernel("a", 12, 50, 1), kernel("b", 50, 100, 1), launch(20, 25, 2),
        kernel("c", 500, 900, 2),
    )  # fmt: skip
    assert any("with work in its queue" in one for one in said)
    assert not any("of a graph" in one for one in said)
