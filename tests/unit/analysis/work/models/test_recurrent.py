"""FLOPs and bytes of recurrent layers and fused cells."""

from __future__ import annotations

from tests.unit.analysis.work.calls import flops, moved, tensor, work

WEIGHTS = [tensor(32, 5), tensor(32, 8), tensor(32), tensor(32)]


def test_each_matrix_is_applied_to_each_token() -> None:
    x = tensor(7, 3, 5)
    once = 2 * 21 * 32 * 13
    assert flops("aten::_cudnn_rnn", x, WEIGHTS, 4) == once
    assert flops("aten::miopen_rnn", x, WEIGHTS, 4) == once
    assert flops("aten::_cudnn_rnn_backward", x, WEIGHTS, 4) == 2 * once
    assert work("aten::_cudnn_rnn", tensor(7, 3, 6), WEIGHTS, 4) is None


def test_a_fused_cell_has_four_gates() -> None:
    gates, state = tensor(2, 32), tensor(2, 8)
    assert moved("aten::_thnn_fused_lstm_cell", gates, gates, state) == (576, 2 * 64 + 256)
    assert work("aten::_thnn_fused_lstm_cell", gates, gates, tensor(2, 9)) is None
