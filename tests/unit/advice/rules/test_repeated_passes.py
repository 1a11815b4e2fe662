"""Equal passes of a module in a step, and programs that need each of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tb_privateuse1.advice.rules.repeated_passes import RULE
from tests.support.autograd import ENGINE
from tests.support.program import Program, found
from tests.support.sized import FP32, full, recorded

MODEL = "nn.Module: Encoder_0"
READ = "<built-in method tolist of Tensor object at 0x7f10>"


class Host(Program):
    """Runs layers on a processor: an operator takes 20 us, and the code before it 10."""

    sequence = 0

    def work(self, name: str, *shapes: tuple[int, ...], us: float = 20, **args: Any) -> None:
        """Run an operator on tensors of these shapes."""
        self.rest(10)
        self.op(name, us, **recorded(*(full(*one, dtype=FP32) for one in shapes)), **args)

    def layer(self, rows: int, width: int, out: int, *, taped: bool = False) -> int:
        """Run a layer; autograd records it if it is taped. Return its number."""
        self.sequence += taped
        number: dict[str, Any] = {"Sequence number": self.sequence} if taped else {}
        x, weight, bias = (full(*one, dtype=FP32) for one in ((rows, width), (out, width), (out,)))
        self.rest(10)
        with self.around("aten::linear", **recorded(x, weight, bias), **number):
            turned = full(width, out, dtype=FP32)
            self.op("aten::addmm", 20, **recorded(bias, x, turned, "1", "1"), **number)
        return self.sequence

    @contextmanager
    def model(self) -> Iterator[None]:
        """Return the call of the module around what is run."""
        self.rest(10)
        with self.frame("train.py(9): step"):
            self.rest(1)
            with self.frame(MODEL):
                self.rest(1)
                yield
                self.rest(1)

    def encode(self, rows: int = 4, *, taped: bool = False) -> list[int]:
        """Run a pass of the module, from 64 numbers to 16."""
        with self.model():
            return [
                self.layer(rows, 64, 128, taped=taped), self.layer(rows, 128, 16, taped=taped)
            ]  # fmt: skip

    def backward(self, numbers: list[int]) -> None:
        """Run the backward pass of layers."""
        for number in reversed(numbers):
            node = {"Sequence number": number, "Fwd thread id": 1}
            with self.around(f"{ENGINE}AddmmBackward0", **node):
                self.work("aten::mm", (4, 16), (16, 64), us=25)


def steps(body: Callable[[Host], None]) -> Host:
    """Return four steps of a body."""
    run = Host()
    for _ in range(4):
        with run.step():
            run.rest(5)
            body(run)
            run.rest(5)
    return run


def views(run: Host) -> None:
    for _ in range(3):
        run.encode()


def test_passes_of_several_inputs_fit_into_one() -> None:
    (row,) = found(RULE, steps(views).trace())
    assert [row.rule] == ["repeated_passes"]
    assert "Encoder is called 3 times in a row" in row.title
    assert (str(row.where), row.confidence) == ("step (train.py:9)", "medium")
    # Of three equal passes two go; what three inputs take is not less than one.
    assert 0.3 < (row.saving_share or 0) < 2 / 3


def test_one_pass_of_a_step_is_fine() -> None:
    def once(run: Host) -> None:
        run.encode()

    assert found(RULE, steps(once).trace()) == []


def acting_once(run: Host) -> None:
    run.encode(1)
    run.work("aten::argmax", (1, 16))
    with run.frame(READ):
        run.rest(1)


def acting(run: Host) -> None:
    for _ in range(8):
        acting_once(run)


def test_what_the_host_reads_may_decide_what_comes_next() -> None:
    (row,) = found(RULE, steps(acting).trace())
    assert (row.confidence, row.saving_low_ns) == ("low", 0)


def playing(run: Host) -> None:
    """A world answers each action with the next input."""
    with run.frame("train.py(2): play"):
        for _ in range(8):
            acting_once(run)
            with run.frame("world.py(3): move"):
                run.rest(2)
            run.rest(1)


def full_batches(run: Host) -> None:
    """A test in batches that are as large as they should be."""
    for _ in range(8):
        run.encode(128)


def generating(run: Host) -> None:
    """The chosen letter is the next input."""
    for _ in range(8):
        with run.model():
            run.op(
                "aten::embedding", 20, **recorded(full(99, 64, dtype=FP32), ((1, 1), "long int"))
            )
            run.layer(1, 64, 99)
        run.work("aten::argmax", (1, 99))


def refining(run: Host) -> None:
    """The result has the size of the input, as a tied layer's or a sampler's."""
    for _ in range(8):
        with run.model():
            run.layer(4, 64, 128)
            run.layer(4, 128, 64)


def pulling(run: Host) -> None:
    """An input is moved by what is made of the result."""
    for _ in range(8):
        run.encode()
        run.layer(4, 16, 64)
        run.work("aten::add", (4, 64), (4, 64))


def keeping(run: Host, *, given: bool = False, read_again: bool = True) -> None:
    """The module keeps a state of the input's size, and its head reads the new one, too."""
    for _ in range(8):
        if given:
            run.work("aten::clone", (4, 64))
        with run.model():
            run.work("aten::mul", *[(4, 64)] * (1 + read_again))
            run.work("aten::tanh", (4, 64))
            run.layer(4, 64, 16)


