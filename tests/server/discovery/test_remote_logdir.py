"""A real TensorBoard on the URL of a web server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.support import logdir as made
from tests.support.server import PLUGIN, Server, serve
from tests.support.trace_files import trace
from tests.support.web import Web, until

RUNS = ["ddp", "host", "mlp", "unreadable"]


def scanned(board: Server) -> dict[str, Any]:
    def done() -> Any:
        runs = board.plugin("runs").json
        return None if runs["scanning"] else runs

    found: dict[str, Any] = until(done)
    return found


def names(board: Server) -> list[str]:
    return [run["run"] for run in scanned(board)["runs"]]


def test_the_dashboard_on_a_web_servers_directory(web: Web) -> None:
    made.write(web.folder / "log")
    web.ranges = False  # as ``python -m http.server``
    url = f"{web}/log".replace("://", "://me:SECRET@")
    with serve("--logdir", url, "--reload_interval", "1") as board:
        assert names(board) == RUNS
        assert scanned(board)["logdir"] == f"{web}/log"
        assert scanned(board)["warnings"] == []
        totals = board.plugin("overview?run=ddp&rank=1").json["totals"]
        assert totals["busy_ns"] == made.KERNELS * made.KERNEL_NS
        assert board.plugin("kernels?run=mlp").json["provenance"]["timeline"] == "inferred"
        trace(web.folder / "log" / "new" / "host_1.1.pt.trace.json")
        until(lambda: "new" in names(board))
        for path in ("/", "../secret", f"{web}/log/mlp"):
            assert board.plugin(f"overview?run={path}").status == 404
        assert "SECRET" not in str(board.plugin("runs").body)


def test_it_starts_before_its_logdir_answers_and_outlives_it(web: Web) -> None:
    made.write(web.folder / "log")
    web.statuses["."] = 503
    with serve("--logdir", f"{web}/log", "--reload_interval", "0.3") as board:
        assert [w["code"] for w in scanned(board)["warnings"]] == ["remote_unreachable"]
        answer = board.plugin("overview")
        assert answer.status == 422
        assert answer.json["error"]["code"] == "remote_unreachable"
        assert board.get("data/plugins_listing").json["privateuse1"]["enabled"] is False
        web.statuses.clear()
        until(lambda: names(board) == RUNS)
        assert board.plugin("overview?run=mlp").status == 200
        web.statuses["."] = 403
        until(lambda: [w["code"] for w in scanned(board)["warnings"]] == ["remote_denied"])
        assert names(board) == RUNS  # what is known stays
        assert board.plugin("runs").status == 200
        assert board.get("").status == 200


def test_a_logdir_without_its_driver(tmp_path: Path) -> None:
    with serve("--logdir_spec", f"here:{made.write(tmp_path)},there:nofs://x") as board:
        found = scanned(board)
        assert [run["run"] for run in found["runs"]] == [f"here/{name}" for name in RUNS]
        assert [w["code"] for w in found["warnings"]] == ["remote_driver"]


def test_the_demo_takes_a_url(web: Web) -> None:
    made.write(web.folder / "log")
    command = [sys.executable, "-m", "tb_privateuse1.cli", "demo", f"{web}/log", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"(http://\S+?)#", process.stdout.readline())
        assert address
        with urllib.request.urlopen(f"{address[1]}{PLUGIN}overview?run=mlp") as answer:
            assert json.load(answer)["provenance"]["timeline"] == "inferred"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
