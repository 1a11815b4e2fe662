"""Axes of parallelism: what is planted in a job of sixteen ranks is found again."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.analysis.ranks.axis_names import axis_kinds, same_axis
from tb_privateuse1.analysis.ranks.collectives import reduce_trace
from tb_privateuse1.storage import part_file
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.distributed import Distributed, distributed
from tb_privateuse1.views.reduced_traces import Rank
from tests.support import parallel_runs as job
from tests.support.make import kernel, launch, op, step, trace
from tests.support.results import ranks
from tests.support.shared_traces import FOLDER, load, needs_traces


@pytest.fixture(scope="module")
def mesh() -> Distributed:
    return job.job()


def by_axis(result: Distributed) -> dict[str, Any]:
    return {row.axis: row for row in result.axes}


@pytest.mark.long
def test_planted_times_are_the_figures(mesh: Distributed) -> None:
    found = by_axis(mesh)
    assert set(found) == {"Data", "Pipeline", "Tensor", "All ranks"}
    data, pipeline, tensor = found["Data"], found["Pipeline"], found["Tensor"]
    assert [(a.groups, a.size, a.stride, a.ranks) for a in (data, pipeline, tensor)] == [
        (8, 2, 8, 16), (8, 2, 4, 16), (4, 4, 1, 16),
    ]  # fmt: skip
    assert [a.placement for a in (data, pipeline, tensor)] == ["across", "node", "node"]
    assert {a.evidence for a in (data, pipeline, tensor)} == {"description"}
    us = 1000
    # Three of four tensor ranks wait for the fourth in both micro-batches.
    assert tensor.transferring_ns == job.MICRO * job.REDUCE * us
    assert tensor.synchronizing_ns == job.MICRO * job.SKEW * 3 / 4 * us
    assert tensor.exposed_ns == tensor.call_ns == tensor.transferring_ns + tensor.synchronizing_ns
    assert (data.call_ns, data.exposed_ns) == (job.SYNC * us, (job.SYNC - job.HIDDEN) * us)
    assert (data.transferring_ns, data.synchronizing_ns) == (job.SYNC * us, 0)
    first, second = job.MICRO * job.SEND, job.WORK + job.SKEW + job.REDUCE + 2 * job.SEND
    assert pipeline.exposed_ns == (first + second) / 2 * us
    assert pipeline.transferring_ns is None, "messages are not matched"
    assert data.bus_bytes_per_s == pytest.approx(job.BYTES / (job.SYNC * 1e-6))
    assert tensor.bus_bytes_per_s == pytest.approx(1.5 * job.BYTES / (job.REDUCE * 1e-6))
    assert (data.bytes, tensor.bytes) == (job.BYTES, job.MICRO * job.BYTES)
    assert (found["All ranks"].calls, found["All ranks"].evidence) == (0, "ranks")


def test_the_axes_sum_to_the_exposed_communication(mesh: Distributed) -> None:
    whole = sum(row.exposed_ns or 0 for row in mesh.rows) / len(mesh.rows)
    assert sum(axis.exposed_ns or 0 for axis in mesh.axes) == pytest.approx(
        whole, abs=len(mesh.axes)
    )
    assert {row.ranks for row in mesh.groups if row.axis == "Data"} >= {"0, 8", "7, 15"}
    assert mesh.groups_total == len(mesh.groups) == 21


def test_nodes_sum_their_ranks(mesh: Distributed) -> None:
    assert [(node.host, node.ranks) for node in mesh.nodes] == [("node0", 8), ("node1", 8)]
    for node in mesh.nodes:
        assert node.exposed_ns == (node.exposed_within_ns or 0) + (node.exposed_across_ns or 0)
        assert node.exposed_across_ns == (job.SYNC - job.HIDDEN) * 1000


@pytest.mark.long
@pytest.mark.parametrize("style", ["megatron", "none"])
def test_other_descriptions_have_the_same_figures(mesh: Distributed, style: str) -> None:
    result = job.job(style=style)
    names = {"none": {"Data": "Groups of 2, stride 8", "Tensor": "Groups of 4 neighbors"}}
    found = by_axis(result)
    for axis, row in by_axis(mesh).items():
        other = found[names.get(style, {}).get(axis, axis)]
        assert (other.exposed_ns, other.call_ns, other.groups) == (
            row.exposed_ns, row.call_ns, row.groups,
        )  # fmt: skip
    if style == "none":
        assert found["Pipeline"].evidence == "collectives"
        assert found["Groups of 4 neighbors"].evidence == "structure"


@pytest.mark.long
def test_groups_of_the_arguments_alone() -> None:
    """Without ``pg_config`` the arguments name start, stride and size of a group."""
    result = distributed(ranks(*(without_config(rank) for rank in range(job.WORLD))))
    assert by_axis(result).keys() == {"Data", "Pipeline", "Tensor"}
    assert all(row.ranks is None for row in result.groups), "ranks are not in these arguments"


def without_config(rank: int) -> Trace:
    return job.one_rank(rank, pg_config=None)


@pytest.mark.long
def test_figures_of_stored_parts_are_the_same(mesh: Distributed) -> None:
    parts = [reduce_trace(job.one_rank(rank)) for rank in range(job.WORLD)]
    content = part_file.combine([part_file.pack(part) for part in parts])
    stored = tuple(
        Rank(number, f"worker{number}", part)
        for number, part in enumerate(part_file.unpack(content))
    )
    result = distributed(stored)
    assert (result.axes, result.groups, result.stages) == (mesh.axes, mesh.groups, mesh.stages)


def test_calls_at_the_same_time_share_no_instant() -> None:
    """The second call begins within the first: what both cover is the first one's."""

    def talk(number: int, group: str, start: float, end: float) -> list[Any]:
        args = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8,
                "Out msg nelems": 8, "Group size": 2, "Process Group Name": group,
                "Process Group Description": group}  # fmt: skip
        return [op("x", number, number + 0.9), launch(number + 0.2, number + 0.4, number),
                kernel("nccl", start, end, number, stream=number, **args)]  # fmt: skip

    events = [
        *talk(1, "mesh_tp", 100, 200),
        *talk(2, "mesh_dp", 150, 260),
        *talk(3, "mesh_cp", 160, 190),
    ]
    events += [op("y", 4, 4.9), launch(4.2, 4.4, 4), kernel("gemm", 180, 220, 4)]
    result = distributed(ranks(trace(step(0, 0, 1000), *events)))
    found = {axis: row.exposed_ns for axis, row in by_axis(result).items()}
    assert found == {"Tensor": 80_000, "Data": 40_000, "Context": 0}
    assert sum(found.values()) == result.rows[0].exposed_ns


