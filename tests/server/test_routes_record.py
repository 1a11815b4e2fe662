"""Asking running jobs over HTTP: only where it is allowed, and only from our own pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.readers import READERS
from tb_privateuse1.server import record_permission
from tb_privateuse1.server.plugin import Plugin
from tb_privateuse1.server.record_permission import Permission, from_environment
from tb_privateuse1.server.record_routes import RecordRoutes
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tests.server.test_routes import BASE, problem
from tests.support import fake_job
from tests.support import logdir as made
from tests.support.clock import FakeClock
from tests.support.fake_job import describe, failed, written

HOST = "localhost:6006"
OURS = {
    "Host": HOST,
    "Origin": f"http://{HOST}",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
}
LOOPBACK = "127.0.0.1"

Serve = Callable[..., Client]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def serve(logs: Path, clock: FakeClock) -> Iterator[Serve]:
    """Serve the logdir to clients of a permission; it is ``on`` by default."""
    scanners: list[Scanner] = []

    def serve(permission: Permission | None = None, root: str = "") -> Client:
        scan = Scanner(str(logs), READERS, interval_s=0)
        scanners.append(scan)
        roots = [("", root or str(logs))]
        record = RecordRoutes(roots, scan, permission or Permission(is_on=True), clock=clock.now)
        return Client(Routes(scan, Store(jobs=0), record=record))

    yield serve
    for scan in scanners:
        scan.close()


def get(client: Client, path: str = "record/jobs", address: str = LOOPBACK, **headers: str) -> Any:
    sent = {"Host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(BASE + path, headers=sent, environ_overrides={"REMOTE_ADDR": address})


def post(
    client: Client,
    body: Any,
    path: str = "record",
    address: str = LOOPBACK,
    without: str = "",
    **headers: str,
) -> TestResponse:
    sent = OURS | {name.replace("_", "-"): value for name, value in headers.items()}
    sent.pop(without, None)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(
        BASE + path, data=data, headers=sent, environ_overrides={"REMOTE_ADDR": address}
    )


def test_a_request_from_asking_to_the_link(serve: Serve, logs: Path, clock: FakeClock) -> None:
    made.write(logs)
    run = logs / "ddp"
    for rank in (0, 1):
        describe(run, rank, step=100 + rank)
    client = serve()
    assert get(client, "extras").json["running_jobs"] == 1
    (job,) = get(client).json["jobs"]
    assert (job["job"], job["processes"], job["backend"]) == ("ddp", 2, "acme")
    assert (job["least_step"], job["greatest_step"], job["request"]) == (100, 101, None)
    asked = post(client, {"job": "ddp", "steps": 5, "ranks": "0-1", "shapes": True})
    assert asked.status_code == 200
    id = asked.json["id"]
    request = fake_job.request(run)
    assert request
    assert (request["id"], request["steps"], request["ranks"]) == (id, 5, [0, 1])
    assert (request["shapes"], request["stacks"], request["by"]) == (True, None, "TensorBoard")

    def state() -> Any:
        clock.advance(0.5)  # the files are read twice per second
        (job,) = get(client, f"record/jobs?job=ddp&id={id}").json["jobs"]
        return job

    assert state()["request"]["phases"] == [{"phase": "asked", "processes": 2}]
    name = "host_1.1700000000000.pt.trace.json"
    describe(run, 0, last=failed(id, "no space"))
    describe(run, 1, last=written(id, name))
    get(client, "overview?run=ddp")  # the first search has ended then
    job = state()
    assert job["request"]["is_done"] is True
    assert job["request"]["recorded"] == {"run": "ddp", "rank": 1, "span": 1}
    assert [(p["rank"], p["phase"], p["error"]) for p in job["listed"]] == [
        (0, "failed", "no space"),
        (1, "written", None),
    ]


def test_one_request_at_a_time_until_it_is_canceled(serve: Serve, logs: Path) -> None:
    describe(logs)
    client = serve()
    id = post(client, {"job": "logs"}).json["id"]
    said = problem(post(client, {"job": "logs"}), 409, "record_pending")
    assert "by TensorBoard" in said
    other = post(client, {"job": "logs", "replace": True}).json["id"]
    assert other != id
    assert post(client, {"job": "logs", "id": id}, "record/cancel").json == {"canceled": False}
    assert post(client, {"job": "logs", "id": other}, "record/cancel").json == {"canceled": True}
    assert fake_job.request(logs) is None
    assert post(client, {"job": "none", "id": other}, "record/cancel").json == {"canceled": False}


def test_many_processes_are_a_summary_and_the_failures(
    serve: Serve, logs: Path, clock: FakeClock
) -> None:
    for rank in range(300):
        describe(logs, rank, period_s=60)
    client = serve()
    id = post(client, {"job": "logs"}).json["id"]
    for rank in (250, 299):
        describe(logs, rank, last=failed(id, "no space"), period_s=60)
    clock.advance(0.5)
    (job,) = get(client, f"record/jobs?id={id}").json["jobs"]
    assert len(job["listed"]) == 40
    assert [p["rank"] for p in job["listed"][:3]] == [250, 299, 0]
    counts = {p["phase"]: p["processes"] for p in job["request"]["phases"]}
    assert counts == {"asked": 298, "failed": 2}


def test_a_job_that_is_gone_is_shown_to_who_asked_it(serve: Serve, logs: Path) -> None:
    describe(logs, state="ended")
    client = serve()
    assert get(client).json["jobs"] == []
    assert get(client, "extras").json["running_jobs"] == 0
    (job,) = get(client, "record/jobs?job=logs").json["jobs"]
    assert (job["processes"], job["least_step"]) == (0, None)
    assert "has ended" in problem(post(client, {"job": "logs"}), 404, "record_no_job")


def test_it_is_off_by_default(serve: Serve, logs: Path) -> None:
    describe(logs)
    client = serve(Permission())
    assert "docs/guide/record-now.md" in problem(get(client), 403, "record_off")
    problem(post(client, {"job": "logs"}), 403, "record_off")
    problem(post(client, {"job": "logs", "id": ""}, "record/cancel"), 403, "record_off")
    assert get(client, "extras").json["running_jobs"] is None
    assert fake_job.request(logs) is None


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example:6006",  # DNS rebinding: the name leads to this machine
        "localhost.attacker.example:6006",
        "127.0.0.1.attacker.example",
        "gpu7:6006",
        "localhost@attacker.example",
        "attacker.example@localhost",
        "",
    ],
)
def test_foreign_host_names_are_refused(serve: Serve, logs: Path, host: str) -> None:
    describe(logs)
    client = serve()
    problem(get(client, Host=host), 403, "foreign_host")
    rebound = {"Host": host, "Origin": f"http://{host}"}
    problem(post(client, {"job": "logs"}, **rebound), 403, "foreign_host")
    problem(get(client, "extras", Host=host), 403, "foreign_host")
    assert fake_job.request(logs) is None


@pytest.mark.parametrize("host", ["192.168.0.7:6006", "0.0.0.0:6006"])
def test_addresses_of_the_network_are_refused(serve: Serve, logs: Path, host: str) -> None:
    describe(logs)
    client = serve()
    problem(get(client, Host=host), 403, "record_not_here")
    own = {"Host": host, "Origin": f"http://{host}"}
    problem(post(client, {"job": "logs"}, **own), 403, "record_not_here")
    assert get(client, "extras", Host=host).json["running_jobs"] is None
    assert fake_job.request(logs) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:6006", "[::1]:6006", "LOCALHOST:80"])
def test_names_of_this_machine(serve: Serve, logs: Path, host: str) -> None:
    describe(logs)
    origin = f"http://{host.lower()}"
    assert post(serve(), {"job": "logs"}, Host=host, Origin=origin).status_code == 200


@pytest.mark.parametrize("address", ["10.0.0.7", "::ffff:10.0.0.7", "fe80::1", "", "unknown"])
def test_other_machines_are_refused(serve: Serve, logs: Path, address: str) -> None:
    describe(logs)
    client = serve()
    problem(get(client, address=address), 403, "record_not_here")
    problem(post(client, {"job": "logs"}, address=address), 403, "record_not_here")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_addresses_of_this_machine(serve: Serve, address: str) -> None:
    assert get(serve(), address=address).status_code == 200


def test_a_proxy_is_another_machine(serve: Serve, logs: Path) -> None:
    describe(logs)
    problem(get(serve(), X_Forwarded_For="10.0.0.7"), 403, "record_not_here")
    problem(post(serve(), {"job": "logs"}, Forwarded="for=10.0.0.7"), 403, "record_not_here")


def test_a_host_that_was_allowed(serve: Serve, logs: Path) -> None:
    describe(logs)
    client = serve(from_environment({record_permission.VARIABLE: "gpu7.example, 10.0.0.7"}))
    ours = {"Host": "gpu7.example:6006", "Origin": "https://gpu7.example:6006"}
    there = {**ours, "X_Forwarded_For": "10.1.1.1"}
    assert post(client, {"job": "logs"}, address="10.9.9.9", **there).status_code == 200
    assert get(client, Host="10.0.0.7").status_code == 200
    assert get(client).status_code == 200
    problem(get(client, Host="other.example", address="10.9.9.9"), 403, "foreign_host")
    # A name of this machine is no name that other machines may use.
    problem(get(client, address="10.9.9.9"), 403, "record_not_here")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:7007"},
        {"Origin": "file://localhost:6006"},
        {"Origin": HOST},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Content_Type": "multipart/form-data; boundary=x"},
        {"Content_Type": ""},
        {"without": "Origin"},
    ],
)
def test_other_sites_are_refused(serve: Serve, logs: Path, headers: dict[str, str]) -> None:
    describe(logs)
    client = serve()
    problem(post(client, {"job": "logs"}, **headers), 403, "other_site")
    body = {"job": "logs", "id": "0"}
    problem(post(client, body, "record/cancel", **headers), 403, "other_site")
    assert fake_job.request(logs) is None


def test_browsers_that_say_less(serve: Serve, logs: Path) -> None:
    """Not all browsers send Sec-Fetch-Site."""
    describe(logs)
    assert post(serve(), {"job": "logs"}, without="Sec-Fetch-Site").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_do_not_read_jobs(serve: Serve, site: str) -> None:
    problem(get(serve(), Sec_Fetch_Site=site), 403, "other_site")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "bad_option"),
        (b"{", 400, "bad_option"),
        (b"[1]", 400, "bad_option"),
        (b"[" * 60_000, 400, "bad_option"),
        (b'{"job": "' + b"x" * (1 << 16) + b'"}', 400, "bad_option"),
        ({}, 400, "bad_option"),
        ({"job": 5}, 400, "bad_option"),
        ({"job": "logs", "path": "/etc"}, 400, "unknown_option"),
        ({"job": "logs", "steps": 0}, 400, "bad_option"),
        ({"job": "logs", "steps": 10**6}, 400, "bad_option"),
        ({"job": "logs", "ranks": "all"}, 400, "bad_option"),
        ({"job": "logs", "replace": "yes"}, 400, "bad_option"),
        ({"job": "logs", "ranks": [7]}, 404, "record_no_rank"),
        ({"job": "../logs"}, 404, "record_no_job"),
    ],
)
def test_mistakes(serve: Serve, logs: Path, body: Any, status: int, code: str) -> None:
    describe(logs)
    problem(post(serve(), body), status, code)
    assert fake_job.request(logs) is None


def test_methods_and_options(serve: Serve, logs: Path) -> None:
    client = serve()
    for path in ("record", "record/cancel"):
        answer = get(client, path)
        problem(answer, 405, "bad_method")
        assert answer.headers["Allow"] == "POST"
    problem(post(client, {}, "record/jobs"), 405, "bad_method")
    problem(get(client, "record/jobs?path=/x"), 400, "unknown_option")
    problem(post(client, {"job": "logs"}, "record?job=logs"), 400, "unknown_option")


def test_a_body_without_a_length_is_refused(serve: Serve, logs: Path) -> None:
    describe(logs)
    answer = serve().open(
        BASE + "record",
        method="POST",
        headers={**OURS, "Transfer-Encoding": "chunked"},
        environ_overrides={"REMOTE_ADDR": LOOPBACK, "CONTENT_LENGTH": ""},
    )
    problem(answer, 400, "bad_option")


def test_the_logdir_is_searched_every_few_seconds(
    serve: Serve, logs: Path, clock: FakeClock
) -> None:
    client = serve()
    assert get(client).json["jobs"] == []
    describe(logs)
    clock.advance(4)
    assert get(client).json["jobs"] == []
    clock.advance(1)
    assert len(get(client).json["jobs"]) == 1


def test_a_remote_logdir_says_that_it_cannot_be_asked(serve: Serve) -> None:
    answer = get(serve(root="s3://user:secret@bucket/logs")).json
    assert answer["jobs"] == []
    assert [warning["code"] for warning in answer["warnings"]] == ["record_remote"]
    assert "secret" not in json.dumps(answer)


def test_the_language_is_the_client_s(serve: Serve) -> None:
    answer = get(serve(Permission()), Accept_Language="zh-CN")
    assert "此服务器" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", Permission()),
        ("off", Permission()),
        ("0, no", Permission()),
        ("on", Permission(is_on=True)),
        (" ON ", Permission(is_on=True)),
        ("on,gpu7.Example", Permission(True, frozenset({"gpu7.example"}))),
        ("[fe80::1]", Permission(True, frozenset({"fe80::1"}))),
    ],
)
def test_the_environment_gives_the_permission(
    value: str, expected: Permission, monkeypatch: pytest.MonkeyPatch, logs: Path
) -> None:
    monkeypatch.setenv(record_permission.VARIABLE, value)
    flags = SimpleNamespace(logdir_spec="", reload_interval=5.0)
    plugin = Plugin(SimpleNamespace(logdir=str(logs), flags=flags))
    assert plugin.routes()._record.permission == expected
    assert plugin.routes()._record._roots == [("", str(logs))]
