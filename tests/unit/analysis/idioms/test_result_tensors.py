"""Results of unknown sizes and types, and those of a choice."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.idioms.result_tensors import result_of
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("arange", ("inf", "", "", "", "")),
        ("arange", ("nan", "", "", "", "")),
        ("linspace", ("0", "1", "1e400", "", "", "", "")),
        ("ones", ("[4611686018427387904, 4]", "", "", "", "")),
        ("ones", ("[-3, 4]", "", "", "", "")),
    ],
)
def test_a_size_that_cannot_be_is_not_known(word: str, values: tuple[str, ...]) -> None:
    call = Arguments(f"aten::{word}", (None,) * len(values), values)
    assert result_of(call, word) is None


@pytest.mark.parametrize(
    ("condition", "tensors", "result"),
    [
        ((), (), None),
        ((5,), (), None),
        ((), ((5,), (5,)), (5,)),
        ((5,), ((), ()), (5,)),
    ],
)
def test_a_choice_has_the_type_of_what_is_chosen(
    condition: tuple[int, ...],
    tensors: tuple[tuple[int, ...], ...],
    result: tuple[int, ...] | None,
) -> None:
    chosen = (Tensor(shape, "float32", 1) for shape in tensors)
    inputs = (Tensor(condition, "bool", 1), *chosen)
    call = Arguments("aten::where", inputs, ("",) * len(inputs))
    found = result_of(call, "where")
    assert (found and (found.shape, found.dtype)) == (result and (result, "float32"))
