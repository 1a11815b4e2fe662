"""What passes between nodes: for any program, bytes are neither lost nor made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.analysis.idioms.chains import chains_of
from tb_privateuse1.analysis.idioms.data_flow import Links, components, flow_of
from tb_privateuse1.analysis.idioms.nodes import graph
from tests.support.repeats import repeats
from tests.support.sized import SizedProgram, full

CALLS = st.tuples(
    st.sampled_from(("aten::mul", "aten::relu", "aten::neg", "aten::mm", "aten::sum")),
    st.sampled_from((64, 128, 256)),
)


def run_of(calls: list[tuple[str, int]]) -> SizedProgram:
    run = SizedProgram()
    with run.step():
        for name, size in calls:
            x = full(size, size)
            if name in ("aten::mul", "aten::mm"):
                run.run(name, x, x)
            elif name == "aten::sum":
                run.run(name, x, "[-1]", "False", "")
            else:
                run.run(name, x)
    return run


@pytest.mark.long
@settings(max_examples=repeats(20), deadline=None)
@given(st.lists(CALLS, min_size=1, max_size=30))
def test_external_bytes_are_a_part_of_all_bytes(calls: list[tuple[str, int]]) -> None:
    trace = run_of(calls).trace()
    found = graph(trace)
    flow = flow_of(found)
    nodes, reads = found.nodes, found.reads
    every = np.bincount(reads.node, reads.bytes, len(nodes))
    assert (flow.external_read_bytes <= every).all()
    assert (flow.external_written_bytes <= np.maximum(nodes.written_bytes, 0)).all()
    # A read is of a result before it, of the same segment and size.
    links = flow.links
    assert (links.writer < links.reader).all()
    assert (flow.segment[links.writer] == flow.segment[links.reader]).all()
    assert found.reads_size(links.reader, nodes.written_bytes[links.writer]).all()


@pytest.mark.long
@settings(max_examples=repeats(20), deadline=None)
@given(st.lists(CALLS, min_size=1, max_size=30))
def test_a_fused_chain_is_never_longer_than_the_chain(calls: list[tuple[str, int]]) -> None:
    found = chains_of(run_of(calls).trace())
    assert (found.table.fused_ns <= found.table.duration_ns).all()
    assert (found.table.nodes >= 2).all()
    assert np.bincount(found.chain[found.chain >= 0]).tolist() == found.table.nodes.tolist()


@settings(max_examples=repeats(30), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=30))
def test_components_are_those_of_a_walk(pairs: list[tuple[int, int]]) -> None:
    writer = np.array([min(pair) for pair in pairs], np.int64)
    reader = np.array([max(pair) for pair in pairs], np.int64)
    label = components(20, Links(writer, reader))
    parent = list(range(20))
    for _ in range(20):
        for one, two in zip(writer.tolist(), reader.tolist(), strict=True):
            parent[one] = parent[two] = min(parent[one], parent[two])
    assert label.tolist() == parent


def chains_in(*calls: str) -> list[int]:
    """The number of operators of each chain of unary and binary calls on one size."""
    run = SizedProgram()
    x = full(256, 256)
    with run.step():
        run.product(256, 256, 256)
        for name in calls:
            run.run(f"aten::{name}", *((x, x) if name in ("mul", "add") else (x,)))
        run.product(256, 256, 256)
    return chains_of(run.trace()).table.nodes.tolist()


def test_two_equal_calls_within_a_formula_work_on_one_tensor() -> None:
    assert chains_in("exp", "neg", "neg", "tanh", "mul") == [5]


def test_equal_calls_in_pairs_work_on_two_tensors() -> None:
    """Query and key take turns: no chain has both."""
    assert max(chains_in("neg", "neg", "tanh", "tanh", "exp", "exp"), default=0) <= 2


def test_two_equal_calls_before_other_work_are_two_tensors() -> None:
    assert chains_in("neg", "neg") == []
