"""No route ever answers 500: odd options, on every kind of trace, and every real one.

What is odd about an option is a 400 or 404 with words, or an answer; never a mistake of ours, nor
text of the query as markup, nor a number that JSON does not have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from werkzeug.test import Client, TestResponse

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.export.formats import FORMATS
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage import event_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views.lookups import LOOKUPS
from tests.server.test_routes import BASE
from tests.support import logdir as made
from tests.support import make
from tests.support.invariants import QUICK_OPTIONS
from tests.support.repeats import LONG, sampled
from tests.support.shared_traces import FOLDER, TRACES, needs_traces

MARKUP = "<img src=x onerror=alert(1)>"
ODD = (
    "", "-1", "0", "1", "2147483648", "999999999999999999", "-999999999999999999", "9" * 40, "NaN",
    "Infinity", "1e3", "0.5", "٣", MARKUP, "'; drop table ops; --", "../../etc/passwd", "%00\x00",
    "漢字", "a" * 3000, "name,-calls", "0..1", "[]", "null", "true",
)  # fmt: skip
RUNS = ("ddp", "mlp", "host", "nothing", "instants")
ASKED: dict[str, Callable[..., Any]] = {**VIEWS, **LOOKUPS, "event": event_record.read_record}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Client]:
    """The logdir of all kinds, and two traces with next to nothing in them."""
    folder = made.write(tmp_path_factory.mktemp("odd"))
    instants = [make.op("a", 5, 5, id=1), make.launch(5, 5, 1), make.kernel("k", 5, 5, 1)]
    for run, events in (("nothing", []), ("instants", instants)):
        (folder / run).mkdir()
        path = folder / run / "host.1700000000000.pt.trace.json"
        path.write_text(json.dumps(make.document(*events)))
    scan = Scanner(str(folder), READERS, interval_s=0)
    scan.find("ddp")
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache)))
    scan.close()


def no_number(text: str) -> NoReturn:
    raise AssertionError(f"{text} is no JSON")


def fine(answer: TestResponse, *also: int) -> str:
    """What is wrong with an answer; empty if it is one, or an error in words of its own."""
    if answer.status_code not in (200, 400, 404, *also):
        return f"{answer.status_code}: {answer.text[:300]}"
    if answer.headers["X-Content-Type-Options"] != "nosniff":
        return "its type could be guessed"
    if answer.content_type.startswith("text/html"):
        return "it is a page"
    if answer.content_type == "application/json":
        told = json.loads(answer.text, parse_constant=no_number)
        if answer.status_code != 200 and set(told["error"]) != {"code", "message", "hint"}:
            return f"an error without words: {told}"
    return ""


def odd_questions(name: str, values: Sequence[str]) -> Iterator[dict[str, str]]:
    """Each option with each of these values, and some of these together."""
    options = [
        *("run", "rank", "span"),
        *(option for option, *_ in signature.query_of(ASKED[name])),
    ]
    rest = {"table": "ops", "row": "0"} if name == "event" else {}
    for option in options:
        for value in values:
            yield {**rest, option: value}
    numbers = [option for option in options if option not in ("run", "rank", "span")]
    for value in ("-1", "0", "999999999999999999"):
        yield {**rest, **dict.fromkeys(numbers, value)}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ASKED)
def test_odd_options(client: Client, name: str, run: str) -> None:
    """Each value is asked of one run, in turn; in ``make long`` of all."""
    wrong = []
    for asked in odd_questions(name, ODD if LONG else ODD[RUNS.index(run) :: len(RUNS)]):
        if said := fine(client.get(BASE + name, query_string={"run": run, **asked})):
            wrong.append((asked, said))
    assert wrong == []


@pytest.mark.parametrize("name", [n for n in VIEWS if n in ("diff",)])
def test_odd_bases(client: Client, name: str) -> None:
    for key in ("base_run", "base_rank", "base_span", "base_step"):
        for value in ODD:
            for run in RUNS:
                assert not fine(client.get(BASE + name, query_string={"run": run, key: value}))
    for base in RUNS:
        for run in RUNS:
            answer = client.get(BASE + name, query_string={"run": run, "base_run": base})
            assert not fine(answer)
            assert answer.status_code == 200


@pytest.mark.parametrize("run", RUNS)
def test_odd_exports(client: Client, run: str) -> None:
    for name in (*FORMATS, *ODD):
        for window in (
            {},
            *({"start_ns": value} for value in ODD),
            {"start_ns": "9", "end_ns": "1"},
        ):
            answer = client.get(
                BASE + "export", query_string={"run": run, "format": name, **window}
            )
            assert not fine(answer), (name, window)


@pytest.mark.parametrize("name", ["runs", "export", *ASKED])
def test_bytes_that_are_no_text(client: Client, name: str) -> None:
    for query in ("run=%ff%fe", "run=ddp&group=%ed%a0%80", "%ff=1", "run=ddp&%00=%00", "&&=&", "%"):
        assert not fine(client.get(f"{BASE}{name}?{query}"), 405), query


@pytest.mark.parametrize("name", ["runs", "extras", "export", "cancel", "sql", "static", *ASKED])
def test_odd_names_of_options(client: Client, name: str) -> None:
    for option in (MARKUP, "__class__", "", "run[]", "漢字"):
        answer = client.get(BASE + name, query_string={option: "1"})
        assert not fine(answer, 405, 403), option


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("run", ["nothing", "instants"])
def test_an_empty_trace_has_an_answer(client: Client, name: str, run: str) -> None:
    asked = {"table": "ops", "row": "0"} if name == "event" else {}
    answer = client.get(BASE + name, query_string={"run": run, **asked})
    lacking = run == "nothing" and name in ("links", "event")  # they are about one row
    assert answer.status_code == (404 if lacking else 200), answer.text


_ALL_REAL_RUNS = sorted({"/".join(path.parts[-3:-1]) for path in TRACES})
_REAL_RUNS = sampled(_ALL_REAL_RUNS, 12)
"""Views and lookups answer on all of them in tests/peers/test_shared_traces.py."""


@pytest.fixture(scope="module")
def real(cache: Path) -> Iterator[Client]:
    scan = Scanner(str(FOLDER), READERS, interval_s=0)
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache)))
    scan.close()


@needs_traces
@pytest.mark.parametrize("run", _REAL_RUNS)
def test_every_route_answers_on_real_traces(real: Client, run: str) -> None:
    told = {}
    asked = [name for name in ASKED if LONG or name != "history"]  # it reads all recordings
    for name in asked:
        rest = {"table": "kernels", "row": "0"} if name == "event" else QUICK_OPTIONS.get(name, {})
        answer = real.get(BASE + name, query_string={"run": run, **rest})
        told[name] = fine(answer) or answer.status_code
    lacking = {name: 404 for name in ("event", "links") if told[name] == 404}
    assert told == dict.fromkeys(asked, 200) | lacking
    if lacking:
        assert not real.get(BASE + "kernels", query_string={"run": run}).json["rows"]
