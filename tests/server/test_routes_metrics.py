"""Metrics over HTTP: off by default, in OpenMetrics where they are on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from werkzeug.test import Client

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.export import openmetrics
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.plugin import METRICS_VARIABLE, Plugin
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tests.server.test_routes import BASE, problem
from tests.support.openmetrics import parse

STEP = "tb_privateuse1_step_seconds"


@pytest.fixture(scope="module")
def client(logdir: Path, cache: Path) -> Iterator[Client]:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache), has_metrics=True))
    scan.close()


def test_every_rank_of_each_run(client: Client) -> None:
    client.get(BASE + "history?ranks=all")  # finds and reads all of them
    runs = client.get(BASE + "runs").json["runs"]
    answer = client.get(BASE + "metrics")
    assert (answer.status_code, answer.content_type) == (200, openmetrics.CONTENT_TYPE)
    found = parse(answer.text)
    places = {(run["run"], str(one["rank"])) for run in runs for one in run["workers"]}
    info = {(dict(labels)["run"], dict(labels)["rank"])
            for labels in found["tb_privateuse1_recording_info"].samples}  # fmt: skip
    assert info == places - {("unreadable", "0")}
    assert found["tb_privateuse1_recordings_failed"].samples == {frozenset(): 1}
    assert found["tb_privateuse1_recordings_waiting"].samples == {frozenset(): 0}


def test_some_of_the_runs(client: Client) -> None:
    found = parse(client.get(BASE + "metrics?matching=mlp").text)
    assert {dict(labels)["run"] for labels in found[STEP].samples} == {"mlp"}
    problem(client.get(BASE + "metrics?run=mlp"), 400, "unknown_option")


def test_another_site_gets_nothing(client: Client) -> None:
    other = client.get(BASE + "metrics", headers={"Sec-Fetch-Site": "cross-site"})
    problem(other, 403, "other_site")


@pytest.mark.parametrize(("setting", "status"), [(None, 403), ("off", 403), ("on", 200)])
def test_it_is_off_by_default(
    setting: str | None, status: int, logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(METRICS_VARIABLE, raising=False)
    if setting:
        monkeypatch.setenv(METRICS_VARIABLE, setting)
    flags = SimpleNamespace(logdir_spec="", reload_interval=0, host=None, bind_all=False)
    plugin = Plugin(SimpleNamespace(logdir=str(logdir), flags=flags))
    answer = Client(plugin.routes()).get(BASE + "metrics?matching=no-such-run")
    assert answer.status_code == status
