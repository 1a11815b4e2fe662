"""Work that a choice alone is read of, and work that is read as a whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.chosen_results import RULE
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, full, matrix, op, recorded, steps

Body = Callable[[SizedProgram], None]
LONG_US, SHORT_US = 1000, 100
TOKENS, WIDTH, EXPERTS = 2048, 128, 4
SCORES = full(64, 32_000, dtype=FP32)
WORDS: Input = ((64, 5), "long int")
FEW = full(64, 5, dtype=FP32)


def experts(run: SizedProgram, between: str = "gelu") -> None:
    for _ in range(EXPERTS):
        op(run, "linear", matrix(TOKENS, WIDTH), matrix(256, WIDTH), us=LONG_US)
        op(run, between, matrix(TOKENS, 256))
        op(run, "linear", matrix(TOKENS, 256), matrix(WIDTH, 256), us=LONG_US)


def experts_by_modules(run: SizedProgram) -> None:
    for one in range(EXPERTS):
        with run.frame(f"nn.Module: Linear_{one}"):
            run.rest(1)
            op(run, "linear", matrix(TOKENS, WIDTH), matrix(WIDTH, WIDTH), us=LONG_US)
    join(run)
    choose(run)


def join(run: SizedProgram) -> None:
    op(run, "stack", [full(TOKENS, WIDTH, dtype=FP32)] * EXPERTS, "1")


def choose(run: SizedProgram) -> None:
    chosen: Input = ((TOKENS, 1, WIDTH), "long int")
    op(run, "gather", matrix(TOKENS, EXPERTS, WIDTH), "1", chosen, "False")


def one_expert(run: SizedProgram) -> None:
    experts(run)
    join(run)
    choose(run)


def best_probabilities(run: SizedProgram) -> None:
    op(run, "softmax", SCORES, "-1", us=LONG_US)
    op(run, "topk", SCORES, "5", "-1", "True", "True")
    op(run, "eq", WORDS, WORDS)


def best_probability(run: SizedProgram) -> None:
    op(run, "log_softmax", SCORES, "1", us=LONG_US)
    op(run, "argmax", SCORES, "-1", "False")


def above_a_limit(run: SizedProgram) -> None:
    op(run, "sigmoid", SCORES, us=LONG_US)
    op(run, "gt", SCORES, "0.5")


def norm_of_all(run: SizedProgram) -> None:
    op(run, "cat", [full(1_048_576, dtype=FP32), full(1024, dtype=FP32)], "0", us=LONG_US)
    op(run, "linalg_vector_norm", matrix(1_049_600), "2", "", "False", "")


MASK: Input = ((TOKENS, 1), "bool")
NUMBERS: Input = ((TOKENS,), "long int")


def branch(run: SizedProgram, width: int = 256, layer: str = "Linear_0") -> None:
    with run.frame(f"nn.Module: {layer}"):
        run.rest(1)
        op(run, "linear", matrix(TOKENS, WIDTH), matrix(width, WIDTH), us=LONG_US)
        op(run, "gelu", matrix(TOKENS, width), us=SHORT_US / 2)
        op(run, "dropout", matrix(TOKENS, width), "0.1", "True", us=SHORT_US / 2)
        op(run, "linear", matrix(TOKENS, width), matrix(64, width), us=LONG_US)


def where(run: SizedProgram) -> None:
    op(run, "where", MASK, matrix(TOKENS, 64), matrix(TOKENS, 64))


def one_branch_each(run: SizedProgram) -> None:
    branch(run)
    branch(run, layer="Linear_1")
    where(run)
    op(run, "relu", matrix(TOKENS, 64))


def masks_of_numbers(run: SizedProgram) -> None:
    """Each expert's result is multiplied with the comparison of a token's number with its own."""
    for expert in range(EXPERTS):
        op(run, "eq", NUMBERS, str(expert), us=0)
        op(run, "unsqueeze", ((TOKENS,), "bool"), "-1", us=0)
        branch(run)
        op(run, "mul", matrix(TOKENS, 64), MASK)
        op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


def assigned_by_masks(run: SizedProgram) -> None:
    """A quarter of the first network's rows, and three quarters of the second one's."""
    for layer, rows in (("Linear_0", TOKENS // 4), ("Linear_1", TOKENS // 4 * 3)):
        branch(run, layer=layer)
        op(run, "index", matrix(TOKENS, 64), [((TOKENS,), "bool")])
        op(run, "index_put_", matrix(TOKENS, 64), [((TOKENS,), "bool")], matrix(rows, 64), "False")


def columns_of_rows(run: SizedProgram) -> None:
    op(run, "one_hot", NUMBERS, str(EXPERTS))
    op(run, "to", ((TOKENS, EXPERTS), "long int"), "6", "False", "False", "")
    for expert in range(EXPERTS):
        op(run, "slice", matrix(TOKENS, EXPERTS), "1", str(expert), str(expert + 1), "1", us=0)
        branch(run)
        op(run, "mul", matrix(TOKENS, 1), matrix(TOKENS, 64))
        op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


def joined_for_gates(run: SizedProgram) -> None:
    """Zeros with two numbers scattered into each row: two of four experts count."""
    op(run, "zeros", f"[{TOKENS}, {EXPERTS}]", "6", "", "", "False")
    two: Input = ((TOKENS, 2), "long int")
    op(run, "scatter_", matrix(TOKENS, EXPERTS), "1", two, matrix(TOKENS, 2))
    experts(run)
    join(run)
    op(run, "mul", matrix(TOKENS, EXPERTS, WIDTH), matrix(TOKENS, EXPERTS, 1))
    op(run, "sum", matrix(TOKENS, EXPERTS, WIDTH), "[1]", "False")


ONE_ROUND_US = 2 * LONG_US + SHORT_US


@pytest.mark.parametrize(
    ("body", "saved_us"),
    [
        (one_expert, EXPERTS * ONE_ROUND_US * (1 - 1 / EXPERTS)),
        (experts_by_modules, EXPERTS * LONG_US * (1 - 1 / EXPERTS)),
        (best_probabilities, LONG_US),
        (best_probability, LONG_US),
        (above_a_limit, LONG_US),
        (norm_of_all, LONG_US),
        (one_branch_each, ONE_ROUND_US),
        (assigned_by_masks, ONE_ROUND_US),
        (masks_of_numbers, EXPERTS * ONE_ROUND_US * (1 - 1 / EXPERTS)),
        (columns_of_rows, EXPERTS * ONE_ROUND_US * (1 - 1 / EXPERTS)),
        (joined_for_gates, EXPERTS * ONE_ROUND_US * (1 - 2 / EXPERTS)),
    ],
)
def test_what_is_not_chosen_goes(body: Body, saved_us: float) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.saving_ns == pytest.approx(3000 * saved_us, rel=0.03)


def test_uneven_branches_have_a_range() -> None:
    def body(run: SizedProgram) -> None:
        branch(run)
        branch(run, 1024, layer="Linear_1")
        where(run)

    (row,) = found(RULE, steps(body).trace())
    assert row.saving_low_ns == 0
    assert row.confidence == "low"


def both_are_read(run: SizedProgram) -> None:
    """The difference of both results is read as well."""
    branch(run)
    branch(run, layer="Linear_1")
    where(run)
    op(run, "sub", matrix(TOKENS, 64), matrix(TOKENS, 64))


def weighted_by_scores(run: SizedProgram) -> None:
    """A softmax keeps all experts."""
    op(run, "softmax", matrix(TOKENS, EXPERTS), "-1")
    for expert in range(EXPERTS):
        op(run, "slice", matrix(TOKENS, EXPERTS), "1", str(expert), str(expert + 1), "1", us=0)
        branch(run)
        op(run, "mul", matrix(TOKENS, 1), matrix(TOKENS, 64))
        op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


def chosen_by_element(run: SizedProgram) -> None:
    branch(run)
    branch(run, layer="Linear_1")
    op(run, "where", ((TOKENS, 64), "bool"), matrix(TOKENS, 64), matrix(TOKENS, 64))


def one_branch_alone(run: SizedProgram) -> None:
    """What is kept of one network is in no trace: padding, most often."""
    branch(run)
    op(run, "masked_fill", matrix(TOKENS, 64), MASK, "0")


def deeper_for_some(run: SizedProgram) -> None:
    """The second layer reads the first one's result, which is kept for the other rows."""
    for _ in range(2):
        with run.frame("nn.Module: Linear_0"):
            run.rest(1)
            op(run, "linear", matrix(TOKENS, WIDTH), matrix(WIDTH, WIDTH), us=LONG_US)
    op(run, "where", MASK, matrix(TOKENS, WIDTH), matrix(TOKENS, WIDTH))


