"""A request with ``wait_ms`` is answered after that time, whatever takes so long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from tb_privateuse1 import views
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import sql
from tb_privateuse1.readers import READERS
from tb_privateuse1.server import routes
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage import event_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import signature
from tests.server.test_routes import BASE, problem
from tests.support import trace_files

WAIT_S = 20


class Gate:
    """Holds up who passes until it is open; counts them."""

    def __init__(self) -> None:
        self.passed = 0
        self.open = threading.Event()

    def __call__(self) -> None:
        self.passed += 1
        assert self.open.wait(WAIT_S)


@pytest.fixture
def gate() -> Iterator[Gate]:
    one = Gate()
    yield one
    one.open.set()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for rank in range(4):
        trace_files.trace(tmp_path / "r" / f"host_{rank}.1.pt.trace.json", rank=rank)
    return tmp_path


@pytest.fixture
def client(log: Path) -> Iterator[Client]:
    scan = Scanner(str(log), READERS, interval_s=0)
    scan.find("r")
    yield Client(Routes(scan, Store(jobs=0, cache_dir=log / "cache"), sql_audience="everybody"))
    scan.close()


def poll(client: Client, path: str) -> TestResponse:
    """Ask until there is another answer than 202."""
    for _ in range(WAIT_S * 10):
        answer = client.get(BASE + path)
        if answer.status_code != 202:
            return answer
    raise AssertionError("there was no answer")


def test_computing_a_view_answers_with_progress_and_is_done_once(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overview(trace: Trace) -> int:
        gate()
        return len(trace.ops)

    monkeypatch.setattr("tb_privateuse1.views.overview.overview", overview)
    for _ in range(3):
        answer = client.get(BASE + "overview?wait_ms=100")
        assert answer.status_code == 202
    assert answer.json == {
        "phase": "computing", "bytes_done": 0, "bytes_total": 0, "events": 0, "seconds_left": None,
        "traces_done": 0, "traces": 1, "parts_done": 0, "parts": 0, "note": None,
    }  # fmt: skip
    gate.open.set()
    result: Any = poll(client, "overview?wait_ms=100").json
    assert result > 0
    assert gate.passed == 1


def test_an_error_of_a_view_reaches_who_comes_back(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overview(trace: Trace) -> None:
        gate()
        raise TraceError("unknown_step", "There is no such step.")

    monkeypatch.setattr("tb_privateuse1.views.overview.overview", overview)
    assert client.get(BASE + "overview?wait_ms=0").status_code == 202
    gate.open.set()
    problem(poll(client, "overview?wait_ms=100"), 404, "unknown_step")
    assert gate.passed == 1


def test_ranks_from_the_disk_answer_with_how_many_are_done(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get(BASE + "distributed").status_code == 200  # now they are stored
    reduce = signature.reduction_of(views.VIEWS["distributed"])

    def slow(trace: Trace) -> Any:
        if trace.meta.rank == 2:
            gate()
        return reduce(trace)

    monkeypatch.setitem(vars(views.VIEWS["distributed"]), "reduction", slow)
    for _ in range(WAIT_S * 10):
        answer = client.get(BASE + "distributed?wait_ms=100")
        assert answer.status_code == 202
        if answer.json["traces_done"] == 2:
            break
    assert (answer.json["phase"], answer.json["traces"]) == ("computing", 4)
    gate.open.set()
    assert len(poll(client, "distributed?wait_ms=100").json["rows"]) == 4
    assert gate.passed == 1


def test_all_ranks_can_be_given_up_when_all_are_stored(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get(BASE + "distributed").status_code == 200
    reduce = signature.reduction_of(views.VIEWS["distributed"])

    def slow(trace: Trace) -> Any:
        gate()
        return reduce(trace)

    monkeypatch.setitem(vars(views.VIEWS["distributed"]), "reduction", slow)
    assert client.get(BASE + "distributed?wait_ms=100").status_code == 202
    waiting = threading.Thread(target=gate.open.wait, args=(WAIT_S,))
    waiting.start()
    own_page = {"Origin": "http://localhost"}
    for canceled in (True, False):
        answer = client.post(BASE + "cancel?run=r&rank=3", headers=own_page)
        assert answer.json == {"canceled": canceled}
    gate.open.set()
    waiting.join()
    assert gate.passed == 1, "it ended before the next rank"


@pytest.mark.parametrize("path", ["event?table=ops&row=0", "sql?query=from ops"])
def test_events_and_queries_do_not_take_longer_either(
    client: Client, gate: Gate, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object, **__: object) -> sql.SqlResult:
        gate()
        return sql.SqlResult((), (), cut=False, elapsed_ms=0.0)

    monkeypatch.setattr(sql, "query", slow)
    monkeypatch.setattr(event_record, "_event", slow)
    answer = client.get(f"{BASE}{path}&wait_ms=100")
    assert (answer.status_code, answer.json["phase"]) == (202, "computing")
    gate.open.set()
    assert poll(client, f"{path}&wait_ms=100").json["rows"] == []
    assert gate.passed == 1


def test_heavy_views_wait_for_their_turn(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third one begins when another has ended; a light view does not wait."""

    @signature.heavy
    def whatif(trace: Trace, critical: Any, *, limit: int = 30) -> int:
        gate()
        return limit

    monkeypatch.setattr("tb_privateuse1.views.whatif.whatif", whatif)
    for limit in (1, 2):
        while client.get(f"{BASE}whatif?limit={limit}&wait_ms=50").json["phase"] != "computing":
            pass
    while gate.passed < 2:
        assert client.get(BASE + "whatif?limit=1&wait_ms=50").status_code == 202
        assert client.get(BASE + "whatif?limit=2&wait_ms=50").status_code == 202
    while client.get(BASE + "whatif?limit=3&wait_ms=50").json["phase"] != "waiting":
        pass
    assert client.get(BASE + "overview").status_code == 200
    assert gate.passed == 2
    gate.open.set()
    assert [poll(client, f"whatif?limit={n}&wait_ms=100").json for n in (1, 2, 3)] == [1, 2, 3]


