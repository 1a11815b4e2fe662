"""A device that waits for Python."""

from contextlib import ExitStack

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.python_overhead import RULE
from tests.support import make
from tests.support.program import Program, found
from tests.support.sized import FP32, full, recorded


def program(frame: str, us: float = 100) -> Program:
    run = Program()
    for _ in range(3):
        with run.step(), run.frame("train.py(5): step"):
            for _ in range(10):
                run.op("aten::mm", 10, kernel=30)
                with run.frame(frame):
                    run.rest(us)
    return run


def test_it_is_found_with_the_busiest_line() -> None:
    (row,) = found(RULE, program("metrics.py(9): update").trace())
    assert str(row.where) == "update (metrics.py:9)"
    assert row.saving_ns is not None
    assert row.change == "function:metrics.py(9): update=0"
    # Of each 100 us, 20 are left in which the device works on.
    assert row.saving_ns == pytest.approx(3 * 10 * 80_000, rel=0.02)
    assert row.confidence == "medium"


def test_a_library_is_named_with_the_users_function_that_calls_it() -> None:
    (row,) = found(RULE, program("site-packages/library/video.py(9): decode").trace())
    assert "decode (site-packages/library/video.py:9), called in step (train.py:5)" in row.title
    assert str(row.where).startswith("step (train.py:5)")


@pytest.mark.parametrize(
    "frame",
    [
        "threading.py(359): wait",
        "<built-in method poll of select.epoll object at 0x7f10>",
        "<built-in method get of _queue.SimpleQueue object at 0x7f10>",
        "<built-in function sched_yield>",
    ],
)
def test_waiting_for_others_is_no_work(frame: str) -> None:
    """A server's thread waits for requests, or for what another thread or process sends."""
    assert found(RULE, program(frame).trace()) == []


def test_reading_a_dictionary_is_work() -> None:
    run = program("<built-in method get of dict object at 0x7f10>")
    assert [row.rule for row in advise(run.trace(), rules=(RULE,)).rows] == [RULE.name]


def test_a_thread_that_only_waits_changes_nothing() -> None:
    """A progress bar has a monitor, and a pool idle threads."""
    run = program("metrics.py(9): update")
    (alone,) = found(RULE, run.trace())
    end = run.now
    for thread in (8, 9):
        run.events.append(make.frame("threading.py(1000): _bootstrap", 0, end, thread=thread))
        run.events.append(make.frame("threading.py(359): wait", 1, end - 1, thread=thread))
    (row,) = found(RULE, run.trace())
    assert (row.saving_ns, str(row.where)) == (alone.saving_ns, str(alone.where))


def test_the_profilers_own_time_is_not_the_programs() -> None:
    assert found(RULE, program("torch/autograd/profiler.py(918): __enter__").trace()) == []


def test_python_while_the_device_works_costs_nothing() -> None:
    assert found(RULE, program("metrics.py(9): update", us=15).trace()) == []


def test_code_around_launches_is_not_apart() -> None:
    """Of a module's forward, all frames but short ones launch."""
    run = Program()
    for _ in range(3):
        with run.step(), run.frame("train.py(5): step"):
            for _ in range(40):
                with run.frame("model.py(9): forward"):
                    run.rest(50)
                    run.op("aten::mm", 20, kernel=10)
                    with run.frame("<built-in function len>"):
                        run.rest(3)
    assert found(RULE, run.trace()) == []


def test_without_stacks_ranges_are_named() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", 10, kernel=30)
            with run.range("## metrics ##"):
                run.rest(500)
    (row,) = found(RULE, run.trace())
    assert "## metrics ##" in row.title
    assert row.lacks


STEP = "train.py(5): step"
TOKENIZE = "train.py(40): tokenize"


def on_host(*frames: str, us: float = 400, steps: tuple[int, ...] = (0, 1, 2, 3)) -> Program:
    """Four steps of ten operators, some of them behind Python in the frames, outermost first."""
    run, matrix = Program(), full(64, 64, dtype=FP32)
    for i in range(4):
        with run.step(), run.frame(STEP):
            if i in steps:
                with ExitStack() as stack:
                    for frame in frames:
                        stack.enter_context(run.frame(frame))
                        run.rest(1)
                    run.rest(us)
            for _ in range(10):
                run.op("aten::mm", 50, **recorded(matrix, matrix))
    return run


def test_on_a_host_python_keeps_operators_waiting() -> None:
    (row,) = found(RULE, on_host(TOKENIZE, "<built-in method get of dict object at 0x1>").trace())
    assert row.saving_share == pytest.approx(400 / 900, rel=0.05)
    assert (str(row.where), row.confidence) == ("tokenize (train.py:40)", "medium")


def test_a_library_without_operators_works_for_its_caller() -> None:
    (row,) = found(RULE, on_host(TOKENIZE, "site-packages/tokens/fast.py(3): split").trace())
    assert str(row.where).startswith("tokenize (train.py:40)")


def test_an_inner_function_is_part_of_the_one_that_calls_it() -> None:
    (row,) = found(RULE, on_host(TOKENIZE, "words.py(3): clean").trace())
    assert str(row.where).startswith("tokenize (train.py:40)")


def test_the_pace_of_calls_is_no_work_of_python() -> None:
    assert found(RULE, on_host(TOKENIZE, us=200).trace()) == []


def test_torch_and_what_calls_operators_are_no_functions_of_the_program() -> None:
    """An optimizer looks at its parameters, and a trainer at its callbacks."""
    assert found(RULE, on_host("torch/optim/adam.py(139): _init_group").trace()) == []
    run = Program()
    with run.frame("train.py(90): main"):
        for _ in range(4):
            with run.step(), run.frame("site-packages/trainer/loop.py(7): advance"):
                run.rest(400)
                for _ in range(10):
                    run.op("aten::mm", 50)
    assert found(RULE, run.trace()) == []


