"""Work of convolutions: FLOPs as ``torch.utils.flop_counter`` counts, and bytes.

A gradient by input, and one by weight, each cost the work of the forward pass. ``flop_counter``
multiplies the gradient by weight of a grouped convolution by the number of groups; this does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Related, Work, read_of, written_of


def multiplications(sliding: Sequence[int], weight: Sequence[int]) -> int:
    """Return twice the multiplications: the weight is applied at each place of one side.

    ``sliding`` is the output, or the input of a transposed convolution: (batch, channels, places…).
    """
    if len(sliding) != len(weight) or len(weight) < 3:
        raise UnknownWork
    return 2 * sliding[0] * math.prod(sliding[2:]) * math.prod(weight)


def _work(
    flops: int, read: int | None, written: int | None, weight: Sequence[int], dtype: str
) -> Work:
    """Return the work of a convolution: at most these operations if windows overlap.

    The transforms of Winograd and Fourier save operations where a window has several elements (A.
    Lavin, S. Gray: "Fast algorithms for convolutional neural networks", CVPR 2016).
    """
    windowed = math.prod(weight[2:]) > 1
    return Work(flops, read, written, matrix=True, dtype=dtype, at_most=windowed)


def _spread(values: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """Return one value per dimension; torch may have one for all."""
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise UnknownWork
    return values


def _output(
    x: Tensor,
    weight: Tensor,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the shape of the output of a convolution that is not transposed."""
    dims = len(weight.shape) - 2
    if dims < 1 or len(x.shape) != dims + 2:
        raise UnknownWork
    places = [
        (size + 2 * pad - dilate * (kernel - 1) - 1) // step + 1 if step > 0 else -1
        for size, kernel, step, pad, dilate in zip(
            x.shape[2:],
            weight.shape[2:],
            _spread(stride, dims),
            _spread(padding, dims),
            _spread(dilation, dims),
            strict=True,
        )
    ]
    if min(places) < 0:
        raise UnknownWork
    return (x.shape[0], weight.shape[0], *places)


def _forward(call: Arguments, out: tuple[int, ...], *, bias: bool) -> Work:
    x, weight = call.tensor(0), call.tensor(1)
    return _work(
        multiplications(out, weight.shape),
        read_of(call.tensors(3 if bias else 2)),
        written_of((out, x.dtype)),
        weight.shape,
        x.dtype,
    )


def convolution(call: Arguments) -> Work:
    """Return the work of ``convolution(x, weight, bias, stride, padding, dilation, transposed,
    output_padding, groups)``.

    Libraries' own have the padding first and are not transposed, some have no bias.
    """
    if call.value(2):
        return _of_library(call, 2)
    if call.value(6) not in ("True", "False"):
        return _of_library(call, 3)
    stride, padding, dilation = (call.integers(at) for at in (3, 4, 5))
    if call.flag(6):
        return _transposed(call, stride, padding, dilation, 7, bias=True)
    x, weight = call.tensor(0), call.tensor(1)
    return _forward(call, _output(x, weight, stride, padding, dilation), bias=True)


def _transposed(
    call: Arguments,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    extra: int,
    *,
    bias: bool,
) -> Work:
    """Return the work of a transposed convolution; ``extra`` is the position of its padding."""
    x, weight = call.tensor(0), call.tensor(1)
    dims = len(weight.shape) - 2
    flops = multiplications(x.shape, weight.shape)
    groups = call.integer(extra + 1)
    places = [
        (size - 1) * step - 2 * pad + dilate * (kernel - 1) + more + 1
        for size, kernel, step, pad, dilate, more in zip(
            x.shape[2:],
            weight.shape[2:],
            _spread(stride, dims),
            _spread(padding, dims),
            _spread(dilation, dims),
            _spread(call.integers(extra), dims),
            strict=True,
        )
    ]
    if min(places) < 0:
        raise UnknownWork
    out = (x.shape[0], weight.shape[1] * groups, *places)
    read = read_of(call.tensors(3 if bias else 2))
    return _work(flops, read, written_of((out, x.dtype)), weight.shape, x.dtype)


def _of_library(call: Arguments, first: int) -> Work:
    """Return the work of a library's (…, padding, stride, dilation, groups, …) from a position."""
    padding, stride, dilation = (call.integers(first + at) for at in range(3))
    out = _output(call.tensor(0), call.tensor(1), stride, padding, dilation)
    return _forward(call, out, bias=first > 2)


def plain_convolution(call: Arguments) -> Work:
    """Return the work of ``_slow_conv2d_forward(x, weight, kernel_size, bias, stride, padding)``
    or of ``thnn_conv2d`` and the like.
    """
    x, weight = call.tensor(0), call.tensor(1)
    dilation = call.integers(6) if call.value(6).startswith("[") else (1,)
    out = _output(x, weight, call.integers(4), call.integers(5), dilation)
    return _forward(call, out, bias=False)