def changed_by_a_mask(run: SizedProgram) -> None:
    """Some rows are read and others written, of one result that is read as a whole."""
    branch(run)
    op(run, "index", matrix(TOKENS, 64), [((TOKENS,), "bool")])
    op(run, "exp", matrix(TOKENS // 4, 64))
    op(run, "mean", matrix(TOKENS // 4, 64))
    op(run, "abs", matrix(TOKENS, 64))


def scaled_by_a_mask(run: SizedProgram) -> None:
    """Some rows of one result are changed where they are, and all of them are read."""
    branch(run)
    op(run, "index", matrix(TOKENS, 64), [((TOKENS,), "bool")])
    op(run, "mul", matrix(TOKENS // 4, 64), "2.")
    rows = matrix(TOKENS // 4, 64)
    op(run, "index_put_", matrix(TOKENS, 64), [((TOKENS,), "bool")], rows, "False")
    op(run, "abs", matrix(TOKENS, 64))


def first_of_a_recurrence(run: SizedProgram) -> None:
    """A layer makes the first state, and the next one is kept where a sequence goes on."""
    with run.frame("nn.Module: Linear_0"):
        run.rest(1)
        op(run, "linear", matrix(TOKENS, 64), matrix(WIDTH, 64), us=LONG_US)
    with run.frame("nn.Module: Linear_1"):
        run.rest(1)
        op(run, "linear", matrix(TOKENS, WIDTH), matrix(WIDTH, WIDTH), us=LONG_US)
    op(run, "where", MASK, matrix(TOKENS, WIDTH), matrix(TOKENS, WIDTH))


def two_masks(run: SizedProgram) -> None:
    """Two results without padding, each for itself."""
    for number in ("0", "1"):
        op(run, "eq", NUMBERS, number, us=0)
        branch(run)
        op(run, "mul", matrix(TOKENS, 64), MASK)
        op(run, "mean", matrix(TOKENS, 64))


def few_rows(run: SizedProgram) -> None:
    """Of 16 rows the weights take the time."""
    for layer in ("Linear_0", "Linear_1"):
        with run.frame(f"nn.Module: {layer}"):
            run.rest(1)
            op(run, "linear", matrix(16, WIDTH), matrix(64, WIDTH), us=LONG_US)
    op(run, "where", ((16, 1), "bool"), matrix(16, 64), matrix(16, 64))


def norms_of_the_batch(run: SizedProgram) -> None:
    for layer in ("Linear_0", "Linear_1"):
        with run.frame(f"nn.Module: {layer}"):
            run.rest(1)
            op(run, "linear", matrix(TOKENS, WIDTH), matrix(64, WIDTH), us=LONG_US)
            one = matrix(64)
            op(run, "batch_norm", matrix(TOKENS, 64), one, one, one, one, "True", "0.1")
    where(run)


def all_experts_added(run: SizedProgram) -> None:
    experts(run)
    join(run)
    op(run, "sum", matrix(TOKENS, EXPERTS, WIDTH), "[1]", "False")


def chosen_and_added(run: SizedProgram) -> None:
    one_expert(run)
    op(run, "mean", matrix(TOKENS, EXPERTS, WIDTH))


def rounds_on_all_rows(run: SizedProgram) -> None:
    """A running sum needs the other rows, too."""
    experts(run, between="cumsum")
    join(run)
    choose(run)


def probabilities_for_the_program(run: SizedProgram) -> None:
    """Nothing reads the chosen values or their places: both may go to the program."""
    op(run, "softmax", SCORES, "-1", us=LONG_US)
    op(run, "topk", SCORES, "5", "-1", "True", "True")


def read_probabilities(run: SizedProgram) -> None:
    probabilities_for_the_program(run)
    op(run, "log", FEW)
    op(run, "eq", WORDS, WORDS)


def read_in_part(run: SizedProgram) -> None:
    """Whatever reads a view of a part has another size."""
    best_probability(run)
    op(run, "slice", SCORES, "1", "0", "100", "1", us=0)
    op(run, "log", matrix(64, 100))


def copied_to_the_host(run: SizedProgram) -> None:
    best_probability(run)
    with run.around("aten::to", 5, **recorded(SCORES, "6", "0", "", "", "False", "False", "")):
        run.op("aten::_to_copy", 5, kernel=SHORT_US, **recorded(SCORES, "6", "0"))


def one_module_in_rounds(run: SizedProgram) -> None:
    """Each round calls the same module, of its own result."""
    for _ in range(EXPERTS):
        with run.frame("nn.Module: Linear_0"):
            run.rest(1)
            op(run, "linear", matrix(TOKENS, WIDTH), matrix(WIDTH, WIDTH), us=LONG_US)
    join(run)
    choose(run)


def sampled(run: SizedProgram) -> None:
    best_probability(run)
    op(run, "multinomial", SCORES, "1", "False", "")


def over_the_batch(run: SizedProgram) -> None:
    """A softmax of rows changes the order within columns."""
    op(run, "softmax", SCORES, "-1", us=LONG_US)
    op(run, "argmax", SCORES, "0", "False")


def compared_with_others(run: SizedProgram) -> None:
    op(run, "sigmoid", SCORES, us=LONG_US)
    op(run, "gt", SCORES, SCORES)


def norm_of_rows(run: SizedProgram) -> None:
    op(run, "cat", [full(64, 512, dtype=FP32)] * 2, "1", us=LONG_US)
    op(run, "linalg_vector_norm", matrix(64, 1024), "2", "[1]", "False", "")


@pytest.mark.parametrize(
    "body",
    [both_are_read, changed_by_a_mask, scaled_by_a_mask, first_of_a_recurrence, two_masks,
     weighted_by_scores, chosen_by_element, one_branch_alone, deeper_for_some, few_rows,
     norms_of_the_batch, all_experts_added, chosen_and_added, rounds_on_all_rows,
     read_probabilities, sampled, probabilities_for_the_program, read_in_part,
     copied_to_the_host, one_module_in_rounds, over_the_batch, compared_with_others,
     norm_of_rows],
)  # fmt: skip
def test_results_that_are_read(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []
