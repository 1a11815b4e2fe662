"""HTTP without a server: statuses, errors, options and waiting."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from tb_privateuse1 import views
from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.server import routes
from tb_privateuse1.server.messages import API_VERSION
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection

BASE = "/data/plugin/privateuse1/"
OWN_PAGE = {"Origin": "http://localhost"}
"""A browser says so of our page, when it changes something."""


@pytest.fixture(scope="module")
def client(logdir: Path, cache: Path) -> Iterator[Client]:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache)))
    scan.close()


def problem(answer: TestResponse, status: int, code: str) -> str:
    """The message and hint of an error that must have this status and code."""
    assert answer.status_code == status, answer.text
    assert answer.content_type == "application/json"
    error = answer.json["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == code
    return f"{error['message']} {error['hint'] or ''}"


def test_runs(client: Client) -> None:
    client.get(BASE + "overview?run=ddp")  # the first scan has ended when this is there
    answer = client.get(BASE + "runs")
    assert answer.status_code == 200
    assert [run["run"] for run in answer.json["runs"]] == ["ddp", "host", "mlp", "unreadable"]
    ddp, _, mlp, _ = answer.json["runs"]
    assert [worker["rank"] for worker in ddp["workers"]] == [0, 1]
    assert [span["span"] for span in mlp["workers"][0]["spans"]] == [1, 2]


@pytest.mark.parametrize("name", views.VIEWS)
@pytest.mark.parametrize("run", ["ddp", "host", "mlp"])
def test_every_view_is_a_route(client: Client, logdir: Path, name: str, run: str) -> None:
    answer = client.get(BASE + name, query_string={"run": run})
    assert answer.status_code == 200
    reader = Reader(Store(jobs=0), discovery_catalog.scan(str(logdir), READERS))
    assert answer.data == encode(reader.run(Request(views.VIEWS[name], Selection(run))))


def test_the_selection_and_the_options_arrive(client: Client) -> None:
    def steps(asked: str) -> list[str]:
        return [s["name"] for s in client.get(BASE + "overview?run=mlp" + asked).json["steps"]]

    assert steps("") == steps("&span=2") == [f"ProfilerStep#{n}" for n in (10, 11, 12)]
    assert steps("&span=1") == ["ProfilerStep#10"]
    files = client.get(BASE + "overview?run=ddp&rank=1").json["provenance"]["files"]
    assert files == ["host_1.1700000000000.pt.trace.json"]
    whole = client.get(BASE + "kernels?run=ddp&group=name").json
    one = client.get(BASE + "kernels?run=ddp&group=name&step=1").json
    assert (whole["calls"], one["calls"]) == (24, 8)
    assert {row["operator"] for row in whole["rows"]} == {None}


def test_an_event_is_a_route(client: Client, logdir: Path) -> None:
    answer = client.get(BASE + "event?run=ddp&rank=1&table=kernels&row=3")
    assert answer.status_code == 200
    files = discovery_catalog.scan(str(logdir), READERS).find("ddp", 1)
    assert answer.data == encode(read_record(*Store(jobs=0).open(files), table="kernels", row=3))
    assert json.loads(answer.json["record"])["name"] == answer.json["name"]


@pytest.mark.parametrize(
    ("asked", "status", "code", "says"),
    [
        ("overview?run=none", 404, "unknown_run", "ddp, host, mlp"),
        ("overview?run=ddp&rank=7", 404, "unknown_rank", "0, 1"),
        ("overview?run=ddp&span=9", 404, "unknown_span", "1"),
        ("overview?run=ddp&step=99", 404, "unknown_step", "ProfilerStep#0"),
        ("nothing", 404, "unknown_view", "overview, advice, whatif, timeline, operators"),
        ("", 404, "unknown_view", "overview"),
        ("overview/more", 404, "unknown_view", "overview"),
        ("static/none.js", 404, "unknown_file", "no such file"),
        ("static/../routes.py", 404, "unknown_file", "no such file"),
        ("overview?run=ddp&rank=x", 400, "bad_option", "whole number"),
        ("overview?run=ddp&rank=", 400, "bad_option", "whole number"),
        ("overview?run=ddp&step=1.5", 400, "bad_option", "whole number"),
        ("overview?run=ddp&step=" + "9" * 5000, 400, "bad_option", "whole number"),
        ("overview?run=ddp&wait_ms=soon", 400, "bad_option", "whole number"),
        ("operators?run=ddp&group=x", 400, "bad_option", "name, shapes"),
        ("operators?run=ddp&run=mlp", 400, "bad_option", "2 times"),
        ("operators?run=ddp&color=red", 400, "unknown_option", "run, rank, span, wait_ms, group"),
        ("event?run=ddp&table=kernels", 400, "bad_option", "row is missing"),
        ("event?run=ddp&row=0", 400, "bad_option", "table is missing"),
        ("event?run=ddp&table=meta&row=0", 400, "bad_option", "ops, frames, launches, kernels"),
        ("event?run=ddp&table=../ops&row=0", 400, "bad_option", "ops, frames, launches, kernels"),
        ("event?run=ddp&table=ops&row=0x1", 400, "bad_option", "whole number"),
        ("event?run=ddp&table=ops&row=9999", 404, "unknown_row", "0 to"),
        ("event?run=ddp&table=ops&row=0&path=/etc", 400, "unknown_option", "table, row"),
        ("event?run=unreadable&table=ops&row=0", 422, "not_json", "pt.trace.json"),
        ("runs?run=ddp", 400, "unknown_option", "none"),
        ("overview?run=unreadable", 422, "not_json", "cut.1700000000000.pt.trace.json"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(
    client: Client, asked: str, status: int, code: str, says: str
) -> None:
    assert says in problem(client.get(BASE + asked), status, code)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_reading_is_allowed(client: Client, method: str) -> None:
    answer = client.open(BASE + "runs", method=method)
    problem(answer, 405, "bad_method")
    assert answer.headers["Allow"] == "GET, HEAD"


def test_head_has_the_headers_alone(client: Client) -> None:
    answer = client.head(BASE + "overview?run=ddp")
    assert (answer.status_code, answer.data) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 1000


def test_headers(client: Client) -> None:
    for path in ("runs", "overview?run=ddp", "none", "static/none.js"):
        headers = client.get(BASE + path).headers
        assert headers["Content-Type"] == "application/json"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["API-Version"] == str(API_VERSION)


def test_long_answers_are_packed(client: Client) -> None:
    asked = BASE + "overview?run=ddp"
    packed = client.get(asked, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.data)) == client.get(asked).json


def test_paths_of_the_server_stay_there(client: Client, logdir: Path) -> None:
    for asked in ("overview?run=unreadable", "overview?run=../..", "overview?run=/etc"):
        assert str(logdir) not in client.get(BASE + asked).text


class Shelf:
    """A store that answers as told."""

    def __init__(self, answer: Trace | BaseException) -> None:
        self.answer = answer
        self.cancelled: list[str] = []

    def cancel(self, files: TraceFiles, *, parts: bool = False) -> bool:
        self.cancelled.append(files.trace.name)
        return len(self.cancelled) == 1

    def open(self, files: TraceFiles, wait_s: float | None = None) -> tuple[Trace, TraceFiles]:
        if isinstance(self.answer, Trace):
            return self.answer, files
        raise self.answer


@pytest.fixture
def scan(logdir: Path) -> Iterator[Scanner]:
    found = Scanner(str(logdir), READERS, interval_s=0)
    found.find("ddp")
    yield found
    found.close()


@pytest.mark.parametrize("path", ["runs", "extras", "overview?run=ddp", "export?run=ddp", "none"])
def test_data_is_for_our_own_pages(client: Client, path: str) -> None:
    rebound = {"Host": "evil.example:6006", "Sec-Fetch-Site": "same-origin"}
    said = problem(client.get(BASE + path, headers=rebound), 403, "foreign_host")
    assert "TB_PRIVATEUSE1_HOSTS" in said
    for told in ({"Sec-Fetch-Site": "cross-site"}, {"Referer": "http://evil.example/"}):
        problem(client.get(BASE + path, headers=told), 403, "other_site")
    # The page itself says what is wrong.
    assert client.get(BASE + "static/index.js", headers=rebound).status_code == 200


def test_an_answer_has_a_bound(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_MOST_BYTES", 1000)
    said = problem(client.get(BASE + "overview?run=ddp"), 413, "answer_too_large")
    assert "command line" in said
    assert client.get(BASE + "extras").status_code == 200


def ask(scan: Scanner, store: Any, path: str) -> TestResponse:
    return Client(Routes(scan, store)).get(BASE + path)


def test_a_trace_that_is_being_read_answers_with_its_progress(scan: Scanner) -> None:
    progress = Progress("reading", 5, 10, 3, 1.5)
    shelf = Shelf(Pending(progress))
    answer = ask(scan, shelf, "overview?run=ddp&wait_ms=250")
    assert answer.status_code == 202
    assert answer.json == {
        "phase": "reading", "bytes_done": 5, "bytes_total": 10, "events": 3, "seconds_left": 1.5,
        "traces_done": 0, "traces": 1, "parts_done": 0, "parts": 0, "note": None,
    }  # fmt: skip


def test_a_run_that_is_still_being_looked_for_answers_with_progress(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    walk = discovery_catalog.walk

    def slow(*arguments: Any, **options: Any) -> Any:
        go_on.wait(30)
        return walk(*arguments, **options)

    monkeypatch.setattr(discovery_catalog, "walk", slow)
    scan = Scanner(str(logdir), READERS, interval_s=0)
    shelf: Any = Shelf(Trace())
    client = Client(Routes(scan, shelf))
    waiting = client.get(BASE + "overview?run=ddp&wait_ms=10")
    assert (waiting.status_code, waiting.json["phase"]) == (202, "waiting")
    go_on.set()
    assert client.get(BASE + "overview?run=ddp").status_code == 200
    scan.close()


@pytest.mark.parametrize("name", views.VIEWS)
def test_our_own_mistakes_are_told_and_logged(
    scan: Scanner,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(trace: Trace) -> None:
        raise ValueError("/home/somebody/secret")

    monkeypatch.setattr(f"tb_privateuse1.views.{name}.{name}", fail)
    answer = ask(scan, Shelf(Trace()), f"{name}?run=ddp")
    assert "secret" not in problem(answer, 500, "internal")
    (record,) = caplog.records
    assert record.exc_info
    assert "ValueError: /home/somebody/secret" in caplog.text


def test_mistakes_while_reading_are_mistakes_of_ours(scan: Scanner) -> None:
    error = TraceError("internal", "Reading x failed.", "Report it.")
    assert "Reading x failed." in problem(
        ask(scan, Shelf(error), "overview?run=ddp"), 500, "internal"
    )


def test_reading_can_be_canceled(scan: Scanner) -> None:
    shelf = Shelf(TraceError("canceled", "Reading x was canceled.", "Ask again."))
    client = Client(Routes(scan, shelf))  # type: ignore[arg-type]
    for expected in (True, False):
        answer = client.post(BASE + "cancel?run=ddp&rank=1&span=1", headers=OWN_PAGE)
        assert (answer.status_code, answer.json) == (200, {"canceled": expected})
    assert shelf.cancelled == ["host_1.1700000000000.pt.trace.json"] * 2
    problem(client.get(BASE + "overview?run=ddp"), 409, "canceled")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_only_a_post_cancels(scan: Scanner, method: str) -> None:
    shelf = Shelf(Trace())
    answer = Client(Routes(scan, shelf)).open(BASE + "cancel?run=ddp", method=method)  # type: ignore[arg-type]
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert shelf.cancelled == []


@pytest.mark.parametrize(
    ("asked", "headers", "status", "code"),
    [
        ("cancel?run=none", {}, 404, "unknown_run"),
        ("cancel?run=ddp&rank=9", {}, 404, "unknown_rank"),
        ("cancel?run=ddp&group=name", {}, 400, "unknown_option"),
        ("cancel?run=ddp&wait_ms=1", {}, 400, "unknown_option"),
        ("cancel?run=ddp", {"Sec-Fetch-Site": "cross-site"}, 403, "other_site"),
        ("cancel?run=ddp", {"Sec-Fetch-Site": "same-site"}, 403, "other_site"),
        ("cancel?run=ddp", {"Origin": "http://localhost:7007"}, 403, "other_site"),
        ("cancel?run=ddp", {"Origin": ""}, 403, "other_site"),
        ("cancel?run=ddp", {"Host": "evil.example"}, 403, "foreign_host"),
    ],
)
def test_cancelling_asks_for_a_trace_from_our_own_page(
    scan: Scanner, asked: str, headers: dict[str, str], status: int, code: str
) -> None:
    shelf = Shelf(Trace())
    client = Client(Routes(scan, shelf))  # type: ignore[arg-type]
    problem(client.post(BASE + asked, headers=OWN_PAGE | headers), status, code)
    assert shelf.cancelled == []
    own = OWN_PAGE | {"Sec-Fetch-Site": "same-origin"}
    assert client.post(BASE + "cancel?run=ddp", headers=own).status_code == 200
