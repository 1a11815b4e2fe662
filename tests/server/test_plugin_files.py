"""Users' vendor and rule files in a server: read at its start; what is wrong costs no page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import Client

from tb_privateuse1 import cli
from tb_privateuse1.advice import user_rules
from tb_privateuse1.analysis.work import registry
from tb_privateuse1.server.loader import Loader
from tb_privateuse1.server.plugin import Plugin
from tb_privateuse1.vendors import user_file
from tb_privateuse1.views import user_models
from tests.support import make
from tests.support.trace_files import write

BASE = "/data/plugin/privateuse1/"
RULE = """
from tb_privateuse1.advice.rules.rule import Rule
RULE = Rule(name="own", title="Own", cause="launching", looks_for="", why="", fix="", threshold="",
            reference="", check=lambda case: ())
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    document = make.document(
        make.step(1, 0, 100),
        make.op("aten::mm", 1, 10),
        make.kernel("gemm", 5, 20),
        tb_privateuse1={"backend": "refdev"},
    )
    write(tmp_path / "log" / "r" / "host_0.1.pt.trace.json", document)
    return tmp_path / "log"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A vendor file and a rule file that the environment names, both good."""
    vendor, rules = tmp_path / "acme.toml", tmp_path / "own.py"
    vendor.write_text('name = "acme"\ntitle = "Acme"\n')
    rules.write_text(RULE)
    monkeypatch.setenv(user_file.VARIABLE, str(vendor))
    monkeypatch.setenv(user_rules.VARIABLE, str(rules))
    return vendor, rules


def client(log: Path, vendor_files: list[str] | None = None) -> Client:
    context = SimpleNamespace(logdir=str(log), flags=SimpleNamespace(reload_interval=0))
    plugin = Loader(vendor_files).load(context)
    assert isinstance(plugin, Plugin)
    return Client(plugin.get_plugin_apps()["/*"])


def ask(client: Client, what: str) -> dict[str, Any]:
    answer = client.get(BASE + what)
    assert answer.status_code == 200, answer.data
    found: dict[str, Any] = json.loads(answer.data)
    return found


def device(client: Client) -> str:
    """The accelerator that the overview shows."""
    facts = ask(client, "overview")["device"]
    return next(fact["value"] for fact in facts if fact["label"] == "Accelerator")


def asked(client: Client) -> str:
    """The last rule that was asked."""
    name: str = ask(client, "advice")["asked"][-1]["rule"]
    return name


@pytest.mark.usefixtures("own")
def test_good_files_say_nothing(log: Path) -> None:
    server = client(log)
    assert device(server).startswith("Acme")
    assert asked(server) == "own"
    assert ask(server, "runs")["warnings"] == []


def test_bad_files_are_warnings_and_the_pages_are_there(
    log: Path, own: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    vendor, rules = own
    vendor.write_text("name = 3")
    rules.write_text("x = ")
    server = client(log)
    assert not device(server).startswith("Acme")
    assert asked(server) != "own"
    warnings = ask(server, "runs")["warnings"]
    assert [warning["code"] for warning in warnings] == ["bad_vendor", "bad_rules"]
    for warning in warnings:
        assert warning["message"] in caplog.text


def test_work_models_are_read_at_the_start_and_bad_ones_are_a_warning(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = tmp_path / "models.py"
    monkeypatch.setenv(user_models.VARIABLE, str(models))
    models.write_text("MODELS = {'acme::op': len}")
    assert ask(client(log), "runs")["warnings"] == []
    models.write_text("MODELS = 3")
    os.utime(models, ns=(9, 9))
    server = client(log)
    ask(server, "operators")
    (warning,) = ask(server, "runs")["warnings"]
    assert warning["code"] == "bad_work_models"
    assert cli.main(["view", "operators", str(log)]) == 2
    assert "models.py: has no MODELS" in capsys.readouterr().err
    registry.use_models({})


def test_files_that_break_later_cost_no_page(log: Path, own: tuple[Path, Path]) -> None:
    vendor, rules = own
    server = client(log)
    ask(server, "overview")
    vendor.write_text("name = 3")
    rules.write_text("x = ")
    os.utime(rules, ns=(7, 7))
    assert device(server).startswith("Acme")
    assert asked(server) == "own"
    rules.unlink()
    assert asked(server) == "own"


@pytest.mark.usefixtures("own")
def test_files_of_the_command_line_come_before_the_environment(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('name = "other"\ntitle = "Other"\n')
    assert device(client(log, [str(other)])).startswith("Other")


def test_commands_say_what_is_wrong_with_a_file(
    log: Path, own: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    vendor, rules = own
    rules.write_text("x = ")
    os.utime(rules, ns=(8, 8))
    assert cli.main(["view", "overview", str(log)]) == 0, "it asks no rules"
    assert cli.main(["advice", str(log)]) == 2
    assert "own.py: cannot be run: SyntaxError" in capsys.readouterr().err
    vendor.write_text("name = 3")
    for command in (["view", "overview"], ["ingest"], ["merge", "-o", "x.json"], ["demo"]):
        path = log / "r" / "host_0.1.pt.trace.json" if command[0] == "merge" else log
        assert cli.main([*command, str(path)]) == 2
        assert "acme.toml cannot be used" in capsys.readouterr().err


@pytest.mark.usefixtures("own")
def test_sql_reads_the_trace_of_the_same_vendor(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    assert cli.main(["ingest", str(log)]) == 0
    capsys.readouterr()
    query = ["sql", str(log), "select count(*) as n from ops", "--json"]
    assert cli.main(query) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0][0] > 0
