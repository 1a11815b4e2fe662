"""Work of losses and their gradients."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, known_sum, read_of, written_of


def _out(call: Arguments, x: Tensor, reduction: int) -> int | None:
    """Return the bytes of the loss; ``reduction`` is the position of 0 for none, 1 or 2."""
    try:
        whole = call.integer(reduction) == 0
    except UnknownWork:
        return None
    return written_of((x.shape if whole else (), x.dtype))


def nll_loss(call: Arguments) -> Work:
    """Return the work of ``nll_loss_forward(x, target, weight, reduction, …)``.

    It reads one element of x for each target.
    """
    x, target = call.tensor(0), call.tensor(1)
    out = target.shape if call.value(3) == "0" else ()
    chosen = Tensor(target.shape, x.dtype, target.numel)
    extra = [] if call.optional(2) is None else [call.tensor(2)]
    return Work(
        target.numel,
        read_of([chosen, target, *extra]),
        written_of((out, x.dtype), ((), x.dtype)),
        dtype=x.dtype,
    )


def nll_loss_backward(call: Arguments) -> Work:
    """Return the work of ``nll_loss_backward(grad, x, target, weight, reduction, …)``."""
    grad, x, target = call.tensor(0), call.tensor(1), call.tensor(2)
    read = known_sum(lambda: (one.bytes for one in (grad, target)))
    return Work(target.numel, read, written_of((x.shape, x.dtype)), dtype=x.dtype)


def _pointwise(flops: int, reduction: int, operands: int = 2) -> Model:
    def work(call: Arguments) -> Work:
        x = call.tensor(0)
        read = read_of(call.tensors(operands))
        return Work((flops + 1) * x.numel, read, _out(call, x, reduction), dtype=x.dtype)

    return work


def _gradient(flops: int, operands: int = 3) -> Model:
    def work(call: Arguments) -> Work:
        x = call.tensor(1)
        read = read_of(call.tensors(operands))
        return Work(flops * x.numel, read, written_of((x.shape, x.dtype)), dtype=x.dtype)

    return work


MODELS: Mapping[str, Model] = {
    "nll_loss_forward": nll_loss,
    "nll_loss2d_forward": nll_loss,
    "nll_loss_backward": nll_loss_backward,
    "nll_loss2d_backward": nll_loss_backward,
    "mse_loss": _pointwise(2, 2),
    "mse_loss_backward": _gradient(3),
    "smooth_l1_loss": _pointwise(4, 2),
    "smooth_l1_loss_backward": _gradient(4),
    "huber_loss": _pointwise(4, 2),
    "huber_loss_backward": _gradient(4),
    "binary_cross_entropy": _pointwise(6, 3, 3),
    "binary_cross_entropy_with_logits": _pointwise(6, 4, 4),
    "binary_cross_entropy_backward": _gradient(5, 4),
}
