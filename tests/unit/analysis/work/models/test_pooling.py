"""FLOPs and bytes of pooling and its gradient."""

from __future__ import annotations

from tests.unit.analysis.work.calls import flops, moved, tensor, work

X, INDICES = tensor(2, 4, 8, 8), tensor(2, 4, 4, 4, dtype="long int")


def test_windows() -> None:
    args = ([3, 3], [2, 2], [1, 1], [1, 1], False)
    assert flops("aten::max_pool2d_with_indices", X, *args) == 128 * 9
    assert moved("aten::max_pool2d_with_indices", X, *args) == (2048, 128 * 12)
    assert work("aten::max_pool2d_with_indices", X) is None


def test_the_gradient_does_not_read_the_input() -> None:
    grad = tensor(2, 4, 4, 4)
    rest = ([3, 3], [2, 2], [1, 1], [1, 1], False, INDICES)
    assert moved("aten::max_pool2d_with_indices_backward", grad, X, *rest) == (128 * 12, 2048)


def test_a_larger_stride_reads_less() -> None:
    assert moved("aten::upsample_nearest2d", X, [2, 2], None, None) == (32 * 4, 32 * 4)
    assert moved("aten::_adaptive_avg_pool2d", X, [1, 1]) == (2048, 32)
