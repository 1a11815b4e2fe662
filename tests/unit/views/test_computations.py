"""Work is done once for all who ask, and goes on after the request that began it."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from tb_privateuse1.storage.clients import ASKING, asking
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.trace import interruption
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import computations
from tb_privateuse1.views.computations import Computations, Report, Turns
from tests.support.clock import FakeClock

WAIT_S = 20.0
HALF = Progress("computing", 0, 0, 0, None, traces_done=1, traces=2)


class Work:
    """Work that goes on when it may; it counts how often it was begun."""

    def __init__(self, end: Callable[[], Any] = lambda: "result") -> None:
        self.go_on = threading.Event()
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.times = 0
        self._end = end

    def __call__(self, report: Report) -> Any:
        self.times += 1
        report(HALF)
        self.begun.release()
        try:
            assert self.go_on.wait(WAIT_S)
            report(HALF)
            return self._end()
        finally:
            self.ended.release()


@pytest.fixture
def works() -> Iterator[Computations]:
    """Has to have forgotten all when a test ends."""
    made = Computations[str]()
    yield made
    assert len(made) == 0


def fail(code: str = "unreadable") -> Any:
    raise TraceError(code, "It cannot be read.")


def begin(works: Computations, work: Work) -> None:
    """Ask for the work and leave at once."""
    with pytest.raises(Pending):
        works.run("key", work, 0)
    assert work.begun.acquire(timeout=WAIT_S)


def test_without_a_limit_the_caller_does_the_work(works: Computations) -> None:
    thread = works.run("key", lambda _: threading.current_thread(), None)
    assert thread is threading.current_thread()


def test_what_takes_longer_answers_with_its_progress_and_goes_on(works: Computations) -> None:
    work = Work()
    begin(works, work)
    with pytest.raises(Pending) as caught:
        works.run("key", work, 0)
    assert caught.value.progress == HALF
    work.go_on.set()
    assert works.run("key", work, WAIT_S) == "result"
    assert work.times == 1


def test_an_outcome_is_kept_for_who_was_told_to_come_back(works: Computations) -> None:
    work = Work()
    begin(works, work)
    work.go_on.set()
    assert work.ended.acquire(timeout=WAIT_S)
    assert works.run("key", work, WAIT_S) == "result"
    assert work.times == 1
    assert works.run("key", work, WAIT_S) == "result"  # nobody is owed one: it begins anew
    assert work.times == 2


def test_all_who_ask_at_a_time_get_one_result(works: Computations) -> None:
    work = Work(object)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(works.run, "key", work, WAIT_S) for _ in range(8)]
        assert work.begun.acquire(timeout=WAIT_S)
        while works._by_key["key"].askers < 8:
            threading.Event().wait(0.01)
        work.go_on.set()
        found = {id(one.result(WAIT_S)) for one in asked}
    assert (len(found), work.times) == (1, 1)


def test_an_error_reaches_all_who_wait_and_is_not_remembered(works: Computations) -> None:
    work = Work(fail)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(works.run, "key", work, WAIT_S) for _ in range(2)]
        assert work.begun.acquire(timeout=WAIT_S)
        while works._by_key["key"].askers < 2:
            threading.Event().wait(0.01)
        work.go_on.set()
        codes = [getattr(one.exception(WAIT_S), "code", None) for one in asked]
    assert codes == ["unreadable", "unreadable"]
    assert work.times == 1
    assert works.run("key", lambda _: "works now", WAIT_S) == "works now"


def test_an_error_reaches_who_comes_back(works: Computations) -> None:
    work = Work(fail)
    begin(works, work)
    work.go_on.set()
    assert work.ended.acquire(timeout=WAIT_S)
    with pytest.raises(TraceError, match="It cannot be read"):
        works.run("key", work, WAIT_S)
    assert work.times == 1


def test_who_asks_again_after_a_cancellation_begins_anew(works: Computations) -> None:
    work = Work(lambda: fail("canceled"))
    begin(works, work)
    work.go_on.set()
    assert work.ended.acquire(timeout=WAIT_S)
    while len(works):
        threading.Event().wait(0.01)
    assert works.run("key", lambda _: "read", WAIT_S) == "read"


def test_a_canceled_one_ends_with_its_next_report_and_its_callers_at_once(
    works: Computations,
) -> None:
    work, error = Work(), TraceError("canceled", "It was canceled.")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(works.run, "key", work, WAIT_S)
        assert work.begun.acquire(timeout=WAIT_S)
        assert not works.cancel(lambda key: key == "another", error)
        assert works.cancel(lambda key: key == "key", error)
        assert asked.exception(WAIT_S) is error
    assert works.run("key", lambda _: "anew", WAIT_S) == "anew"
    work.go_on.set()
    assert work.ended.acquire(timeout=WAIT_S)
    assert not works.cancel(lambda key: True, error)


def test_work_that_nobody_waits_for_ends(
    works: Computations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computations, "_PATIENCE_S", -1.0)
    work = Work(fail)
    with pytest.raises(Pending):
        works.run("key", work, 0)
    work.go_on.set()
    while len(works):
        threading.Event().wait(0.01)


def test_checkpoints_tell_the_progress_and_end_what_nobody_waits_for(
    works: Computations, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, go_on, ended = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def work(report: Report) -> Any:
        try:
            for done in range(4):
                interruption.checkpoint(done, 4)
                interruption.checkpoint()
                part.release()
                assert go_on.acquire(timeout=WAIT_S)
        finally:
            ended.set()

    for done in range(3):
        with pytest.raises(Pending):
            works.run("key", work, 0)
        assert part.acquire(timeout=WAIT_S)
        with pytest.raises(Pending) as caught:
            works.run("key", work, 0)
        told = caught.value.progress
        assert (told.phase, told.parts_done, told.parts) == ("computing", done, 4)
        if done < 2:
            go_on.release()
    monkeypatch.setattr(computations, "_PATIENCE_S", -1.0)
    go_on.release()
    assert ended.wait(WAIT_S)
    assert len(works) == 0


def test_work_that_takes_too_long_is_told(
    works: Computations, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    begin(works, work)
    monkeypatch.setattr(computations, "_LONGEST_S", -1.0)
    with pytest.raises(TraceError, match="took longer than") as caught:
        works.run("key", work, 0)
    assert caught.value.code == "computation_time"
    assert len(works) == 0
    work.go_on.set()
    assert work.ended.acquire(timeout=WAIT_S)  # it ends at its next report


def test_work_can_be_canceled(works: Computations) -> None:
    error = TraceError("canceled", "It was canceled.")
    chosen, other = Work(), Work()
    for key, work in (("chosen", chosen), ("other", other)):
        with pytest.raises(Pending):
            works.run(key, work, 0)
        assert work.begun.acquire(timeout=WAIT_S)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(works.run, "chosen", chosen, WAIT_S)
        while works._by_key["chosen"].askers < 1:
            threading.Event().wait(0.01)
        assert works.cancel(lambda key: key == "chosen", error) == ["chosen"]
        assert waiting.exception(WAIT_S) is error
    assert works.cancel(lambda key: key == "chosen", error) == []
    chosen.go_on.set()
    assert chosen.ended.acquire(timeout=WAIT_S)
    other.go_on.set()
    works.run("other", other, WAIT_S)


def test_an_outcome_that_nobody_fetches_is_dropped(
    works: Computations, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    begin(works, work)
    work.go_on.set()
    while works._by_key["key"].ended_s is None:
        threading.Event().wait(0.01)
    monkeypatch.setattr(computations, "_KEPT_S", -1.0)
    assert works.run("other", lambda _: 1, None) == 1


class _Columns:
    """Stands for what a computation has in its variables."""


@pytest.mark.parametrize("error", [TraceError("unreadable", "No."), interruption.Interrupted()])
@pytest.mark.parametrize("waits", [True, False])
def test_an_error_keeps_no_values_of_its_computation(
    works: Computations, error: Exception, *, waits: bool
) -> None:
    """Its traceback has them, in a cycle: they would stay until Python looks for such."""
    seen: list[weakref.ref[_Columns]] = []

    def end() -> Any:
        columns = _Columns()
        seen.append(weakref.ref(columns))
        raise error

    def ask(wait_s: float | None) -> None:
        with contextlib.suppress(Pending, TraceError, interruption.Interrupted):
            works.run("key", work, wait_s)

    work = Work(end)
    gc.disable()
    try:
        if waits:
            ask(0)
        work.go_on.set()
        ask(WAIT_S if waits else None)
        assert [one() for one in seen] == [None]
    finally:
        gc.enable()


def test_work_outlasts_a_caller_who_needs_seconds_to_come_back(
    works: Computations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a page of very many ranks begins anew with each poll, and never ends."""
    clock = FakeClock()
    monkeypatch.setattr(computations, "time", SimpleNamespace(monotonic=clock.now))
    work = Work()
    begin(works, work)
    clock.advance(4)
    work.go_on.set()
    assert work.ended.acquire(timeout=WAIT_S)
    assert works.run("key", work, WAIT_S) == "result"
    assert work.times == 1


