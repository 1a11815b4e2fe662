"""Run computations that outlive a request's deadline, once for all callers of the same one.

A request with a time limit starts the work in a thread of its own, waits until its limit, and then
raises Pending with the progress. The next request for the same joins the work that runs, or gets
the outcome of what has ended meanwhile. Work without callers, or beyond its time, ends at its next
report or checkpoint.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.clients import ASKING, Clients, asking, joined
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace import interruption
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.interruption import Interrupted
from tb_privateuse1.trace.model import Trace

_T = TypeVar("_T")
_Key = TypeVar("_Key", bound=Hashable)

Report = Callable[[Progress], None]
"""Records the progress of the work. Raises an error, which ends the work, without callers."""

COMPUTING = Progress("computing", 0, 0, 0, None)

_PATIENCE_S = 5.0
"""Work without a caller for this time may end. Pages poll a few times a second, but to look up the
files of ten thousand ranks takes a busy machine over a second, in which no caller counts."""
_KEPT_S = 60.0
"""An outcome stays this long for callers that got Pending."""
_LOOK_S = 0.1
"""How often work that waits for a trace or for its turn reports progress."""
_LONGEST_S = 600.0
"""Work may compute for so long; reading traces and waiting for a turn do not count."""


class _Computation(Struct, eq=False):
    """One running or finished computation."""

    progress: Progress = COMPUTING
    future: Future[Any] = field(default_factory=Future)
    clients: frozenset[str] = frozenset()
    """All who have asked for it."""
    askers: int = 0
    owed: int = 0
    """Callers that got Pending and have not come back."""
    left_s: float = 0.0
    """When the last caller left."""
    ended_s: float | None = None
    began_s: float = field(default_factory=time.monotonic)
    """When it last began to compute."""
    verdict: TraceError | None = None
    """Why it must end."""


class Computations(Generic[_Key]):
    """The computations by key. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[_Key, _Computation] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def run(self, key: _Key, work: Callable[[Report], _T], wait_s: float | None) -> _T:
        """Return the result of ``work``, or of the running work with this key.

        Raises what the work raises, or Pending if that takes longer than ``wait_s``. Without a
        limit it runs in the caller's thread.
        """
        one, new = self._join(key)
        try:
            if new and wait_s is None:
                self._work(key, one, work)
            elif new:
                threading.Thread(target=self._work, args=(key, one, work), daemon=True).start()
            if not wait([one.future], wait_s).done:
                self._look(key, one)
                if not one.future.done():
                    raise Pending(one.progress)
            return cast(_T, one.future.result())
        finally:
            self._leave(key, one)
            del one  # an error of it has this frame in its traceback

    def cancel(self, chosen: Callable[[_Key], bool], error: TraceError) -> list[_Key]:
        """End the running computations whose key is chosen, and return their keys.

        Their callers get the error at once. The work ends with its next report or checkpoint.
        """
        with self._lock:
            ended = {
                key: one
                for key, one in self._by_key.items()
                if not one.future.done() and chosen(key)
            }
            for key, one in ended.items():
                self._end(key, one, error)
        return list(ended)

    def _join(self, key: _Key) -> tuple[_Computation, bool]:
        now = time.monotonic()
        with self._lock:
            for other, old in list(self._by_key.items()):
                if old.ended_s is not None and now - old.ended_s > _KEPT_S:
                    del self._by_key[other]
            new = key not in self._by_key
            one = self._by_key.setdefault(key, _Computation())
            one.clients = joined(one.clients, ASKING.get())
            one.askers += 1
            one.owed = max(one.owed - 1, 0)
        return one, new

    def _leave(self, key: _Key, one: _Computation) -> None:
        with self._lock:
            one.askers -= 1
            one.left_s = time.monotonic()
            if not one.future.done():
                one.owed += 1
            elif not one.owed:
                self._forget(key, one)

    def _work(self, key: _Key, one: _Computation, work: Callable[[Report], Any]) -> None:
        def report(progress: Progress) -> None:
            ASKING.set(one.clients)  # others may have joined
            if progress.phase != "computing" or progress.traces_done > one.progress.traces_done:
                one.began_s = time.monotonic()
            one.progress = progress
            self._check(key, one)

        def watch(done: int, parts: int) -> None:
            if parts:
                one.progress = replace(one.progress, parts_done=done, parts=parts)
            self._check(key, one)

        try:
            with asking(one.clients), interruption.watched(watch):
                result = work(report)
        except BaseException as error:  # the callers get it
            # Its frames have whole traces in their variables, and this one has it.
            traceback.clear_frames(error.__traceback__)
            within = error.__traceback__ and error.__traceback__.tb_next
            self._settle(key, one, None, error.with_traceback(within))
        else:
            self._settle(key, one, result, None)

    def _settle(
        self, key: _Key, one: _Computation, result: Any, error: BaseException | None
    ) -> None:
        with self._lock:
            one.ended_s = time.monotonic()
            if one.future.done():  # it was ended before
                return
            # A request after a cancellation starts the work anew.
            if isinstance(error, TraceError) and error.code == "canceled":
                self._forget(key, one)
            if error is None:
                one.future.set_result(result)
            else:
                one.future.set_exception(error)

    def _check(self, key: _Key, one: _Computation) -> None:
        """Raise Interrupted if the work must end."""
        self._look(key, one)
        with self._lock:
            if not one.askers and time.monotonic() - one.left_s > _PATIENCE_S:
                self._forget(key, one)
                raise Interrupted
            if one.verdict:
                raise Interrupted

    def _look(self, key: _Key, one: _Computation) -> None:
        """End work that takes too long, also where it makes no report."""
        is_computing = one.progress.phase == "computing"
        if is_computing and time.monotonic() - one.began_s > _LONGEST_S:
            with self._lock:
                self._end(key, one, _too_long())

    def _end(self, key: _Key, one: _Computation, error: TraceError) -> None:
        one.verdict = error
        self._forget(key, one)
        if not one.future.done():
            one.future.set_exception(error)

    def _forget(self, key: _Key, one: _Computation) -> None:
        if self._by_key.get(key) is one:
            del self._by_key[key]


