"""SQL over HTTP: only where it is allowed, and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from werkzeug.test import Client, TestResponse

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.export import sql
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.plugin import Plugin
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.server.test_routes import BASE, problem


@pytest.fixture(scope="module")
def client(logdir: Path, cache: Path) -> Iterator[Client]:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache), sql_audience="everybody"))
    scan.close()


def test_a_query(client: Client) -> None:
    asked = {"run": "mlp", "query": "select count(*) as n from ops"}
    answer = client.get(BASE + "sql", query_string=asked)
    assert answer.status_code == 200
    assert answer.json["columns"] == [{"name": "n", "type": "BIGINT"}]
    assert answer.json["rows"][0][0] > 0
    some = client.get(BASE + "sql", query_string={"query": "from range(99)", "rows": 5}).json
    assert (len(some["rows"]), some["cut"]) == (5, True)
    assert client.get(BASE + "extras").json["sql_allowed"] is True


def test_whole_numbers_that_doubles_cannot_hold_are_text(client: Client) -> None:
    query = "select 9007199254740993 a, -9007199254740993 b, 9007199254740991 c, 0.5::double d"
    rows = client.get(BASE + "sql", query_string={"query": query}).json["rows"]
    assert rows == [["9007199254740993", "-9007199254740993", 9007199254740991, 0.5]]


def test_mistakes(client: Client) -> None:
    told = problem(client.get(BASE + "sql?query=selec"), 422, "sql_error")
    assert "syntax error" in told
    problem(client.get(BASE + "sql"), 400, "bad_option")
    problem(client.get(BASE + "sql?query=from ops&path=/x"), 400, "unknown_option")
    problem(client.get(BASE + "sql?query=from ops&run=none"), 404, "unknown_run")
    other = client.get(BASE + "sql?query=from ops", headers={"Sec-Fetch-Site": "cross-site"})
    problem(other, 403, "other_site")


def test_too_many_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object, **__: object) -> sql.SqlResult:
        raise TraceError("sql_busy", "2 other queries are running.")

    monkeypatch.setattr(sql, "query", busy)
    problem(client.get(BASE + "sql?query=from ops"), 429, "sql_busy")


def test_where_it_is_off(logdir: Path) -> None:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    client = Client(Routes(scan, Store(jobs=0)))
    told = problem(client.get(BASE + "sql?query=from ops"), 403, "sql_off")
    assert "docs/guide/sql.md" in told
    assert client.get(BASE + "extras").json["sql_allowed"] is False
    scan.close()


def test_it_is_for_this_machine_alone_unless_it_was_asked_for(logdir: Path, cache: Path) -> None:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    client = Client(Routes(scan, Store(jobs=0, cache_dir=cache), sql_audience="local"))

    def get(path: str, address: str = "127.0.0.1", **headers: str) -> TestResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.get(BASE + path, headers=sent, environ_overrides={"REMOTE_ADDR": address})

    asked = "sql?query=select 1"
    assert get(asked).status_code == 200
    assert get("extras").json["sql_allowed"] is True
    problem(get(asked, address="10.0.0.7"), 403, "sql_off")
    for header in ("X_Forwarded_For", "X_Forwarded_Host", "Forwarded", "Via", "X_Real_IP"):
        problem(get(asked, **{header: "127.0.0.1"}), 403, "sql_off")
        assert get("extras", **{header: "127.0.0.1"}).json["sql_allowed"] is False
    # A proxy that says nothing of itself shows by the address of the page.
    proxied = {"Sec_Fetch_Site": "same-origin", "Referer": "https://tb.example/"}
    problem(get(asked, **proxied), 403, "sql_off")
    scan.close()


@pytest.mark.parametrize(
    ("host", "bind_all", "told", "audience"),
    [
        (None, False, "", "local"),
        ("localhost", False, "", "local"),
        ("127.0.0.1", False, "", "local"),
        ("::1", False, "", "local"),
        ("0.0.0.0", False, "", "nobody"),
        ("::", False, "", "nobody"),
        ("10.0.0.7", False, "", "nobody"),
        ("machine.example", False, "", "nobody"),
        (None, True, "", "nobody"),
        (None, True, "on", "everybody"),
        (None, False, "off", "nobody"),
        ("10.0.0.7", False, "yes please", "nobody"),
    ],
)
def test_who_may_ask(
    host: str | None, bind_all: bool, told: str, audience: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sql.VARIABLE, told)
    assert sql.audience(host, bind_all=bind_all) == audience
    flags = SimpleNamespace(host=host, bind_all=bind_all, logdir_spec="", reload_interval=5.0)
    plugin = Plugin(SimpleNamespace(logdir="", flags=flags))
    assert plugin.routes()._sql_audience == audience
