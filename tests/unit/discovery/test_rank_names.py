"""Ranks that names of files and of processes say."""

import pytest

from tb_privateuse1.discovery.workers import named_ranks


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["rank-3", "rank3_step100", "prof_3", "worker3"], [3, 3, 3, 3]),
        (["17.6-TP-0-DECODE", "17.6-TP-0-EXTEND", "17.6-TP-1-DECODE"], [0, 0, 1]),
        (["m [TP00-EP00]", "m [TP01-EP01]"], [0, 1]),
        (["17-TP-0-DP-0", "17-TP-1-DP-0", "17-TP-0-DP-1", "17-TP-1-DP-1"], [0, 1, 2, 3]),
        (["17-TP-0-PP-0", "17-TP-0-PP-1"], [0, 1]),
        (["17-TP-2-DP-1", "17-TP-3-DP-1"], [2, 3]),
        (["dp0_pp0_tp1_dcp0_ep1_rank1"], [1]),
    ],
)
def test_a_name_says_a_rank(names: list[str], ranks: list[int]) -> None:
    assert named_ranks(names) == dict(zip(names, ranks, strict=True))


@pytest.mark.parametrize(
    "name", ["host_1234", "http-1", "tp", "step3", "worker_a", "prof_3_late", "frank3", "fit-train"]
)
def test_other_names_say_none(name: str) -> None:
    assert named_ranks([name]) == {}
