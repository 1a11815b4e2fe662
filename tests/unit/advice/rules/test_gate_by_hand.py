"""Gated activations as two operators, and as one."""

from tb_privateuse1.advice.rules.gate_by_hand import RULE
from tb_privateuse1.trace.vendor import GENERIC
from tests.support import chains
from tests.support.program import found
from tests.support.sized import SizedProgram, full, kernel_us, recorded


def test_the_chain_is_found() -> None:
    (row,) = found(RULE, chains.program(chains.gate).trace())
    assert row.events == 4 * 6
    assert row.saving_share is not None
    assert row.saving_share > 0.05
    assert row.severity in ("high", "medium")
    assert len(row.evidence) > 1


def test_the_fused_operator_is_fine() -> None:
    assert found(RULE, chains.program(chains.fused_gate).trace()) == []


def test_other_chains_are_other_rules() -> None:
    assert found(RULE, chains.program(chains.rms_norm).trace()) == []


def gradient_of_a_gate(run: SizedProgram) -> None:
    """The gradient of a product: times each of its factors, then through the activation."""
    wide = full(chains.ROWS, 2 * chains.WIDTH)
    run.run("aten::mul", wide, wide)
    run.run("aten::mul", wide, wide)
    run.run("aten::silu_backward", wide, wide)


def gradient_of_a_square(run: SizedProgram) -> None:
    """Twice the input times the gradient, then through the activation below the square."""
    wide = full(chains.ROWS, 2 * chains.WIDTH)
    run.run("aten::mul", wide, "2.")
    run.run("aten::mul", wide, wide)
    run.run("aten::threshold_backward", wide, wide, "0")


def test_gradients() -> None:
    assert len(found(RULE, chains.program(gradient_of_a_gate).trace())) == 1
    assert found(RULE, chains.program(gradient_of_a_square).trace()) == []


def derivative_of(forward: str) -> chains.Layer:
    """Return a layer whose gradient has two products, which autograd links with a forward call."""

    def layer(run: SizedProgram) -> None:
        wide, number = full(chains.ROWS, 2 * chains.WIDTH), run.launched
        inputs = {**recorded(wide, wide), "Sequence number": number}
        run.op(forward, 3, kernel=kernel_us(forward, inputs), **inputs)
        run.product(chains.ROWS, chains.WIDTH, 2 * chains.WIDTH)
        with run.around("AnyBackward0", **{"Sequence number": number, "Fwd thread id": 1}):
            run.run("aten::mul", wide, wide)
            run.run("aten::mul", wide, wide)
        run.run("aten::tanh_backward", wide, wide)

    return layer


def test_the_products_of_a_second_derivative_are_no_gate() -> None:
    """Autograd writes them for a gradient that is differentiated again."""
    (row,) = found(RULE, chains.program(derivative_of("aten::mul")).trace())
    assert row.events == 4 * 6
    assert found(RULE, chains.program(derivative_of("aten::tanh_backward")).trace()) == []


def test_a_backend_of_its_own_may_have_no_fused_kernel() -> None:
    run = chains.program(chains.gate)
    (known,), (row,) = found(RULE, run.trace()), found(RULE, run.trace(known=(GENERIC,)))
    assert row.saving_ns == known.saving_ns
    assert known.saving_low_ns is not None
    assert known.saving_low_ns > 0
    assert row.saving_low_ns == 0
    assert (known.confidence, row.confidence) == ("high", "low")
