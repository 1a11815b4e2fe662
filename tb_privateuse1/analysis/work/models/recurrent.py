"""Work of recurrent layers of libraries: each weight matrix is applied once per token."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, written_of


def _products(call: Arguments) -> int:
    """Return twice the multiplications: those of all layers, directions and gates."""
    x, weights = call.tensor(0), call.tensor_list(1)
    matrices = [one for one in weights if len(one.shape) == 2]
    if not x.shape or not matrices or x.shape[-1] != matrices[0].shape[1]:
        raise UnknownWork
    tokens = x.numel // max(x.shape[-1], 1)
    return 2 * tokens * sum(one.numel for one in matrices)


def forward(call: Arguments) -> Work:
    """Return the work of ``_cudnn_rnn(x, [weights], …)`` and ``miopen_rnn``.

    The reserve that training writes has a size of the library's own: bytes are unknown.
    """
    return Work(_products(call), None, None, matrix=True, dtype=call.tensor(0).dtype)


def backward(call: Arguments) -> Work:
    """Return the work of ``_cudnn_rnn_backward(x, [weights], …)``: gradients of x and weights."""
    x, flops = call.tensor(0), 2 * _products(call)
    return Work(flops, None, None, matrix=True, dtype=x.dtype)


def lstm_cell(call: Arguments) -> Work:
    """Return the work of ``_thnn_fused_lstm_cell(gates, hidden gates, state, …)``.

    Four gates per unit: a sum, two biases and a function each, then the new state and its output.
    """
    gates, state = call.tensor(0), call.tensor(2)
    if gates.numel != 4 * state.numel:
        raise UnknownWork
    written = written_of(*[(state.shape, state.dtype)] * 2, (gates.shape, gates.dtype))
    tensors = list(call.tensors())
    read = sum(one.bytes for one in tensors) if all(one.dtype for one in tensors) else None
    return Work(4 * gates.numel + 5 * state.numel, read, written, dtype=state.dtype)


MODELS: Mapping[str, Model] = {
    "_rnn": forward,
    "rnn": forward,
    "_rnn_backward": backward,
    "rnn_backward": backward,
    "_thnn_fused_lstm_cell": lstm_cell,
}
