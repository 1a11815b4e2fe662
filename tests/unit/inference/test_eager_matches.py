"""Kernels of replays without a capture: what an eager run in the same recording has of them."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.inference.eager_matches import MARK, longest_block
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.operators import operators
from tests.support.graphs import captured, replay
from tests.support.make import Event, frame, kernel, launch, op, trace

WHOLE = f"{MARK} / nn.Module: Net_0 / net.py(9): forward / aten::"
NAMES = tuple(f"k{i}" for i in range(10))


def eager(
    start: float,
    *names: str,
    module: str = "Net_0",
    correlation: int = 100,
    shapes: dict[str, list[list[int]]] | None = None,
) -> list[Event]:
    """A run that launches its kernels one by one, each by an operator of its name, in a module."""
    end = start + 10 * len(names)
    events = [
        frame("run.py(3): step", start - 1, end + 1),
        frame(f"nn.Module: {module}", start, end),
        frame("net.py(9): forward", start, end),
    ]
    for i, name in enumerate(names):
        at, number = start + 10 * i, correlation + i
        recorded = {"Input Dims": shapes[name]} if shapes and name in shapes else {}
        events += [
            op(f"aten::{name}", at + 1, at + 8, id=number, **recorded),
            launch(at + 3, at + 4, number, **{"External id": number}),
            kernel(name, at + 5, at + 9, number),
        ]
    return events


def paths(t: Trace, first: int) -> list[str]:
    """The ranges around the kernels from a row on, the outermost first."""
    found = []
    for node in t.kernels.capture.tolist()[first:]:
        names: list[str] = []
        at = node
        while at >= 0:
            names.insert(0, t.text(t.captures.name[at]))
            at = int(t.captures.parent[at])
        found.append(" / ".join(names))
    return found


def ops(t: Trace, first: int) -> list[str]:
    """The captured operator of the kernels from a row on."""
    rows = t.kernels.captured_op.tolist()[first:]
    return [t.text(t.captured_ops.name[row]) if row >= 0 else "" for row in rows]


def test_a_replay_has_the_ranges_of_the_eager_run_and_says_so() -> None:
    t = trace(*eager(10, *NAMES), *replay(500, 1, *NAMES))
    assert paths(t, 10) == [f"{WHOLE}{name}" for name in NAMES]
    assert ops(t, 10) == [f"aten::{name}" for name in NAMES]
    # They are matched: no link of the file says so, and none is made.
    assert t.kernels.op.tolist()[10:] == [-1] * 10
    assert paths(t, 0)[:10] == [""] * 10


def test_another_order_or_a_short_sequence_is_no_match() -> None:
    t = trace(*eager(10, *NAMES), *replay(500, 1, *NAMES[::-1]))
    assert paths(t, 10) == [""] * 10
    short = trace(*eager(10, *NAMES[:4]), *replay(500, 1, *NAMES[:4]))
    assert paths(short, 4) == [""] * 4


def test_the_longest_exact_part_is_matched_and_the_rest_unknown() -> None:
    t = trace(*eager(10, *NAMES), *replay(500, 1, "new", *NAMES[:9], "other"))
    assert ops(t, 10) == ["", *(f"aten::{name}" for name in NAMES[:9]), ""]


def test_less_than_half_of_a_replay_is_no_match() -> None:
    other = tuple(f"o{i}" for i in range(11))
    t = trace(*eager(10, *NAMES), *replay(500, 1, *NAMES, *other))
    assert paths(t, 10) == [""] * 21


def test_of_several_runs_only_what_they_agree_on_is_known() -> None:
    same = trace(*eager(10, *NAMES), *eager(200, *NAMES, correlation=200), *replay(500, 1, *NAMES))
    assert ops(same, 20) == [f"aten::{name}" for name in NAMES]
    modules = trace(
        *eager(10, *NAMES),
        *eager(200, *NAMES, module="Draft_0", correlation=200),
        *replay(500, 1, *NAMES),
    )
    assert paths(modules, 20) == [""] * 10
    assert ops(modules, 20) == [""] * 10
    batches = trace(
        *eager(10, *NAMES, shapes={"k3": [[2, 4]]}),
        *eager(200, *NAMES, correlation=200, shapes={"k3": [[8, 4]]}),
        *replay(500, 1, *NAMES),
    )
    assert ops(batches, 20) == ["" if name == "k3" else f"aten::{name}" for name in NAMES]
    assert paths(batches, 20)[3].endswith("aten::k3")


def test_a_capture_in_the_recording_comes_first() -> None:
    names = tuple(f"{name}_kernel" for name in NAMES)
    t = trace(*captured(10, ops=NAMES), *eager(300, *names), *replay(900, 1, *names))
    assert MARK not in paths(t, 10)[0]
    assert ops(t, 10) == [f"aten::{name}" for name in NAMES]


def test_beside_a_capture_another_graph_is_matched() -> None:
    first = tuple(f"{name}_kernel" for name in NAMES[:2])
    t = trace(
        *captured(10, ops=NAMES[:2]),
        *eager(300, *NAMES),
        *replay(900, 1, *first),
        *replay(1000, 2, *NAMES),
    )
    assert paths(t, 10)[:2] == [f"nn.Module: Net_0 / aten::{name}" for name in NAMES[:2]]
    assert paths(t, 12) == [f"{WHOLE}{name}" for name in NAMES]


def test_the_operators_table_has_what_is_matched() -> None:
    t = trace(*eager(10, *NAMES), *replay(500, 1, *NAMES))
    rows = [row for row in operators(t).rows if row.launcher]
    assert {row.name for row in rows} == {f"aten::{name}" for name in NAMES}


def test_a_loop_of_one_kernel_is_no_match() -> None:
    # Eight updates of another tensor are no part of this replay's program.
    loop = ("add",) * 8
    t = trace(*eager(10, *loop), *replay(500, 1, *loop))
    assert paths(t, 8) == [""] * 8
    turns = ("mm", "relu") * 4
    t = trace(*eager(10, *turns), *replay(500, 1, *turns))
    assert ops(t, 8) == [f"aten::{name}" for name in turns]


def test_places_that_overlap_are_no_match() -> None:
    # Which rounds of a longer loop are meant, nothing tells; and all of them would need memory by
    # the square of the loop's length.
    rounds = np.tile([1, 2, 3, 4], 6)
    assert longest_block(rounds, rounds[:16]) is None
    beside = np.concatenate((rounds[:16], [9], rounds[:16]))
    found = longest_block(beside, rounds[:16])
    assert found is not None
    assert found.places.tolist() == [0, 17]


@pytest.mark.parametrize("seed", range(5))
def test_the_block_is_the_longest_one_of_a_search(seed: int) -> None:
    random = np.random.default_rng(seed)
    names, wanted = random.integers(0, 3, 60), random.integers(0, 3, 16)
    names[20:32] = wanted[2:14]
    found = longest_block(names, wanted)
    texts = "".join(map(str, names)), "".join(map(str, wanted))
    longest = max(
        length for length in range(17) for i in range(17 - length)
        if texts[1][i : i + length] in texts[0]
    )  # fmt: skip
    starts = [i for i in range(17 - longest) if texts[1][i : i + longest] in texts[0]]
    if found is None:
        assert len(starts) > 1
        return
    assert (found.first, found.length) == (starts[0], longest)
    part = texts[1][starts[0] : starts[0] + longest]
    places = [i for i in range(len(names)) if texts[0][i:].startswith(part)]
    assert found.places.tolist() == places
