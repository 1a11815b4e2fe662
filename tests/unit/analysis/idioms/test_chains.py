"""Chains of operators: what passes between them, what each one is, and its time in one pass."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.idioms.attention import attention_chains
from tb_privateuse1.analysis.idioms.chains import chains_of
from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.registry import IDIOMS, NAMES
from tb_privateuse1.trace.model import Trace
from tests.support import chains
from tests.support.chains import Layer, program
from tests.support.sized import SizedProgram, full

BY_HAND = {
    "norm": (chains.rms_norm, chains.layer_norm),
    "rotary": (chains.rotary,),
    "gate": (chains.gate,),
}
FUSED = (chains.fused_norm, chains.fused_rotary, chains.fused_gate, chains.fused_attention)


def idioms(trace: Trace) -> list[str]:
    return [NAMES[code] for code in chains_of(trace).table.idiom.tolist()]


def test_each_idiom_has_a_name_and_the_last_one_takes_all() -> None:
    assert len(set(NAMES)) == len(IDIOMS)
    assert NAMES[-1] == "elementwise"


@pytest.mark.parametrize(
    ("name", "layer"), [(name, layer) for name, all_of in BY_HAND.items() for layer in all_of]
)
def test_an_idiom_is_recognized(name: str, layer: Layer) -> None:
    trace = program(layer).trace()
    assert set(idioms(trace)) == {name}
    table = chains_of(trace).table
    assert table.sized.all()
    assert (table.saved_ns > 0).all()


@pytest.mark.parametrize("layer", FUSED)
def test_the_fused_operator_is_no_chain(layer: Layer) -> None:
    trace = program(layer).trace()
    assert idioms(trace) == []
    assert len(attention_chains(trace).table) == 0


def test_one_pass_of_a_norm_reads_and_writes_its_tensor_once() -> None:
    table = chains_of(program(chains.rms_norm).trace()).table
    assert (table.nodes == 8).all()
    tensor = 2 * chains.ROWS * chains.WIDTH
    assert (table.external_bytes == 2 * tensor + 2 * chains.WIDTH).all()


def test_query_and_key_are_two_chains() -> None:
    table = chains_of(program(chains.rotary, steps=1, layers=1).trace()).table
    assert table.nodes.tolist() == [5, 5]


def test_a_gate_reaches_past_a_product() -> None:
    found = chains_of(program(chains.gate, steps=1, layers=1).trace())
    (size,) = found.table.external_bytes.tolist()
    assert size == 3 * 2 * chains.ROWS * 2 * chains.WIDTH
    assert found.table.nodes.tolist() == [2]


def test_an_activation_that_the_next_product_reads_is_no_gate() -> None:
    def layer(run: SizedProgram) -> None:
        wide = full(chains.ROWS, 2 * chains.WIDTH)
        run.run("aten::silu", wide)
        run.product(chains.ROWS, 2 * chains.WIDTH, chains.WIDTH)
        run.run("aten::mul", wide, wide)

    assert idioms(program(layer).trace()) == []


def test_a_residual_sum_is_written_as_well() -> None:
    def layer(run: SizedProgram) -> None:
        run.run("aten::add", chains.X, chains.X, "1")
        chains.rms_norm(run)

    table = chains_of(program(layer).trace()).table
    tensor = 2 * chains.ROWS * chains.WIDTH
    assert (table.external_bytes == 4 * tensor + 2 * chains.WIDTH).all()


def test_a_norm_ends_where_its_operator_would() -> None:
    """What computes its input or works on its result is no part of what one operator does."""

    def layer(run: SizedProgram) -> None:
        run.run("aten::exp", chains.XF)
        run.run("aten::neg", chains.XF)
        chains.layer_norm(run)
        run.run("aten::neg", chains.XF)
        run.run("aten::exp", chains.XF)

    found = chains_of(program(layer, steps=1, layers=1).trace())
    names = [NAMES[code] for code in found.table.idiom.tolist()]
    assert names == ["elementwise", "norm", "elementwise"]
    assert found.table.nodes.tolist() == [2, 8, 2]
    tensor = 4 * chains.ROWS * chains.WIDTH
    before, norm, after = found.table.external_bytes.tolist()
    assert norm == 2 * tensor + 4 * chains.WIDTH
    assert (before, after) == (2 * tensor, 2 * tensor)


def test_the_two_results_of_var_mean_are_tensors_of_their_own() -> None:
    def layer(run: SizedProgram) -> None:
        run.run("aten::var_mean", chains.XF, "[-1]", "False", "True")
        run.run("aten::sub", chains.XF, chains.COLUMN, "1")
        run.run("aten::add", chains.COLUMN, "1e-6", "1")
        run.run("aten::sqrt", chains.COLUMN)
        run.run("aten::div", chains.XF, chains.COLUMN)

    assert set(idioms(program(layer).trace())) == {"norm"}


def test_equal_operators_in_a_row_work_on_different_tensors() -> None:
    assert idioms(program(chains.independent).trace()) == []


def test_tensors_of_other_sizes_pass_nothing() -> None:
    def layer(run: SizedProgram) -> None:
        for width in (512, 768, 1024):
            run.run("aten::relu", full(chains.ROWS, width))

    assert idioms(program(layer).trace()) == []


def test_the_optimizer_is_another_matter() -> None:
    run = SizedProgram()
    with run.step(), run.range("Optimizer.step#Adam.step"):
        chains.layer_norm(run)
    assert idioms(run.trace()) == []


def test_the_rate_is_that_of_the_same_kind_of_work() -> None:
    rates = reachable(program(chains.rms_norm).trace())
    assert rates.memory == pytest.approx(0.85e12, rel=0.05)


def test_slow_arithmetic_stays_in_the_fused_kernel() -> None:
    def layer(run: SizedProgram) -> None:
        run.run("aten::exp", chains.X, slow=10)
        run.run("aten::neg", chains.X)

    table = chains_of(program(layer).trace()).table
    tensor_ns = 4 * chains.ROWS * chains.WIDTH / 1e3
    assert (table.fused_ns > 8 * tensor_ns).all()


@pytest.mark.parametrize("layer", [chains.scores(), chains.scores_in_float32])
def test_attention_by_hand_is_recognized(layer: Layer) -> None:
    trace = program(layer).trace()
    found = attention_chains(trace)
    assert len(found.table) == 4 * 6
    assert (found.table.saved_ns > found.table.duration_ns // 2).all()
    words = {found.graph.words[w] for w in found.graph.nodes.word[found.chain >= 0]}
    assert {"bmm", "_softmax"} <= words


def test_attention_keeps_its_products_time_if_sizes_are_unknown() -> None:
    run = SizedProgram()
    with run.step():
        for name, us in (("bmm", 100), ("mul", 80), ("_softmax", 120), ("bmm", 100)):
            run.op(f"aten::{name}", 10, kernel=us)
    (saved,) = attention_chains(run.trace()).table.saved_ns.tolist()
    assert saved == 200_000


def test_a_router_is_no_attention() -> None:
    assert len(attention_chains(program(chains.router).trace()).table) == 0


def test_chains_of_nothing() -> None:
    found = chains_of(Trace())
    assert len(found.table) == 0
    assert len(attention_chains(Trace()).table) == 0


def test_chains_do_not_depend_on_where_they_stand() -> None:
    one = chains_of(program(chains.rms_norm, steps=1, layers=1).trace()).table
    many = chains_of(program(chains.rms_norm, steps=3, layers=4).trace()).table
    assert len(many) == 12 * len(one)
    assert set(np.unique(many.external_bytes)) == set(one.external_bytes.tolist())


def test_without_sizes_only_batches_of_products_are_attention() -> None:
    run = SizedProgram()
    with run.step():
        for name, us in (("mm", 100), ("_softmax", 20), ("topk", 10), ("mm", 100)):
            run.op(f"aten::{name}", 10, kernel=us)
    assert len(attention_chains(run.trace()).table) == 0