def test_opening_a_trace_for_an_export_does_not_take_longer_either(
    client: Client, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Store.open

    def slow(self: Store, *arguments: Any) -> tuple[Trace, TraceFiles]:
        gate()
        return opened(self, *arguments)

    monkeypatch.setattr(Store, "open", slow)
    assert client.get(BASE + "export?format=csv&wait_ms=100").status_code == 202
    gate.open.set()
    assert poll(client, "export?format=csv&wait_ms=100").status_code == 200


@pytest.mark.parametrize(
    ("wait_ms", "waits"),
    [("250", [0.25, 0.0, 0.0]), ("0", [0, 0, 0]), ("-5", [0, 0, 0]), ("99999999", [60, 59, 58])],
)
def test_all_that_a_request_waits_for_shares_its_time(
    log: Path, monkeypatch: pytest.MonkeyPatch, wait_ms: str, waits: list[float]
) -> None:
    """Two traces to find, each of which takes a second, and then a view."""
    now, asked = [1000.0], []

    class Slow(Scanner):
        def await_run(self, run: str | None = None, wait_s: float | None = None) -> Any:
            asked.append(wait_s)
            now[0] += 1
            return super().await_run(run)

    scan = Slow(str(log), READERS, interval_s=0)
    made = Routes(scan, Store(jobs=0, cache_dir=log / "cache"))
    compute = made._reader._computations.run

    def computing(key: Any, work: Any, wait_s: float | None) -> Any:
        asked.append(wait_s)
        return compute(key, work, None)

    monkeypatch.setattr(made._reader._computations, "run", computing)
    scan.find("r", None, None, None)
    asked.clear()
    with monkeypatch.context() as patch:
        patch.setattr(routes.time, "monotonic", lambda: now[0])
        answer = Client(made).get(f"{BASE}diff?base_rank=1&wait_ms={wait_ms}")
    assert answer.status_code == 200
    assert asked == pytest.approx(waits)
    assert time.monotonic() != now[0]
    scan.close()
