"""Work of foreach and fused optimizer operators, on lists of tensors without recorded types.

So their operations are known, and their bytes only where another input shows the type.
"""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor
from tb_privateuse1.analysis.work.call_work import Model, Work, known_sum, read_of, written_of

ADAM, ADAGRAD, SGD = 14, 7, 4
"""Operations per parameter of the update: decay, two moments, their corrections, the step."""


def _elements(tensors: tuple[Tensor, ...]) -> int:
    return sum(one.numel for one in tensors)


def _each(flops: int) -> Model:
    """Return the model of an operator on each tensor of the first list."""

    def work(call: Arguments) -> Work:
        first = call.tensor_list(0)
        written = [(one.shape, one.dtype) for one in first]
        return Work(flops * _elements(first), read_of(call.tensors()), written_of(*written))

    return work


def norms(call: Arguments) -> Work:
    """Return the work of ``_foreach_norm([tensors], ord)``: a number per tensor."""
    first = call.tensor_list(0)
    written = known_sum(lambda: (one.bytes // max(one.numel, 1) for one in first))
    return Work(2 * _elements(first), read_of(first), written)


def _fused(flops: int, written: int) -> Model:
    """Return the model of a fused step; it writes the lists at some of the first positions."""

    def work(call: Arguments) -> Work:
        parameters = call.tensor_list(0)
        lists = [one for one in call.inputs[:written] if isinstance(one, tuple)]
        outputs = [(one.shape, one.dtype) for each in lists for one in each]
        elements = _elements(parameters)
        return Work(flops * elements, read_of(call.tensors()), written_of(*outputs))

    return work


_ONE = (
    "abs", "add", "ceil", "clamp_max", "clamp_min", "cos", "div", "exp", "floor", "log", "maximum",
    "minimum", "mul", "neg", "pow", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sqrt",
    "sub", "tanh",
)  # fmt: skip

MODELS: Mapping[str, Model] = {
    **dict.fromkeys((f"_foreach_{name}" for name in _ONE), _each(1)),
    "_foreach_copy": _each(0),
    "_foreach_zero": _each(0),
    "_foreach_addcdiv": _each(3),
    "_foreach_addcmul": _each(3),
    "_foreach_lerp": _each(3),
    "_foreach_norm": norms,
    "_amp_foreach_non_finite_check_and_unscale": _each(2),
    "_fused_adam": _fused(ADAM, 5),
    "_fused_adamw": _fused(ADAM, 5),
    "_fused_adagrad": _fused(ADAGRAD, 3),
    "_fused_sgd": _fused(SGD, 3),
}
