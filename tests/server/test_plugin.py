"""The plugin in a real TensorBoard: every way to start it, and beside torch-tb-profiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tb_privateuse1 import views
from tb_privateuse1.discovery import catalog
from tb_privateuse1.server import plugin as server_plugin
from tb_privateuse1.server.loader import Loader
from tb_privateuse1.server.plugin import Plugin
from tb_privateuse1.trace.memory_budget import MemoryBudget
from tests.support import logdir as made
from tests.support import torch_tb_profiler
from tests.support.on_device import ROOT
from tests.support.server import Server, serve

RUNS = ["ddp", "host", "mlp", "unreadable"]
COMPLAINTS = ("will become an error", "tb_privateuse1", "tb-privateuse1")
"""Of TensorBoard's validator of responses, and of or about ourselves."""


@pytest.fixture(autouse=True)
def budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """No values of other tests, for which a timer would run."""
    monkeypatch.setattr(server_plugin, "BUDGET", MemoryBudget())


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """The first true value of a condition."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return value


def names(server: Server) -> list[str]:
    """The runs that the server lists when its first scan has ended."""

    def scanned() -> Any:
        runs = server.plugin("runs").json
        return None if runs["scanning"] else runs

    return [run["run"] for run in until(scanned)["runs"]]


def listed(server: Server) -> dict[str, Any]:
    """What TensorBoard tells its page about our plugin."""
    entry: dict[str, Any] = server.get("data/plugins_listing").json["privateuse1"]
    return entry


def said_nothing_bad(server: Server) -> None:
    """Of what others log (torch-tb-profiler does so at every trace) nothing is about us."""
    assert not [line for line in server.log if any(word in line for word in COMPLAINTS)]


def test_tensorboard_shows_the_tab(tensorboard: Server) -> None:
    entry = listed(tensorboard)
    assert entry["enabled"] is True
    assert entry["tab_name"] == "Profiler"
    assert entry["disable_reload"] is False
    assert entry["loading_mechanism"]["type"] == "IFRAME"
    page = tensorboard.get("data/plugin_entry.html?name=privateuse1")
    assert b"./static/index.js" in page.body


def test_every_route_answers(tensorboard: Server) -> None:
    assert names(tensorboard) == RUNS
    for view in views.VIEWS:
        answer = tensorboard.plugin(f"{view}?run=mlp")
        assert answer.status == 200
        assert answer.json["provenance"]["timeline"] == "inferred"
        assert answer.headers["Content-Type"] == "application/json"
    totals = tensorboard.plugin("overview?run=ddp&rank=1").json["totals"]
    assert totals["busy_ns"] == made.KERNELS * made.KERNEL_NS
    operators = tensorboard.plugin("operators?run=mlp").json
    assert operators["host_self_ns"] == made.HOST_SELF_NS
    said_nothing_bad(tensorboard)


def test_the_bundle_is_served(tensorboard: Server) -> None:
    entry = tensorboard.plugin("static/index.js", Accept_Encoding="gzip")
    assert (entry.status, entry.headers["Cache-Control"]) == (200, "no-cache")
    assert entry.headers["Content-Encoding"] == "gzip"
    again = tensorboard.plugin("static/index.js", If_None_Match="*")
    assert again.status == 200
    for asset in Path(made.__file__).parents[1].glob("tb_privateuse1/server/static/assets/*.js"):
        answer = tensorboard.plugin(f"static/assets/{asset.name}")
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.body == asset.read_bytes()
    said_nothing_bad(tensorboard)


@pytest.mark.parametrize(
    "path",
    [
        "static/../routes.py",
        "static/%2e%2e/routes.py",
        "static/..%2froutes.py",
        "static/%2e%2e%2froutes.py",
        "static/..%5croutes.py",
        "static//etc/passwd",
        "static/%00",
        "../../../etc/passwd",
        "overview/../../static/index.js",
        "%2e%2e/%2e%2e/etc/passwd",
    ],
)
def test_paths_out_are_refused(tensorboard: Server, path: str) -> None:
    assert tensorboard.plugin(path).status in (400, 404)


def test_errors_are_json(tensorboard: Server) -> None:
    for path, status in (("none", 404), ("overview?x=1", 400), ("overview?run=unreadable", 422)):
        answer = tensorboard.plugin(path)
        assert answer.status == status
        assert set(answer.json["error"]) == {"code", "message", "hint"}
    assert tensorboard.plugin("runs", "POST").status == 405
    said_nothing_bad(tensorboard)


def test_polling_ends_with_the_result(tmp_path: Path) -> None:
    made.write(tmp_path)
    with serve("--logdir", tmp_path) as server:
        statuses = []

        def ready() -> bool:
            statuses.append(server.plugin("overview?run=mlp&wait_ms=1").status)
            return statuses[-1] == 200

        until(ready)
        assert set(statuses[:-1]) <= {202}
        assert statuses[0] == 202  # no process starts within a millisecond


def test_logdir_spec(logdir: Path, tmp_path: Path) -> None:
    spec = f"first:{logdir / 'mlp'},second:{logdir / 'ddp'}"
    with serve("--logdir_spec", spec, cwd=tmp_path) as server:
        assert names(server) == ["first", "second"]
        assert server.plugin("overview?run=second&rank=1").status == 200
        said_nothing_bad(server)


def test_path_prefix(logdir: Path) -> None:
    with serve("--logdir", logdir, "--path_prefix", "/some/where") as server:
        assert server.url.endswith("/some/where/")
        assert names(server) == RUNS
        assert server.plugin("static/index.js").status == 200
        assert server.plugin("overview?run=host").status == 200


def test_new_traces_appear(tmp_path: Path) -> None:
    logs = tmp_path / "logs"  # TensorBoard may start before the first run makes it
    with serve("--logdir", logs, "--reload_interval", "0.2") as server:
        assert names(server) == []
        assert until(lambda: listed(server)["enabled"] is False)
        assert server.plugin("overview").json["error"]["code"] == "unknown_run"
        made.write(logs)
        assert until(lambda: names(server) == RUNS)
        assert listed(server)["enabled"] is True


@pytest.mark.exhaustive
def test_beside_torch_tb_profiler(logdir: Path) -> None:
    torch_tb_profiler.skip_if_absent()
    beside = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(torch_tb_profiler.FOLDER)])}
    with serve("--logdir", logdir, variables=beside) as server:
        assert names(server) == RUNS
        assert listed(server)["enabled"] is True
        other = "data/plugin/pytorch_profiler/"

        def it_has_read() -> bool:
            return "ddp" in server.get(other + "runs").json["runs"]

        # It reads no more than what it knows: one device kernel per run at least. It reads run by
        # run, and says between two that it loads nothing.
        assert until(it_has_read, 180)
        assert server.get("data/plugins_listing").json["pytorch_profiler"]["enabled"] is True
        assert server.get(other + "index.html").status == 200
        assert server.plugin("overview?run=ddp").json["totals"]["kernels"] == 21


def test_it_ends_while_a_trace_is_read(tmp_path: Path) -> None:
    event = json.dumps(
        {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    )
    big = tmp_path / "big.1700000000000.pt.trace.json"
    big.write_text('{"traceEvents": [' + ",\n".join([event] * 1_000_000) + "]}")
    with serve("--logdir", tmp_path) as server:
        assert server.plugin("overview?wait_ms=1").status == 202
        server.process.terminate()
        server.process.wait(10)


def test_the_loader_is_light() -> None:
    code = """
        import sys
        from tensorboard.plugins import base_plugin
        before = set(sys.modules)
        import tb_privateuse1.server.loader
        ours = {name for name in set(sys.modules) - before if name.startswith("tb_privateuse1")}
        print(sorted(ours))
        print([name for name in ("torch", "pyarrow", "msgspec", "isal") if name in sys.modules])
    """
    out = subprocess.check_output([sys.executable, "-c", textwrap.dedent(code)], text=True)
    ours = "['tb_privateuse1', 'tb_privateuse1.server', 'tb_privateuse1.server.loader']"
    assert out.splitlines() == [ours, "[]"]


def context(logdir: str = "", **flags: Any) -> Any:
    return SimpleNamespace(logdir=logdir, flags=SimpleNamespace(**flags))


def test_a_failure_costs_our_tab_only(
    logdir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "tb_privateuse1.server.plugin", None)
    assert Loader().load(context(str(logdir))) is None
    assert "the tab of tb-privateuse1 cannot be loaded" in caplog.text
    assert "tb_privateuse1.server.plugin" in caplog.text


def test_without_a_logdir_nothing_is_shown() -> None:
    """Not the current directory: as with ``--grpc_data_provider``."""
    assert Loader().load(context("", logdir_spec="")) is None
    assert Loader().load(SimpleNamespace(logdir=None, flags=None)) is None


def test_the_constructor_starts_nothing(logdir: Path) -> None:
    before = threading.active_count()
    plugin = Plugin(context(str(logdir), logdir_spec="", reload_interval=0))
    assert threading.active_count() == before
    assert set(plugin.get_plugin_apps()) == {"/*"}


def test_reload_interval_0_scans_once(tmp_path: Path) -> None:
    before = threading.active_count()
    plugin = Plugin(context(str(tmp_path), logdir_spec="", reload_interval=0))
    until(lambda: not plugin.is_active())
    until(lambda: threading.active_count() == before)  # nothing is left that could scan again
    made.write(tmp_path)
    assert not plugin.is_active()
    assert threading.active_count() == before


@pytest.mark.parametrize("has_traces", [True, False])
def test_is_active_does_not_wait_for_the_scan(
    logdir: Path, tmp_path: Path, has_traces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, walk = threading.Event(), catalog.walk

    def held(*arguments: Any, **options: Any) -> Iterator[catalog.Entry]:
        assert scan.wait(60), "is_active waited for the scan"
        yield from walk(*arguments, **options)

    monkeypatch.setattr(catalog, "walk", held)
    folder = logdir if has_traces else tmp_path
    plugin = Plugin(context(str(folder), logdir_spec="", reload_interval=0))
    assert plugin.is_active()  # nothing is known yet
    scan.set()
    until(lambda: plugin.is_active() is has_traces)
