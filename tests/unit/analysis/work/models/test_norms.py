"""FLOPs and bytes of normalizations and their gradients."""

from __future__ import annotations

from tests.unit.analysis.work.calls import moved, tensor, work

HALF = "c10::BFloat16"
X, V, ROWS = tensor(6, 8, dtype=HALF), tensor(8, dtype=HALF), tensor(6, 1)


def test_statistics_of_half_precision_are_floats() -> None:
    args = (X, [8], V, V, 1e-5)
    assert moved("aten::native_layer_norm", *args) == (2 * 64, 2 * 48 + 2 * 4 * 6)


def test_backward_reads_both_and_writes_the_gradients() -> None:
    args = (X, X, [8], ROWS, ROWS, V, V, [True, True, True])
    read, written = moved("aten::native_layer_norm_backward", *args)
    assert (read, written) == (2 * 96 + 2 * 24 + 16, 96 + 32)


def test_root_mean_square() -> None:
    assert moved("aten::_fused_rms_norm", X, [8], V, 1e-5) == (96 + 16, 96 + 24)
    assert moved("_C::rms_norm", X, X, V, 1e-5) == (96 + 16, 96)
    assert moved("_C::fused_add_rms_norm", X, X, V, 1e-5) == (2 * 96 + 16, 2 * 96)


def test_libraries_have_the_gradient_second() -> None:
    image, c = tensor(2, 4, 8, 8), tensor(4)
    read = 2 * 4 * 512 + 5 * 16
    for name in ("cudnn_batch_norm_backward", "native_batch_norm_backward"):
        args = (image, image, c, c, c, c, c, 1e-5)
        assert moved(f"aten::{name}", *args) == (read, 4 * 512 + 2 * 16)


def test_a_row_has_no_channels() -> None:
    assert work("aten::native_batch_norm", tensor(4)) is None
