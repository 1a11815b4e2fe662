"""Arguments from what torch records: overloads, values, and tensors that make sense."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tb_privateuse1.export.taken import run_operator  # noqa: E402
from tb_privateuse1.export.taken.operator_call import Call, NotRunnable, find_overload  # noqa: E402


def tensor(*shape: int, dtype: str = "float32", strides: Any = None) -> dict[str, Any]:
    return {"tensor": shape, "strides": strides, "dtype": dtype}


def value(text: str = "") -> dict[str, str]:
    return {"value": text}


def case(name: str, *inputs: dict[str, Any]) -> dict[str, Any]:
    return {"operator": name, "inputs": inputs, "work": {"flops": None}}


LONG = tensor(64, dtype="int64")


def result(name: str, *inputs: dict[str, Any]) -> Any:
    return Call(case(name, *inputs), "cpu").run()


@pytest.mark.parametrize(
    ("name", "inputs", "overload"),
    [
        ("aten::add", (tensor(2), tensor(2), value("1")), "Tensor"),
        ("aten::add", (tensor(2), value("3"), value("1")), "Scalar"),
        ("aten::sum", (tensor(2), value()), "default"),
        ("aten::sum", (tensor(2), value("[0]"), value("True"), value()), "dim_IntList"),
    ],
)
def test_the_overload_fits(name: str, inputs: tuple[Any, ...], overload: str) -> None:
    assert find_overload(name, inputs)._overloadname == overload


def test_types_and_formats_come_from_their_numbers() -> None:
    none = value()
    found = result(
        "aten::_to_copy", tensor(2, 3), value("5"), value("0"), value("cpu"), none, none, none
    )
    assert found.dtype is torch.float16
    shape = (2, 3, 4, 4)
    last = result("aten::clone", tensor(*shape), value("2"))
    assert last.is_contiguous(memory_format=torch.channels_last)


def test_a_text_that_torch_does_not_record_is_said() -> None:
    call = Call(case("aten::gelu", tensor(3), value()), "cpu")
    assert call.assumed == ["approximate='none'"]
    assert Call(case("aten::gelu", tensor(3), value("tanh")), "cpu").assumed == []
    assert Call(case("aten::relu", tensor(3)), "cpu").assumed == []


def test_strides_are_the_recorded_ones() -> None:
    call = Call(case("aten::relu", tensor(4, 3, strides=(0, 2))), "cpu")
    (given,) = call._args
    assert (given.stride(), tuple(given.shape)) == ((0, 2), (4, 3))


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("aten::embedding", (tensor(5, 3), LONG, value("-1"), value("False"), value("False"))),
        ("aten::gather", (tensor(9, 2), value("1"), tensor(9, 4, dtype="int64"), value("False"))),
        ("aten::index_select", (tensor(3, 50), value("0"), tensor(40, dtype="int64"))),
        ("aten::nll_loss_forward", (tensor(64, 4), LONG, value(), value("1"), value("-100"))),
    ],
)
def test_indices_are_in_range(name: str, inputs: tuple[Any, ...]) -> None:
    result(name, *inputs)  # torch raises for one that is not


def test_values_are_the_same_each_time() -> None:
    one, other = (result("aten::relu", tensor(100)) for _ in range(2))
    assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "inputs", "words"),
    [
        ("acme::x", (tensor(1),), "no operator acme::x"),
        ("aten::__dict__", (tensor(1),), "no operator aten::__dict__"),
        ("aten::relu", (tensor(1, dtype="os"),), "no type os"),
        ("aten::mm", (tensor(1),), "no overload of aten::mm takes these 1 arguments"),
        ("aten::clamp_min", (tensor(1), value()), "lacks the argument min"),
        ("aten::_to_copy", (tensor(1), value("99"), *[value()] * 5), "99"),
    ],
)
def test_what_is_missing_is_named(name: str, inputs: tuple[Any, ...], words: str) -> None:
    with pytest.raises(NotRunnable, match=words):
        result(name, *inputs)


def test_wrong_numbers_are_found() -> None:
    right = torch.ones(100)
    assert run_operator.difference(right, right.double())[0]
    wrong = right.clone()
    wrong[3] = 1.01
    agree, words = run_operator.difference(wrong, right.double())
    assert not agree
    assert "relative error 1.0e-03, tolerance 1.5e-05" in words
    assert not run_operator.difference(torch.full((3,), torch.nan), torch.ones(3))[0]
    assert not run_operator.difference(torch.ones(2), torch.ones(3))[0]
    assert run_operator.difference(torch.arange(3), torch.arange(3))[0]


def test_what_is_written_counts_and_randomness_does_not() -> None:
    with torch.no_grad():
        written = run_operator.compare(case("aten::relu_", tensor(10)), "cpu", always=False)
        random = case("aten::native_dropout", tensor(10), value("0.5"), value("True"))
        assert run_operator.compare(random, "cpu", always=False).agree is None
    assert written.agree


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (case("aten::empty_like", tensor(10_000), *[value()] * 5), "it leaves its values open"),
        (case("aten::item", tensor(1)), "it returns no tensor"),
    ],
)
def test_what_has_no_numbers_is_not_compared(one: dict[str, Any], words: str) -> None:
    numbers = run_operator.compare(one, "cpu", always=False)
    assert (numbers.agree, numbers.words) == (None, f"not compared: {words}")


@pytest.mark.parametrize("name", ["sqrt", "log_", "rsqrt", "log1p"])
def test_operators_of_positive_numbers_get_such(name: str) -> None:
    """Others give NaN, and take a CPU many times as long."""
    assert torch.isfinite(result(f"aten::{name}", tensor(1000))).all()
    assert not (result("aten::abs_", tensor(1000)) == result("aten::neg", tensor(1000))).all()
