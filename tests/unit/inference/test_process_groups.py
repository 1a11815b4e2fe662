"""Process groups as torch, frameworks and hostile files write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.inference.process_groups import configured_groups
from tb_privateuse1.trace.process_groups import (
    MOST_GROUPS,
    MOST_RANKS,
    ProcessGroup,
    count_ranks,
    members,
    runs_of,
    stride_of,
    text_of,
)
from tests.support.make import kernel, launch, op, step, trace
from tests.support.parallel_runs import info, text_of_config


def configured(config: Any, world: Any = 16) -> list[ProcessGroup]:
    return configured_groups({"distributedInfo": {"world_size": world, "pg_config": config}})


def test_as_a_list_and_as_a_text() -> None:
    listed = configured(info(5)["pg_config"])
    assert listed == configured(text_of_config(5))
    assert [(g.name, g.purpose, g.size, g.runs) for g in listed] == [
        ("0", "default_pg", 16, ((0, 16, 1),)),
        ("dp5", "mesh_dp", 2, ((5, 2, 8),)),
        ("pp1", "mesh_pp", 2, ((1, 2, 4),)),
        ("tp4", "mesh_tp", 4, ((4, 4, 1),)),
    ]


def test_as_a_flight_recorder_has_them() -> None:
    (group,) = configured({"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}})
    assert (group.name, group.purpose, group.runs) == ("0", "default_pg", ((0, 3, 1),))


@pytest.mark.parametrize(
    ("ranks", "size", "runs"),
    [
        ("[0, 8, 16]", 3, ((0, 3, 8),)),
        ("[0, 1, ..., 127]", 128, ((0, 128, 1),)),
        ("[0, 1, ..., 127]", 64, None),
        ("[0, 8, ..., 50]", None, None),
        ("[0, 1, 2, ...]", 128, None),
        ([], 16, ((0, 16, 1),)),
        ([], 4, None),
        ([3, 1, 1], 2, ((1, 2, 2),)),
        ([7], 1, ((7, 1, 1),)),
    ],
)
def test_lists_of_ranks(ranks: Any, size: int | None, runs: Any) -> None:
    (group,) = configured([{"pg_name": "g", "pg_size": size, "ranks": ranks}])
    assert group.runs == runs
    assert group.size == (size if runs is None else count_ranks(runs))


HOSTILE: list[Any] = [
    None, 5, "", "[", "[" * 100_000, {"a": 1}, [None, 3, [], {}], [{"pg_name": []}],
    [{"pg_name": True, "ranks": [0]}],
]  # fmt: skip


@pytest.mark.parametrize("config", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_group_is_skipped(config: Any) -> None:
    assert configured(config) == []


@pytest.mark.parametrize(
    "ranks",
    ["x", "[0, 99999999999999999999]", [0, -1], [0, 1.5], [True], [1 << 40], {"0": 1}, [[0]]],
)
def test_impossible_ranks_are_unknown(ranks: Any) -> None:
    (group,) = configured([{"pg_name": "g", "pg_size": 1 << 70, "ranks": ranks}])
    assert (group.size, group.runs) == (None, None)


@pytest.mark.long
def test_sizes_are_bounded() -> None:
    many = [{"pg_name": str(i), "ranks": [0, 1]} for i in range(MOST_GROUPS + 5)]
    assert len(configured(many)) == MOST_GROUPS
    (group,) = configured([{"pg_name": "a" * 9999, "ranks": f"[0, 1, ..., {MOST_RANKS + 1}]"}])
    assert (len(group.name), group.runs) == (256, None)


def of_arguments(**args: Any) -> tuple[ProcessGroup, ...]:
    told = {"Collective name": "allreduce", "dtype": "Float", "Process Group Name": "4", **args}
    made = trace(step(0, 0, 100), op("x", 1, 9), launch(2, 3, 1), kernel("nccl", 20, 30, 1, **told))
    return made.meta.groups


def test_groups_of_arguments() -> None:
    cut = "[" + ", ".join(map(str, range(0, 240, 8))) + ", ...]"
    strided = {"Global rank start": 0, "Global rank stride": 8}
    (group,) = of_arguments(**{"Group size": 64, "Process Group Ranks": cut, **strided})
    assert (group.name, group.size, group.runs) == ("4", 64, ((0, 64, 8),))
    (group,) = of_arguments(**{"Group size": 64, "Process Group Ranks": cut})
    assert (group.size, group.runs) == (64, None)
    (group,) = of_arguments(**{"Group size": 3, "Process Group Ranks": "[1, 2, 9]"})
    assert group.runs == ((1, 2, 1), (9, 1, 1))
    (group,) = of_arguments(**{"Group size": 3, "Process Group Ranks": "[1, 2]"})
    assert group.runs is None, "size and ranks disagree"
    assert of_arguments(**{"Group size": 1 << 40, **strided}) == ()


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40))
def test_runs_have_their_ranks_and_no_others(ranks: list[int]) -> None:
    runs = runs_of(ranks)
    every = np.arange(302)
    assert np.flatnonzero(members(runs, every)).tolist() == sorted(set(ranks))
    assert count_ranks(runs) == len(set(ranks))
    listed = [
        rank
        for first, count, stride in runs
        for rank in range(first, first + count * stride, stride)
    ]
    assert listed == sorted(set(ranks))


def test_in_short() -> None:
    assert [text_of(runs_of(r)) for r in ([0], [0, 8], range(8), range(0, 32, 8), [0, 1, 5])] == [
        "0", "0, 8", "0-7", "0-24:8", "0, 1, 5",
    ]  # fmt: skip
    assert text_of(runs_of([n * n for n in range(40)])).endswith("…")
    assert (stride_of(((0, 4, 2),)), stride_of(runs_of([0, 1, 5]))) == (2, None)
