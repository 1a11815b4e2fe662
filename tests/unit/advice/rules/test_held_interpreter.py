"""A thread that holds the interpreter, and one that only waits."""

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.held_interpreter import RULE
from tb_privateuse1.advice.rules.unrecorded_pauses import RULE as PAUSES
from tests.support import make
from tests.support.program import Program, found


def program(every: float) -> Program:
    """Build steps with a pause of 4 ms, in which a thread calls a function this often (us)."""
    run = Program()
    for number in range(4):
        with run.step(), run.frame("train.py(5): step"):
            for _ in range(60):
                run.op("aten::mm", 10, kernel=30)
            if number in (1, 3):
                start = run.now
                run.rest(4000)
                for k in range(int(4000 / every)):
                    begin = start + k * every
                    frame = make.frame("stats.py(7): count", begin + 1, begin + 4, thread=9)
                    run.events.append(frame)
            run.op("aten::mm", 10, kernel=30)
            run.wait()
    run.events.append(make.frame("threading.py(9): run", 0, run.now, thread=9))
    return run


def test_it_is_found_with_the_other_threads_function() -> None:
    """Two of four steps wait: a thread comes and goes at any time."""
    (row,) = found(RULE, program(every=10).trace())
    assert "stats.py(7): count" in row.explanation
    assert str(row.where) == "count (stats.py:7)"
    assert row.saving_ns is not None
    assert abs(row.saving_ns - 2 * 2_850_000) < 200_000
    assert found(PAUSES, program(every=10).trace()) == []


def test_a_thread_that_wakes_up_now_and_then_holds_nothing() -> None:
    trace = program(every=1000).trace()
    assert found(RULE, trace) == []
    assert [row.rule for row in advise(trace, rules=(PAUSES,)).rows] == ["unrecorded_pauses"]