def _too_long() -> TraceError:
    message = say(
        "The computation took longer than {minutes:.0f} minutes.", minutes=_LONGEST_S / 60
    )
    return TraceError("computation_time", message, say("Select a step, or use the command line."))


class _Turn(Struct, eq=False):
    """One computation that waits for its turn."""

    clients: frozenset[str]
    granted: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Limits how many computations run at a time, as each takes much memory.

    Clients take turns: the computations of one are in the order in which they came.
    """

    def __init__(self, at_a_time: int) -> None:
        self._free = at_a_time
        self._lock = threading.Lock()
        self._waiting: list[_Turn] = []
        self._clients = Clients()

    @contextlib.contextmanager
    def turn(self, report: Report) -> Iterator[None]:
        """Hold a turn; waiting for it ends with the last caller."""
        own = _Turn(ASKING.get())
        with self._lock:
            self._waiting.append(own)
            self._grant()
        try:
            while not own.granted.wait(_LOOK_S):
                report(replace(COMPUTING, phase="waiting"))
                own.clients = ASKING.get()
            report(COMPUTING)
            yield
        finally:
            with self._lock:
                if own.granted.is_set():
                    self._free += 1
                else:
                    self._waiting.remove(own)
                self._grant()

    def _grant(self) -> None:
        while self._free and self._waiting:
            client, _ = self._clients.serve(
                (client, -place)
                for place, one in enumerate(self._waiting)
                for client in one.clients
            )
            chosen = next(one for one in self._waiting if client in one.clients)
            self._waiting.remove(chosen)
            self._free -= 1
            chosen.granted.set()


def open_trace(store: Store, files: TraceFiles, report: Report) -> tuple[Trace, TraceFiles]:
    """Return a trace as ``Store.open`` does, however long reading takes. Raises TraceError."""
    while True:
        try:
            opened = store.open(files, _LOOK_S)
        except Pending as pending:
            report(pending.progress)
        else:
            report(COMPUTING)
            return opened
