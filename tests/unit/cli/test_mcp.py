"""``mcp`` on the command line: options, errors, and the skill that it installs."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.server.agents import reference, serve
from tb_privateuse1.trace.errors import TraceError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mcp"], "mcp needs PATH"),
        (["mcp", "./log", "--http", "--host", "0.0.0.0"], "on this machine only, not on 0.0.0.0"),
        (["mcp", "./log", "--http", "--host", "example.org"], "on this machine only"),
        (["mcp", "./log", "--http", "--port", "99999999"], "There is no port 99999999"),
        (["mcp", "/nowhere"], "There is no file or directory /nowhere"),
    ],
)
def test_bad_use_is_said(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert out == ""


def test_a_missing_sdk_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["mcp", str(tmp_path)]) == 2
    assert "pip install 'tb-privateuse1[mcp]'" in capsys.readouterr().err


@pytest.mark.long
def test_the_package_does_not_import_the_sdk() -> None:
    import subprocess

    code = (
        "import sys, tb_privateuse1.server.agents.serve, tb_privateuse1.server.agents.answers, "
        "tb_privateuse1.cli.mcp; sys.exit(bool({'mcp', 'PIL', 'anyio'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_address_that_is_taken_is_an_error() -> None:
    with serve.bind("127.0.0.1", 0) as taken:
        assert serve.url(taken) == f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        with pytest.raises(TraceError, match="cannot be used"):
            serve.bind("127.0.0.1", taken.getsockname()[1])
    with serve.bind("localhost", 0) as made:
        assert made.family == socket.AF_INET


def test_the_skill_is_printed_or_installed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["agents"]) == 0
    assert capsys.readouterr().out == reference.skill()
    assert cli.main(["agents", "--install", str(tmp_path)]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path.read_text(encoding="utf-8") == reference.skill()
