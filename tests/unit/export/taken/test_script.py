"""The scripts: what they are, that they run with torch alone, and that a trace is never code."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.cli import main
from tb_privateuse1.export.taken import recorded_calls, script
from tests.support import make
from tests.unit.export.taken.test_recorded_calls import MM, op


def call(name: str = "aten::mm", **args: Any) -> recorded_calls.RecordedCall:
    return recorded_calls.call_of(make.trace(op(name, 0, 10, **{**MM, **args})), 0)


def test_it_imports_torch_and_the_standard_library_alone() -> None:
    source = script.script(call())
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert {name.partition(".")[0] for name in imported} <= {*sys.stdlib_module_names, "torch"}


def test_the_call_stands_at_the_top() -> None:
    source = script.script(call())
    assert source.count("CASE: dict[str, Any] =") == 1
    assert source.index("CASE: dict") < source.index("class Call")
    assert source.startswith('"""Run aten::mm as it was recorded')


def test_no_text_of_a_trace_is_code() -> None:
    evil = '"""\nimport os; os.abort()\n"""'
    one = replace(call(), operator=evil, inputs=(recorded_calls.ValueInput(evil),))
    body = ast.parse(script.script(one)).body
    assert not any("os" in ast.dump(node) for node in body if isinstance(node, ast.Import))
    assert script.filename(one, 3) == "03_import_os_os_abort.py"


def run(tmp_path: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("torch")
    path = tmp_path / "taken.py"
    path.write_text(text)
    command = [sys.executable, "-I", str(path), "--device", "cpu", "--seconds", "0", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)


def test_it_runs_is_timed_and_checked(tmp_path: Path) -> None:
    done = run(tmp_path, script.script(call()), "--json", "here.jsonl")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "aten::mm  float32(4, 8), float32(8, 2)"
    assert "recorded  10 us of the host (median of 1) on CPU" in lines[4]
    assert "numbers   agree with the CPU's in float64" in lines[-1]
    row = json.loads((tmp_path / "here.jsonl").read_text())
    assert row["here"]["agree"] is True
    assert row["here"]["ns"] > 0


def test_what_cannot_run_says_why(tmp_path: Path) -> None:
    done = run(tmp_path, script.script(replace(call(), operator="acme::fused")))
    assert (done.returncode, done.stdout) == (3, "")
    assert "torch has no operator acme::fused here" in done.stderr


def test_what_torch_refuses_is_said_without_a_traceback(tmp_path: Path) -> None:
    edited = script.script(call()).replace("'float32'", "'float99'")
    done = run(tmp_path, edited)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "torch has no type float99 here" in done.stderr


def test_the_command_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (log / "h_1.pt.trace.json").write_text(json.dumps(make.document(op("aten::mm", 0, 9, **MM))))
    out = tmp_path / "taken"
    assert main(["take-away", str(log), "-o", str(out)]) == 0
    (path,) = out.glob("*.py")
    assert path.name == "01_aten_mm.py"
    assert str(path) in capsys.readouterr().out
    assert main(["take-away", str(log), "-o", str(out), "--name", "aten::add"]) == 2
    assert "no call of aten::add" in capsys.readouterr().err
    for top in ("0", "-1"):
        assert main(["take-away", str(log), "-o", str(out), "--top", top]) == 2
        assert f"above 0 is needed, not {top}" in capsys.readouterr().err
    assert main(["take-away", str(log), "-o", str(tmp_path / "two words")]) == 0
    assert f"'{tmp_path}/two words'/*.py" in capsys.readouterr().out
    assert main(["take-away", "--compare", str(path), str(path)]) == 2
    assert main(["take-away", str(log)]) == 2
