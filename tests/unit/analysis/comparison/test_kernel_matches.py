"""Kernels with other names in the other trace, and what else differs."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison.conditions import conditions
from tb_privateuse1.analysis.comparison.kernel_matches import renamed_kernels
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tests.support.program import Program


def layers(*kernels: tuple[str, str], us: float = 50, times: int = 4) -> Trace:
    """Return two steps of operators with their kernels, several times."""
    run = Program()
    for _ in range(2):
        with run.step():
            for _ in range(times):
                for operator, name in kernels:
                    run.op(operator, 5, kernel=us, device=name)
            run.wait()
    return run.trace()


def renamed(base: Trace, now: Trace) -> dict[str, str]:
    return dict(renamed_kernels(base, now, np.arange(2), np.arange(2)))


def test_the_operator_and_the_place_say_what_is_one_kernel() -> None:
    base = layers(("aten::mm", "volta_64x64"), ("aten::gelu", "vectorized"))
    now = layers(("aten::mm", "sm90_128x128"), ("aten::gelu", "vectorized"))
    assert renamed(base, now) == {"volta_64x64": "sm90_128x128"}
    (row,) = [r for r in diff(now, base, by="kernels").rows if r.base_name is not None]
    assert (row.name, row.base_name, row.status) == ("sm90_128x128", "volta_64x64", "both")
    assert row.base_calls == row.now_calls == 4
    assert row.change_ns == 0


def test_equal_names_stay() -> None:
    base = layers(("aten::mm", "a"), ("aten::gelu", "b"))
    swapped = layers(("aten::mm", "b"), ("aten::gelu", "a"))
    assert renamed(base, swapped) == {}


def test_one_of_several_is_no_match() -> None:
    base = layers(("aten::mm", "old"), ("aten::bmm", "old"), ("aten::addmm", "old"))
    now = layers(("aten::mm", "x"), ("aten::bmm", "y"), ("aten::addmm", "z"))
    assert renamed(base, now) == {}


def test_other_shapes_are_another_kernel() -> None:
    def shaped(name: str, size: int) -> Trace:
        run = Program()
        for _ in range(2):
            with run.step():
                run.op("aten::mm", 5, kernel=20, device=name, **{"Input Dims": [[size]]})
                run.wait()
        return run.trace()

    assert renamed(shaped("a", 4), shaped("b", 4)) == {"a": "b"}
    assert renamed(shaped("a", 4), shaped("b", 8)) == {}


def test_without_kernels_or_steps() -> None:
    none = np.arange(0)
    assert renamed_kernels(Trace(), Trace(), none, none) == {}


@pytest.mark.parametrize("batch", [None, ("32", "64")])
def test_what_differs(batch: tuple[str, str] | None) -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 5, kernel=20)
        run.wait()
    base = run.trace(
        distributedInfo={"rank": 0, "world_size": 2}, with_stack=1,
        deviceProperties=[{"id": 0, "name": "A100"}],
    )  # fmt: skip
    now = run.trace(
        distributedInfo={"rank": 1, "world_size": 2}, record_shapes=1,
        deviceProperties=[{"id": 0, "name": "H100"}],
    )  # fmt: skip
    found = {c.name: (c.base, c.now) for c in conditions(base, now, steps=(3, 5), batch=batch)}
    expected = {
        "rank": ("0", "1"),
        "device": ("A100", "H100"),
        "stacks": ("on", "off"),
        "shapes": ("off", "on"),
        "steps": ("3", "5"),
    }
    assert found == expected | ({"batch": batch} if batch else {})
    assert conditions(base, base, steps=(3, 3), batch=None) == ()