def rolling(run: Host) -> None:
    """A world's next state, and the reward that a head reads from it."""
    for _ in range(8):
        with run.model():
            run.layer(4, 64, 128)
            run.layer(4, 128, 64)
            run.layer(4, 64, 1)


def reading(run: Host, *, state: bool = True) -> None:
    """A cell of one's own reads words and its state; without one, a sum of two layers is alike."""
    if state:
        run.op("aten::zeros", 5, **recorded("[4, 64]", "6", "0", "cpu", "False"))
    for _ in range(8):
        with run.model():
            run.op("aten::embedding", 20, **recorded(full(99, 64, dtype=FP32), ((4,), "long int")))
            run.layer(4, 64, 64)
            run.layer(4, 64, 64)
            run.work("aten::add", (4, 64), (4, 64))
            run.work("aten::tanh", (4, 64))
            run.layer(4, 64, 16)


def swapping(run: Host) -> None:
    """The average of the weights takes their place between two passes."""
    for _ in range(8):
        run.encode()
        run.work("aten::copy_", (128, 64), (128, 64))


def lending(run: Host) -> None:
    """A module is called with the weights of each member of an ensemble."""
    for _ in range(8):
        with run.frame("torch/_functorch/functional_call.py(12): functional_call"):
            run.encode()
            run.rest(1)


def caching(run: Host) -> None:
    """The module writes into what it was given."""
    for _ in range(8):
        with run.model():
            run.layer(4, 64, 128)
            run.work("aten::copy_", (9, 128), (9, 128))
            run.layer(4, 128, 16)


def normalizing(run: Host) -> None:
    """Statistics of a batch depend on who is in it."""
    for _ in range(8):
        with run.model():
            run.layer(4, 64, 128)
            run.work("aten::batch_norm", (4, 128), (128,), (128,), (128,), (128,))
            run.layer(4, 128, 16)


def accumulating(run: Host) -> None:
    """A backward pass between two passes: the batch is split on purpose."""
    for _ in range(4):
        run.backward(run.encode(taped=True))


def growing(run: Host) -> None:
    for rows in range(1, 9):
        run.encode(rows)


@pytest.mark.parametrize(
    "body",
    [
        playing,
        full_batches,
        generating,
        refining,
        pulling,
        keeping,
        rolling,
        reading,
        swapping,
        lending,
        caching,
        normalizing,
        accumulating,
        growing,
    ],
)
def test_passes_that_need_each_other_or_differ(body: Callable[[Host], None]) -> None:
    assert found(RULE, steps(body).trace()) == []


