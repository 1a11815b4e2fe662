"""Programs with an idiom written by hand, and with the fused operator that does the same."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.sized import FP32, SizedProgram, full

ROWS, WIDTH = 4096, 1024
X, XF = full(ROWS, WIDTH), full(ROWS, WIDTH, dtype=FP32)
COLUMN = full(ROWS, 1, dtype=FP32)
Layer = Callable[[SizedProgram], None]


def program(layer: Layer, steps: int = 4, layers: int = 6) -> SizedProgram:
    """Steps of some layers between products that a device is busy with."""
    run = SizedProgram()
    for _ in range(steps):
        with run.step():
            for _ in range(layers):
                run.product(ROWS, WIDTH, WIDTH)
                layer(run)
            run.product(ROWS, WIDTH, WIDTH)
            run.wait()
    return run


def rms_norm(run: SizedProgram) -> None:
    """RMSNorm as transformers write it, with the cast to float32 and back."""
    with run.around("aten::to"):
        run.run("aten::copy_", XF, X, "False")
    run.run("aten::pow", XF, "2")
    run.run("aten::mean", XF, "[-1]", "True", "")
    run.run("aten::add", COLUMN, "1e-6", "1")
    run.run("aten::rsqrt", COLUMN)
    run.run("aten::mul", XF, COLUMN)
    with run.around("aten::to"):
        run.run("aten::copy_", X, XF, "False")
    run.run("aten::mul", full(WIDTH), X)


def layer_norm(run: SizedProgram) -> None:
    """LayerNorm by its definition, in float32."""
    run.run("aten::mean", XF, "[-1]", "True", "")
    run.run("aten::sub", XF, COLUMN, "1")
    run.run("aten::pow", XF, "2")
    run.run("aten::mean", XF, "[-1]", "True", "")
    run.run("aten::add", COLUMN, "1e-6", "1")
    run.run("aten::sqrt", COLUMN)
    run.run("aten::div", XF, COLUMN)
    run.run("aten::mul", full(WIDTH, dtype=FP32), XF)


def fused_norm(run: SizedProgram) -> None:
    """The same in one kernel of vLLM."""
    run.run("_C::rms_norm", X, X, full(WIDTH), "1e-6")


HEADS = (2, 16, 1024, 64)
HALF, ANGLES = full(2, 16, 1024, 32), full(1, 1, 1024, 64)


def rotary(run: SizedProgram) -> None:
    """Rotary embedding of query and key as transformers write it."""
    for _ in range(2):
        run.run("aten::mul", full(*HEADS), ANGLES)
        run.run("aten::neg", HALF)
        run.run("aten::cat", [HALF, HALF], "-1")
        run.run("aten::mul", full(*HEADS), ANGLES)
        run.run("aten::add", full(*HEADS), full(*HEADS), "1")


def fused_rotary(run: SizedProgram) -> None:
    """The same in a kernel of its own."""
    run.run("_C::rotary_embedding", full(1024), full(2048, 1024), full(2048, 1024))


def gate(run: SizedProgram) -> None:
    """SwiGLU: the activation, the other product, and the product with it."""
    wide = full(ROWS, 2 * WIDTH)
    run.run("aten::silu", wide)
    run.product(ROWS, WIDTH, 2 * WIDTH + 64)
    run.run("aten::mul", wide, wide)


def fused_gate(run: SizedProgram) -> None:
    """The same in one kernel of vLLM."""
    run.run("_C::silu_and_mul", full(ROWS, 2 * WIDTH), full(ROWS, 4 * WIDTH))


def scores(batch: int = 32, length: int = 512, depth: int = 64) -> Layer:
    """Attention by hand: a product, scale, softmax and product."""

    def layer(run: SizedProgram) -> None:
        square = full(batch, length, length)
        run.run("aten::bmm", full(batch, length, depth), full(batch, depth, length))
        run.run("aten::mul", square, "0.125")
        run.run("aten::_softmax", square, "-1", "False")
        run.run("aten::bmm", square, full(batch, length, depth))

    return layer


def scores_in_float32(run: SizedProgram) -> None:
    """Attention by hand with a mask and a softmax in float32."""
    low, high = full(32, 512, 512), full(32, 512, 512, dtype=FP32)
    run.run("aten::bmm", full(32, 512, 64), full(32, 64, 512))
    run.run("aten::div", low, "8")
    run.run("aten::add", low, full(1, 512, 512), "1")
    run.run("aten::_softmax", low, "-1", "True")
    run.run("aten::copy_", low, high, "False")
    run.run("aten::bmm", low, full(32, 512, 64))


def fused_attention(run: SizedProgram) -> None:
    """The same by a fused kernel."""
    heads = full(2, 16, 512, 64)
    run.run("aten::_scaled_dot_product_flash_attention", heads, heads, heads, "0.0", "False")


def router(run: SizedProgram) -> None:
    """A softmax between products that do not read it: a router of experts."""
    run.product(ROWS, WIDTH, 8)
    run.run("aten::_softmax", full(ROWS, 8), "-1", "False")
    run.run("aten::topk", full(ROWS, 8), "2", "-1", "True", "True")
    run.product(ROWS, WIDTH, WIDTH)


def independent(run: SizedProgram) -> None:
    """Equal operators on different tensors: nothing passes between them."""
    for _ in range(6):
        run.run("aten::add_", X, X, "1")