def paused(*, always: bool = False) -> Program:
    """Equal rounds, some of them waiting for a processor in use; or all of them are long."""
    run, matrix = Program(), full(64, 64, dtype=FP32)
    for i in range(4):
        with run.step(), run.frame(STEP):
            for j in range(40):
                run.rest(400 if always or j in (7 + i, 19 - i) else 2)
                run.op("aten::mm", 50, **recorded(matrix, matrix))
    return run


def test_a_pause_where_python_is_short_otherwise_is_no_work() -> None:
    assert found(RULE, paused().trace()) == []
    assert len(found(RULE, paused(always=True).trace())) == 1


def test_one_step_may_be_held_up() -> None:
    assert found(RULE, on_host(TOKENIZE, us=4000, steps=(2,)).trace()) == []


def test_what_reads_results_may_be_needed() -> None:
    """A world that answers an action cannot be asked ahead of it."""
    frames = TOKENIZE, "<built-in method tolist of Tensor object at 0x7f10>"
    (row,) = found(RULE, on_host(*frames).trace())
    assert (row.confidence, row.saving_low_ns) == ("low", 0)


def test_a_number_read_before_may_decide_what_python_does() -> None:
    """A world is given the action as a number: int(scores.argmax()) is no function in Python."""

    def walk(*, ahead: bool) -> Program:
        run, matrix = Program(), full(64, 64, dtype=FP32)
        for _ in range(4):
            with run.step(), run.frame(STEP):
                for at in range(10):
                    run.op("aten::mm", 50, **recorded(matrix, matrix))
                    if at == (3 if ahead else 8):
                        with run.around("aten::item", **recorded(full(dtype=FP32))):
                            run.op("aten::_local_scalar_dense", 2, **recorded(full(dtype=FP32)))
                    if at == 5:
                        with run.frame("world.py(3): move"):
                            run.rest(500)
                        run.rest(1)
        return run

    (row,) = found(RULE, walk(ahead=True).trace())
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    (row,) = found(RULE, walk(ahead=False).trace())
    assert row.confidence == "medium"


def test_a_lock_is_no_work() -> None:
    assert found(RULE, on_host(TOKENIZE, "threading.py(359): wait").trace()) == []


def test_what_feeds_no_operator_of_the_step_is_beside_it() -> None:
    """A program reads counters of the system behind each step: that is of ``side_work``."""
    run = Program()
    for _ in range(4):
        with run.step(), run.frame(STEP):
            for _ in range(10):
                run.op("aten::mm", 50)
            with run.frame("counters.py(4): read"):
                run.rest(400)
    assert found(RULE, run.trace()) == []


TEXT = (
    "torch/_tensor.py(1136): __format__",
    "<built-in method __format__ of Tensor object at 0x7f10>",
    "torch/_tensor.py(558): __repr__",
    "torch/_tensor_str.py(712): _str",
)
DEBUG, LOG = "logging/__init__.py(1467): debug", "logging/__init__.py(1610): _log"


def with_messages(
    *behind: str,
    text: tuple[str, ...] = TEXT,
    steps: tuple[int, ...] = (0, 1, 2, 3),
    us: float = 300,
    device: bool = False,
) -> Program:
    """Each step writes a tensor as text, with operators, and calls what is behind."""
    run = Program()
    for step in range(4):
        with run.step(), run.frame(STEP):
            for _ in range(10):
                run.op("aten::mm", 50, kernel=20 if device else 0)
            if step in steps:
                with ExitStack() as stack:
                    for frame in text:
                        stack.enter_context(run.frame(frame))
                    for _ in range(2):
                        run.rest(us / 4)
                        run.op("aten::select", us / 4)
                with ExitStack() as stack:
                    for frame in behind:
                        stack.enter_context(run.frame(frame))
                    run.rest(3)
            run.op("aten::mm", 50, kernel=20 if device else 0)
    return run


@pytest.mark.parametrize("device", [False, True])
def test_texts_of_tensors_that_a_logger_drops_are_work_for_nothing(*, device: bool) -> None:
    (row,) = found(RULE, with_messages(DEBUG, device=device).trace())
    assert row.title.startswith("Tensors are written as text")
    assert (row.events, row.confidence) == (4, "medium")
    assert str(row.where) == "step (train.py:5)"
    assert row.saving_ns == pytest.approx(4 * 300_000, rel=0.2)
    assert row.saving_low_ns


@pytest.mark.parametrize("behind", [(DEBUG, LOG), ("<built-in function print>",), ()])
def test_a_text_may_be_read(behind: tuple[str, ...]) -> None:
    """A logger writes it, the program prints it, or it is the key of a table."""
    (row,) = found(RULE, with_messages(*behind).trace())
    assert (row.confidence, row.saving_low_ns) == ("low", 0)


def test_a_text_once_in_many_steps_is_fine() -> None:
    assert found(RULE, with_messages(DEBUG, steps=(2,)).trace()) == []


def test_the_text_of_a_loss_is_cheap() -> None:
    assert found(RULE, with_messages(DEBUG, us=8).trace()) == []


@pytest.mark.parametrize(
    "text",
    [TEXT[:2], ("tokenizer.py(3): decode", "<built-in method tolist of Tensor object at 0x7f10>")],
)
def test_texts_of_numbers_are_no_texts_of_tensors(text: tuple[str, ...]) -> None:
    """A loss is formatted as a number; a tokenizer makes an answer of the numbers of words."""
    for row in found(RULE, with_messages(DEBUG, text=text).trace()):
        assert "text" not in row.title