def backward(call: Arguments) -> Work:
    """Return the work of ``convolution_backward(grad, x, weight, bias_sizes, stride, padding,
    dilation, transposed, output_padding, groups, output_mask)``.
    """
    grad, x, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    mask = call.flags(10)
    if len(mask) != 3:
        raise UnknownWork
    sliding = x.shape if call.flag(7) else grad.shape
    one = multiplications(sliding, weight.shape)
    outputs = [(x.shape, x.dtype), (weight.shape, weight.dtype), (grad.shape[1:2], grad.dtype)]
    written = [out for out, wanted in zip(outputs, mask, strict=True) if wanted]
    return _work(
        one * (mask[0] + mask[1]),
        read_of((grad, x, weight)),
        written_of(*written),
        weight.shape,
        x.dtype,
    )


def backward_input(call: Arguments) -> Work:
    """Return the work of ``convolution_backward_input(sizes, grad, weight, …)`` of 2021."""
    grad, weight = call.tensor(1), call.tensor(2)
    written = written_of((call.integers(0), grad.dtype)) if call.value(0) else None
    flops = multiplications(grad.shape, weight.shape)
    return _work(flops, read_of((grad, weight)), written, weight.shape, grad.dtype)


def backward_weight(call: Arguments) -> Work:
    """Return the work of ``convolution_backward_weight(sizes, grad, x, …)`` of 2021."""
    grad, x, weight = call.tensor(1), call.tensor(2), call.integers(0)
    flops = multiplications(grad.shape, weight)
    written = written_of((weight, grad.dtype))
    return _work(flops, read_of((grad, x)), written, weight, grad.dtype)


def _all_inputs(related: Arguments) -> tuple[Tensor, Tensor, Tensor]:
    """Return x, gradient and weight of a backward call.

    torch's own begins with the gradient, those of libraries with x.
    """
    one, two, weight = related.tensor(0), related.tensor(1), related.tensor(2)
    if min(len(t.shape) for t in (one, two, weight)) < 3:
        raise UnknownWork
    is_plain = related.name.rpartition("::")[2] == "convolution_backward"
    x, grad = (two, one) if is_plain else (one, two)
    if grad.shape[1] != weight.shape[0] or x.shape[0] != grad.shape[0]:
        raise UnknownWork
    return x, grad, weight


def sizes_of_gradient(call: Arguments) -> tuple[tuple[int, ...], ...] | None:
    """Return the shapes of x, gradient and weight of a backward call, or None."""
    try:
        return tuple(one.shape for one in _all_inputs(call))
    except UnknownWork:
        return None


def forward_by_backward(call: Arguments, related: Arguments) -> Work:
    """Return the work of a forward pass without recorded stride, from its backward pass."""
    x, grad, weight = _all_inputs(related)
    if (x.shape, weight.shape) != (call.tensor(0).shape, call.tensor(1).shape):
        raise UnknownWork
    return _forward(call, grad.shape, bias=False)


def gradient_by_backward(call: Arguments, related: Arguments) -> Work:
    """Return the work of one gradient without recorded sizes, from the call around it."""
    x, grad, weight = _all_inputs(related)
    output = x if call.name.rstrip("_").endswith("input") else weight
    return _work(
        multiplications(grad.shape, weight.shape),
        read_of(call.tensors()),
        written_of((output.shape, output.dtype)),
        weight.shape,
        grad.dtype,
    )


MODELS: Mapping[str, Model] = {
    "convolution": convolution,
    "_convolution": convolution,
    "convolution_overrideable": convolution,
    "depthwise_convolution": convolution,
    "_conv_depthwise2d": plain_convolution,
    "_slow_conv2d_forward": plain_convolution,
    "slow_conv3d_forward": plain_convolution,
    "conv_depthwise3d": plain_convolution,
    "slow_conv_dilated2d": plain_convolution,
    "convolution_backward": backward,
    "convolution_backward_overrideable": backward,
    "convolution_backward_input": backward_input,
    "convolution_backward_weight": backward_weight,
}

BY_PARENT: Mapping[str, Related] = {
    "convolution_backward_input": gradient_by_backward,
    "convolution_backward_weight": gradient_by_backward,
}
"""Models of calls that lack something, by the call around them."""

BY_GRADIENT: Mapping[str, Related] = {
    "convolution": forward_by_backward,
    "_convolution": forward_by_backward,
}
"""Models of forward calls that lack something, by a backward call in ``GRADIENTS``."""

GRADIENTS = frozenset({"convolution_backward"})
