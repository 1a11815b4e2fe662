"""What a recording lacks to explain its idle time, in sentences."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.account.table import account_table
from tests.support.make import kernel, launch, op, span, trace


def lacks(*events: dict[str, object]) -> tuple[str, ...]:
    made = trace(op("x", 0, 900), *events)
    return account_table(made, (np.array([0]), np.array([900_000]))).missing


def test_a_gap_between_two_nodes_of_a_replay_is_the_graphs() -> None:
    replay = span("cuda_runtime", "cudaGraphLaunch", 5, 10, correlation=1)
    said = lacks(replay, kernel("a", 12, 100, 1), kernel("b", 500, 900, 1))
    assert [one for one in said if one.startswith("In 44 % of the time")] == [
        "In 44 % of the time the device stands still between two nodes of a graph that it replays. "
        "Nodes that are not recorded may run there, or a branch of the graph waits for another one."
    ]
    assert not any("with work in its queue" in one for one in said)


def test_a_gap_before_a_replay_is_not() -> None:
    replay = span("cuda_runtime", "cudaGraphLaunch", 20, 25, correlation=2)
    said = lacks(
        launch(5, 10, 1), kernel("a", 12, 100, 1), replay, kernel("b", 500, 510, 2),
        kernel("c", 510, 900, 2),
    )  # fmt: skip
    assert any("with work in its queue" in one for one in said)
    assert not any("of a graph" in one for one in said)
