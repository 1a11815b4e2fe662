"""Display names in a trace: searched beside the full names, and no key of any row."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.kernel_names import display_names, name_fields, strings_with
from tb_privateuse1.views.kernels import kernels
from tests.support.make import kernel, op, trace

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
LOOP = "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float> >(int)"
TILE = "ampere_sgemm_128x64_nn"


def test_kernels_of_one_display_name_stay_different_rows() -> None:
    rows = kernels(trace(kernel(ADD, 0, 5), kernel(LOOP, 6, 9), kernel(ADD, 10, 12))).rows
    assert [(row.name, row.full_name, row.calls) for row in rows] == [
        ("elementwise add f32", ADD, 2),
        ("elementwise add f32", LOOP, 1),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ELEMENTWISE add", [ADD, LOOP]),
        ("functor_add", [ADD, LOOP]),
        ("unrolled", [LOOP]),
        ("gemm f32 128×64", [TILE]),
        ("gemm f32 128x64", [TILE]),
        ("128x64_nn", [TILE]),
        ("nothing", []),
    ],
)
def test_the_search_looks_in_both_names(text: str, found: list[str]) -> None:
    one = trace(kernel(ADD, 0, 5), kernel(LOOP, 6, 8), kernel(TILE, 9, 12))
    assert sorted(row.full_name for row in kernels(one, find=text).rows) == sorted(found)


def test_only_kernels_have_display_names() -> None:
    one = trace(op(TILE, 0, 5), op("aten::mm", 0, 4), kernel("aten::mm", 1, 2), kernel(ADD, 3, 4))
    shown = display_names(one)
    assert [(one.text(i), name) for i, name in shown.items()] == [(ADD, "elementwise add f32")]
    assert not strings_with(one, "elementwise add")[-1]  # none is no string


def test_a_row_has_its_full_name_if_it_is_another() -> None:
    assert name_fields(ADD, kernel=True) == {"name": "elementwise add f32", "full_name": ADD}
    assert name_fields("aten::mm", kernel=True) == {"name": "aten::mm", "full_name": None}
    assert name_fields(ADD, kernel=False) == {"name": ADD, "full_name": None}
