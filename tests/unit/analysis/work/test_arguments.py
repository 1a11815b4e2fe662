"""An operator's recorded arguments: shapes, types, strides and values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.work import registry
from tb_privateuse1.analysis.work.arguments import (
    Arguments,
    Tensor,
    UnknownWork,
    parse_arguments,
)


def test_shapes_types_strides_and_values() -> None:
    call = parse_arguments(
        "aten::f",
        "[[2,3],[],[[4],[5,6]],[]]",
        '["c10::BFloat16","Scalar","TensorList","float"]',
        "[[3,1],[],[[1],[6,1]],[]]",
        '["","[1, 2]","",""]',
    )
    assert call.tensor(0) == Tensor((2, 3), "bfloat16", 6, (3, 1))
    assert call.integers(1) == (1, 2)
    assert [one.shape for one in call.tensor_list(2)] == [(4,), (5, 6)]
    assert call.tensor(3).shape == ()
    assert call.tensor(0).bytes == 12


def test_a_number_is_no_tensor_without_dimensions() -> None:
    call = parse_arguments("f", "[[],[],[],[]]", '["Bool","Int","Double","bool"]')
    assert [call.optional(i) is None for i in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("strides", "stored"),
    [([5, 1], 30), ([0, 1], 5), ([1, 1], 10), ([1, 6], 30), ([10, 2], 30), (["x", 1], 30)],
)
def test_an_expanded_view_has_fewer_elements(strides: list[int], stored: int) -> None:
    call = parse_arguments("f", "[[6,5]]", '["float"]', json.dumps([strides]))
    assert call.tensor(0).stored == stored
    assert call.tensor(0).numel == 30


def test_without_types_shapes_are_tensors_of_an_unknown_type() -> None:
    for types in ("[]", ""):
        call = parse_arguments("aten::mm", "[[2,3],[3,4],[]]", types)
        assert [one.shape for one in call.tensors()] == [(2, 3), (3, 4)]
        work = registry.work_of(call)
        assert work is not None
        assert (work.flops, work.read_bytes) == (48, None)


@pytest.mark.parametrize("text", ["{", "7", "{}", "null", "[" * 100_000, " " * (1 << 21)])
def test_what_is_no_list_is_unknown(text: str) -> None:
    with pytest.raises(UnknownWork):
        parse_arguments("aten::mm", text, text)


@pytest.mark.parametrize("text", ["", "x", "1.5", "9" * 30, "[", "None"])
def test_what_is_no_number_is_unknown(text: str) -> None:
    call = Arguments("f", (None,), (text,))
    for read in (call.integer, call.integers, call.flags, call.flag):
        with pytest.raises(UnknownWork):
            read(0)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)
KINDS = st.lists(
    st.sampled_from(["float", "c10::Half", "long int", "Scalar", "ScalarList", "TensorList", ""]),
    max_size=12,
)
SHAPES = st.lists(
    st.lists(st.integers(-1, 5) | st.just(2**61) | st.lists(st.integers(0, 3))), max_size=12
)
VALUES = st.lists(
    st.sampled_from(["", "0", "-3", "True", "[1, 0]", "[]", "[2]", "9" * 20, "x", "1e3"]),
    max_size=12,
)


@pytest.mark.long
@given(
    name=st.sampled_from([*registry.MODELS, "triton_poi_0"]),
    dims=SHAPES | ANY_JSON,
    kinds=KINDS | ANY_JSON,
    strides=SHAPES | ANY_JSON,
    values=VALUES | ANY_JSON,
)
def test_no_recording_raises(
    name: str, dims: object, kinds: object, strides: object, values: object
) -> None:
    texts = (json.dumps(one) for one in (dims, kinds, strides, values))
    try:
        call = parse_arguments(name, *texts)
    except UnknownWork:
        return
    work = registry.work_of(call)
    if work is not None:
        figures = (work.flops, work.read_bytes, work.written_bytes)
        assert all(one is None or 0 <= one < 1 << 62 for one in figures)


@pytest.mark.parametrize("dims", [[], [2], [2, 3], [0, 4], [1] * 5])
def test_no_model_raises_on_tensors_of_one_shape(dims: list[int]) -> None:
    texts = (json.dumps([dims] * 9), json.dumps(["float"] * 9), "", json.dumps([""] * 9))
    for name in registry.MODELS:
        registry.work_of(parse_arguments(name, *texts))
