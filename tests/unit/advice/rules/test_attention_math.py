"""Attention by the general path, and by a fused kernel."""

from contextlib import ExitStack

from tb_privateuse1.advice.rules.attention_math import RULE
from tb_privateuse1.analysis.idioms.attention import attention_chains
from tb_privateuse1.trace.vendor import GENERIC
from tests.support import chains
from tests.support.program import Program, found
from tests.support.sized import SizedProgram, full


def program(name: str) -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            with run.around(name):
                run.op("aten::matmul", 10, kernel=100)
                run.op("aten::mul", 10, kernel=80)
                run.op("aten::_softmax", 10, kernel=120)
                run.op("aten::matmul", 10, kernel=100)
            run.wait()
    return run


def test_the_general_path_is_found_without_its_products() -> None:
    (row,) = found(RULE, program("aten::_scaled_dot_product_attention_math").trace())
    assert row.events == 4
    assert row.saving_ns is not None
    assert row.saving_ns < 4 * 240_000, "the products stay"
    assert row.saving_ns > 4 * 150_000
    assert (row.confidence, row.saving_low_ns) == ("low", 0), "sizes are not recorded"


def test_a_fused_kernel_is_fine() -> None:
    assert found(RULE, program("aten::_scaled_dot_product_flash_attention").trace()) == []


def test_attention_by_hand_is_found_with_its_time_in_one_kernel() -> None:
    (row,) = found(RULE, chains.program(chains.scores()).trace())
    assert row.events == 4 * 6
    assert row.title == "Attention is unfused: 6 calls a step"
    assert row.saving_share is not None
    assert row.saving_share > 0.3
    assert "aten::_softmax" in row.explanation


def test_a_fused_operator_and_a_router_are_fine() -> None:
    assert found(RULE, chains.program(chains.fused_attention).trace()) == []
    assert found(RULE, chains.program(chains.router).trace()) == []


def test_the_backward_pass_saves_as_well_but_is_no_call() -> None:
    def layer(run: SizedProgram) -> None:
        chains.scores()(run)
        square = full(32, 512, 512)
        run.run("aten::bmm", full(32, 512, 64), full(32, 64, 512))
        run.run("aten::bmm", square, full(32, 512, 64))
        run.run("aten::_softmax_backward_data", square, square, "-1", "15")
        run.run("aten::mul", square, "0.125")
        run.run("aten::bmm", square, full(32, 512, 64))
        run.run("aten::bmm", square, full(32, 512, 64))

    (both,) = found(RULE, chains.program(layer).trace())
    (row,) = found(RULE, chains.program(chains.scores()).trace())
    assert both.title == row.title
    assert both.saving_ns is not None
    assert row.saving_ns is not None
    assert both.saving_ns > 1.8 * row.saving_ns


def test_few_keys_for_each_query_leave_the_products() -> None:
    """Nine pixels around each one: their scores are few beside the keys and values themselves."""

    def layer(run: SizedProgram) -> None:
        run.run("aten::add", full(65536, 1024), full(65536, 1024), "1")
        run.run("aten::bmm", full(65536, 8, 32), full(65536, 32, 9), slow=4)
        run.run("aten::_softmax", full(65536, 8, 9), "-1", "False")
        run.run("aten::bmm", full(65536, 8, 9), full(65536, 9, 32), slow=4)

    rows = found(RULE, chains.program(layer).trace())
    assert all((row.saving_share or 0) < 0.1 for row in rows)


def test_chances_that_are_added_up_over_the_rows_are_no_attention() -> None:
    """A mixture's parts by their rows: the product is over what no softmax normalized."""
    rows, parts = 8192, 512

    def layer(run: SizedProgram, *, over_rows: bool) -> None:
        run.run("aten::mm", full(rows, 64), full(64, parts))
        run.run("aten::_softmax", full(rows, parts), "-1", "False")
        if over_rows:
            run.run("aten::mm", full(parts, rows), full(rows, 64))
        else:
            run.run("aten::mm", full(rows, parts), full(parts, 64))
        run.run("aten::mm", full(rows, 64), full(64, parts))
        chances = full(rows, parts)
        run.run("aten::_softmax_backward_data", chances, chances, "-1", "15")
        run.run("aten::mm", full(rows, parts), full(parts, 64))

    assert len(found(RULE, chains.program(lambda run: layer(run, over_rows=False)).trace())) == 1
    assert found(RULE, chains.program(lambda run: layer(run, over_rows=True)).trace()) == []


def test_a_bias_as_large_as_the_chances_is_no_factor_of_a_product() -> None:
    """One row of classes, and the next view's pass of the same model: its bias has the size."""

    def views(run: SizedProgram) -> None:
        for _ in range(8):
            run.run("aten::addmm", full(512), full(1, 4096), full(4096, 512), "1", "1")
            run.run("aten::_softmax", full(1, 512), "1", "False")
            run.run("aten::add", full(1, 512), full(1, 512), "1")

    assert not len(attention_chains(chains.program(views).trace()).table)


def test_a_backend_of_its_own_may_have_no_fused_attention() -> None:
    run = chains.program(chains.scores())
    (known,), (row,) = found(RULE, run.trace()), found(RULE, run.trace(known=(GENERIC,)))
    assert row.saving_ns == known.saving_ns
    assert known.saving_low_ns is not None
    assert known.saving_low_ns > 0
    assert row.saving_low_ns == 0
    assert (known.confidence, row.confidence) == ("high", "medium")


def test_attention_of_the_fast_path_may_save_nothing() -> None:
    """No line of the program has these products, and the path fuses what is beside them."""

    def layer(run: SizedProgram, *names: str) -> None:
        with ExitStack() as around:
            for name in names:
                around.enter_context(run.around(name))
            chains.scores()(run)

    path = "aten::_transformer_encoder_layer_fwd", "aten::_native_multi_head_attention"
    (own,) = found(RULE, chains.program(layer).trace())
    (row,) = found(RULE, chains.program(lambda run: layer(run, *path)).trace())
    assert row.saving_ns == own.saving_ns
    assert (own.confidence, row.confidence) == ("high", "medium")
    assert own.saving_low_ns is not None
    assert own.saving_low_ns > 0
    assert row.saving_low_ns == 0
    assert "set_fastpath_enabled" in row.fix
    assert "set_fastpath_enabled" not in own.fix


def test_calls_in_the_lines_of_the_program_save_beside_those_of_the_fast_path() -> None:
    def layer(run: SizedProgram) -> None:
        chains.scores()(run)
        with run.around("aten::_native_multi_head_attention"):
            chains.scores()(run)

    (row,) = found(RULE, chains.program(layer).trace())
    assert row.saving_ns is not None
    assert row.saving_low_ns is not None
    assert 0.45 * row.saving_ns < row.saving_low_ns < 0.55 * row.saving_ns
    assert row.confidence == "medium"
    assert "set_fastpath_enabled" not in row.fix