def reading_words(run: Host) -> None:
    """Run a module on 12 words, which are whole numbers."""
    with run.model():
        run.op("aten::embedding", 20, **recorded(full(99, 64, dtype=FP32), ((1, 12), "long int")))
        run.layer(12, 64, 128)


def embedding(run: Host) -> None:
    """Passages of words one by one: the vector of each is divided by its norm."""
    vector, vectors = (full(*shape, dtype=FP32) for shape in ((1, 128), (1, 12, 128)))
    for _ in range(8):
        reading_words(run)
        run.op("aten::mean", 20, **recorded(vectors, "[1]", "False", ""))
        run.op("aten::linalg_vector_norm", 20, **recorded(vector, "2", "[1]", "True", ""))
        run.work("aten::clamp_min", (1, 1))
        run.work("aten::expand_as", (1, 1), (1, 128))
        run.work("aten::div", (1, 128), (1, 128))


def choosing(run: Host) -> None:
    """The next words are the ones that are nearest, by a norm of unknown size."""
    vectors = full(12, 128, dtype=FP32)
    for _ in range(8):
        reading_words(run)
        run.work("aten::sub", (12, 128), (12, 128))
        run.op("aten::linalg_vector_norm", 20, **recorded(vectors, "2", "[1]", "False", ""))
        run.work("aten::argsort", (12,))


def test_numbers_that_are_none_of_words_are_not_the_next_words() -> None:
    """The size of a norm is not recorded; but it has no whole numbers, and nothing orders them."""
    (row,) = found(RULE, steps(embedding).trace())
    assert "Encoder is called 8 times in a row" in row.title
    assert found(RULE, steps(choosing).trace()) == []


def test_an_input_that_is_new_each_time_is_no_state() -> None:
    """A module that first scales what it reads has results of its input's size."""

    def scaling(run: Host) -> None:
        keeping(run, given=True, read_again=False)

    (row,) = found(RULE, steps(scaling).trace())
    assert "Encoder is called 8 times in a row" in row.title


def test_layers_whose_results_are_added_are_no_state() -> None:
    (row,) = found(RULE, steps(lambda run: reading(run, state=False)).trace())
    assert "Encoder is called 8 times in a row" in row.title


def test_a_state_beside_a_new_input_is_needed() -> None:
    def both(run: Host) -> None:
        keeping(run, given=True)

    assert found(RULE, steps(both).trace()) == []


def again(run: Host, *, taped: bool = True, trained: bool = True) -> None:
    """A pass for the loss, and one for its metric."""
    numbers = run.encode(taped=True)
    run.encode(taped=taped)
    run.work("aten::argmax", (4, 16))
    if trained:
        run.backward(numbers)


def test_a_pass_that_autograd_records_for_nothing() -> None:
    (row,) = found(RULE, steps(again).trace())
    assert "Encoder runs again, and no gradient needs it" in row.title
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    assert "torch.no_grad()" in row.fix


def test_a_pass_without_gradients_may_be_of_another_input() -> None:
    """Of two inputs, as a teacher's or the next state's, one batch is all that can be said."""
    (row,) = found(RULE, steps(lambda run: again(run, taped=False)).trace())
    assert "runs again" not in row.title
    (row,) = found(RULE, steps(lambda run: again(run, trained=False)).trace())
    assert "runs again" not in row.title


def test_of_two_calls_only_one_has_gradients() -> None:
    """A backward pass that runs once is not halved."""

    def half(run: Host) -> None:
        numbers = run.encode(taped=True)
        run.encode()
        run.work("aten::argmax", (4, 16))
        for _ in range(20):
            run.backward(numbers)

    (row,) = found(RULE, steps(half).trace())
    assert (row.saving_share or 1) < 0.1
