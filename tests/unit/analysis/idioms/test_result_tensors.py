"""Results whose sizes are no numbers, or beyond any memory."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.idioms.result_tensors import result_of
from tb_privateuse1.analysis.work.arguments import Arguments


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