def test_work_is_for_all_clients_who_joined_it(works: Computations) -> None:
    work = Work(ASKING.get)
    with asking({"first"}):
        begin(works, work)
    with asking({"second"}), pytest.raises(Pending):
        works.run("key", work, 0)
    work.go_on.set()
    assert works.run("key", work, WAIT_S) == {"first", "second", ""}
    with contextlib.suppress(Pending):
        works.run("key", work, WAIT_S)


def test_one_client_of_many_computations_leaves_others_their_turn() -> None:
    """Five wait of the first client; one of the second comes last, and is the next."""
    turns, order = Turns(1), list[str]()

    def compute(client: str) -> None:
        with asking({client}), turns.turn(lambda _: None):
            order.append(client)

    with ThreadPoolExecutor(6) as pool, asking({"first"}), turns.turn(lambda _: None):
        for place, client in enumerate(["first"] * 5 + ["second"]):
            pool.submit(compute, client)
            while len(turns._waiting) <= place:
                threading.Event().wait(0.01)
    assert order == ["second"] + ["first"] * 5


def test_a_computation_that_nobody_waits_for_leaves_the_queue() -> None:
    turns = Turns(1)

    def leave(progress: Progress) -> None:
        if progress.phase == "waiting":
            raise interruption.Interrupted

    with turns.turn(lambda _: None):
        with pytest.raises(interruption.Interrupted), turns.turn(leave):
            raise AssertionError("it has no turn")
        assert turns._waiting == []
    with turns.turn(lambda _: None):
        assert turns._free == 0
    assert turns._free == 1