def test_a_job_without_groups() -> None:
    result = distributed(ranks(trace(step(0, 0, 100), op("a", 1, 5))))
    assert result.axes == result.groups == result.nodes == result.stages == result.experts == ()


def test_a_call_without_a_name_is_of_the_only_group() -> None:
    info: dict[str, Any] = {"backend": "gloo", "rank": 0, "world_size": 2, "pg_config": [
        {"pg_name": "0", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [0, 1]}]}  # fmt: skip
    event = op("gloo:all_reduce", 10, 20)
    event["cat"] = "user_annotation"
    alone = trace(step(0, 0, 100), event, distributedInfo=info)
    (axis,) = distributed(ranks(alone)).axes
    assert (axis.axis, axis.calls) == ("Data", 1)
    two = {
        **info,
        "pg_config": [*info["pg_config"], {"pg_name": "1", "pg_size": 2, "ranks": [0, 4]}],
    }
    unsure = by_axis(distributed(ranks(trace(step(0, 0, 100), event, distributedInfo=two))))
    assert (unsure["Unknown group"].evidence, unsure["Unknown group"].calls) == ("none", 1)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("mesh_tp", ("tensor",)),
        ("mesh_dp_shard_cp", ("data", "context")),
        ("fsdp_reduce_scatter", ("data",)),
        ("TENSOR_MODEL_PARALLEL_GROUP", ("tensor",)),
        ("DATA_PARALLEL_GROUP_WITH_CP", ("data", "context")),
        ("EXPERT_MODEL_PARALLEL_GROUP", ("expert",)),
        ("EXPERT_DATA_PARALLEL_GROUP", ("data",)),
        ("EXPERT_TENSOR_PARALLEL_GROUP", ("tensor",)),
        ("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", ("expert", "tensor")),
        ("PIPELINE_MODEL_PARALLEL_GROUP", ("pipeline",)),
        ("default_pg", ()),
        ("undefined", ()),
        ("depth_apple", ()),
        ("mesh_0", ()),
    ],
)
def test_descriptions(text: str, kinds: tuple[str, ...]) -> None:
    assert axis_kinds(text) == kinds


def test_numbered_descriptions_are_one_axis() -> None:
    assert {same_axis(text) for text in ("tp:0", "tp:1", "tp_12")} == {"tp"}


@needs_traces
@pytest.mark.parametrize(("folder", "size"), [("cuda/nccl_ddp", 2), ("rocm/mi300_resnet_ddp", 8)])
def test_real_recordings(folder: str, size: int) -> None:
    traces = [load(path) for path in sorted((FOLDER / folder).glob("*.pt.trace.json*"))]
    result = distributed(ranks(*traces))
    (axis,) = result.axes
    assert (axis.axis, axis.evidence, axis.size) == ("All ranks", "ranks", size)
    whole = sum(row.exposed_ns or 0 for row in result.rows) / len(result.rows)
    assert axis.exposed_ns == pytest.approx(whole, abs=1)
