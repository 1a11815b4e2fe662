"""The command line: views as JSON, CSV and text, defaults, and errors."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tb_privateuse1 import __version__, cli
from tb_privateuse1.cli import demo
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection
from tests.support.trace_files import sidecar, trace

COMMAND = [sys.executable, "-m", "tb_privateuse1.cli"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for rank in (0, 3):
        trace(tmp_path / "log" / "r1" / f"host_{rank}.1.pt.trace.json", rank=rank)
    sidecar(tmp_path / "log" / "r1" / "host_3.1.kernel_event.json")
    trace(tmp_path / "log" / "r2" / "host_1.1.pt.trace.json", name="aten::second")
    trace(tmp_path / "log" / "r2" / "host_1.2.pt.trace.json", name="\x1b[31maten::<b>")
    return tmp_path / "log"


def body(log: Path, name: str, run: str, rank: int, span: int, **options: object) -> bytes:
    place = Selection(run, rank, span)
    reader = Reader(Store(jobs=0), catalog.scan(str(log), READERS))
    return encode(reader.run(Request(VIEWS[name], place, options=options)))


@pytest.mark.long
@pytest.mark.parametrize("name", VIEWS)
def test_json_is_the_http_body_to_the_byte(
    log: Path, name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["view", name, str(log), "--run", "r1", "--rank", "3", "--span", "1", "--json"]
    assert cli.main(arguments) == 0
    out, err = capfdbinary.readouterr()
    assert out == body(log, name, "r1", 3, 1)
    assert err == b""
    # All recordings are those of the lowest ranks, which have no sidecar here.
    timeline = "none" if name == "history" else "inferred"
    assert json.loads(out)["provenance"]["timeline"] == timeline


@pytest.mark.long
def test_defaults_are_the_first_run_the_lowest_rank_the_latest_span(
    log: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert cli.main(["view", "operators", str(log), "--json"]) == 0
    assert capfdbinary.readouterr().out == body(log, "operators", "r1", 0, 1)
    assert cli.main(["view", "operators", str(log / "r2"), "--json"]) == 0
    assert capfdbinary.readouterr().out == body(log, "operators", "r2", 0, 2)
    file = log / "r2" / "host_1.1.pt.trace.json"
    assert cli.main(["view", "operators", str(file), "--json"]) == 0
    assert capfdbinary.readouterr().out == body(log, "operators", "r2", 0, 1)


def test_step_and_options(log: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    arguments = ["view", "operators", str(log), "--step", "2", "--group", "shapes", "--json"]
    assert cli.main(arguments) == 0
    out = capfdbinary.readouterr().out
    assert out == body(log, "operators", "r1", 0, 1, step=2, group="shapes")
    assert out != body(log, "operators", "r1", 0, 1)


@pytest.mark.long
def test_csv_has_the_rows_of_the_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, table in (("operators", "rows"), ("kernels", "rows"), ("overview", "steps")):
        arguments = ["view", name, str(log), "--rank", "3"]
        assert cli.main([*arguments, "--csv"]) == 0
        rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
        result = json.loads(body(log, name, "r1", 3, 1))
        expected, window = result[table], result["provenance"]["window"]["text"]
        assert rows
        assert len(rows) == len(expected)
        assert list(rows[0]) == [*expected[0], "window"]
        assert {row["window"] for row in rows} == {window}
        assert rows[0]["name"] == expected[0]["name"]


def test_csv_of_another_table(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["view", "overview", str(log), "--rank", "3", "--csv", "--table", "top_operators"]
    assert cli.main(arguments) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    expected = json.loads(body(log, "overview", "r1", 3, 1))["top_operators"]
    assert [row["name"] for row in rows] == [row["name"] for row in expected]
    assert len(rows) == len(expected) > 0


@pytest.mark.long
@pytest.mark.parametrize("form", ["--json", "--csv", None])
@pytest.mark.parametrize("name", VIEWS)
def test_the_output_may_be_a_file(
    log: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], name: str, form: str
) -> None:
    arguments = ["view", name, str(log), *([form] if form else [])]
    assert cli.main(arguments) == 0
    expected = capfdbinary.readouterr().out
    assert cli.main([*arguments, "--output", str(tmp_path / "out")]) == 0
    assert capfdbinary.readouterr() == (b"", b"")
    assert (tmp_path / "out").read_bytes() == expected != b""


def test_the_readable_form_escapes_what_a_terminal_would_obey(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["view", "operators", str(log), "--run", "r2"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"\x1b[31maten::<b>" in out
    assert re.search(r"41\.000 µs", out)  # both calls
    assert out.splitlines()[-1] == "  warnings:" or "provenance" in out


def test_an_event(log: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    arguments = ["event", str(log), "--table", "ops", "--row", "1", "--run", "r2", "--span", "2"]
    assert cli.main([*arguments, "--json"]) == 0
    files = catalog.scan(str(log), READERS).find("r2", None, 2)
    expected = encode(read_record(*Store(jobs=0).open(files), table="ops", row=1))
    assert capfdbinary.readouterr().out == expected
    assert cli.main(arguments) == 0
    out = capfdbinary.readouterr().out.decode()
    assert "\x1b" not in out
    assert r'    "name": "\u001b[31maten::<b>",' in out
    assert r"name: \x1b[31maten::<b>" in out
    assert "step: ProfilerStep#1" in out


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["view", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == list(VIEWS)
    assert cli.main(["view", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(VIEWS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["view"], "NAME and PATH"),
        (["view", "overview"], "NAME and PATH"),
        (["view", "overview", "{log}", "--rank", "x"], "invalid int value"),
        (["event", "{log}", "--table", "ops"], "required: --row"),
        (
            ["event", "{log}", "--table", "strings", "--row", "1"],
            "choice: 'strings' (choose from",
        ),
        (["event", "{log}", "--table", "ops", "--row", "1.5"], "row must be a whole number"),
        (["event", "{log}", "--table", "ops", "--row", "99"], "no row 99 in ops"),
        (["view", "overview", "{log}", "--json", "--csv"], "not allowed with"),
        (["view", "overview", "{log}", "--json", "--table", "steps"], "--table is for --csv"),
        (["view", "overview", "{log}", "--csv", "--table", "x"], "no table 'x'. It has: device"),
        (["view", "overview", "{log}", "-o", "{log}/nowhere/x"], "x cannot be written: No such"),
        (["view", "nothing", "{log}"], "invalid choice: 'nothing' (choose from"),
        (["view", "overview", "{log}/nowhere"], "no file or directory"),
        (["view", "overview", "nofs://bucket/x"], "no filesystem that fsspec knows"),
        (["view", "overview", "{log}", "--run", "r9"], "no run r9. There is: r1, r2."),
        (["view", "overview", "{log}", "--rank", "9"], "no rank 9. There is: 0, 3."),
        (["view", "overview", "{log}", "--span", "9"], "no span 9"),
        (["view", "overview", "{log}", "--step", "9"], "no step 9"),
        (["view", "overview", "{log}", "--step", "x"], "step must be a whole number"),
        (["view", "overview", "{log}", "--option", "x"], "must be K=V"),
        (["view", "overview", "{log}", "--option", "x=1"], "It has: step, window, brief, around,"),
        (["view", "overview", "{log}/bad.json"], "bad.json"),
        (["merge", "{log}/r1", "-o", "{log}/out.json"], "is a directory"),
        (["merge", "{log}/nowhere", "-o", "{log}/out.json"], "no file or directory"),
        (["merge", "{log}/bad.json"], "required: -o/--output"),
        (["demo", "{log}/nowhere"], "no directory"),
        (["demo", "--port", "x"], "invalid int value"),
    ],
)
def test_bad_use_is_one_line_and_code_2(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (log / "bad.json").write_text("{\n}")
    assert cli.main([a.format(log=log) for a in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.startswith("tb-privateuse1: ")
    assert err.count("\n") == 1


def test_merge_takes_the_sidecar_beside_the_trace(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    file = log / "r1" / "host_3.1.pt.trace.json"
    assert cli.main(["merge", str(file), "-o", str(out)]) == 0
    assert "inferred" in capsys.readouterr().out
    kernels = [e for e in json.loads(out.read_text())["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in kernels if e["cat"] == "device_kernel"] == ["aten::mm"] * 2
    side = str(log / "r1" / "host_3.1.kernel_event.json")
    other = log / "r1" / "host_0.1.pt.trace.json"
    assert cli.main(["merge", str(other), "-o", str(out)]) == 2  # no device times
    assert capsys.readouterr().err.count("\n") == 1
    assert cli.main(["merge", str(other), "--kernel-events", side, "-o", str(out)]) == 0


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tb_privateuse1 import cli\n"
        "try: cli.main(['view', '--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'pyarrow', 'msgspec', 'tensorboard', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--kernel-events" not in done.stdout
    assert "--option K=V" in done.stdout


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.long
def test_a_reader_that_stops_early_is_no_error(log: Path) -> None:
    for n in range(300):
        trace(log / "many" / f"rank{n}.1.pt.trace.json", name="aten::" + "x" * 5000)
    process = subprocess.Popen(
        [*COMMAND, "view", "operators", str(log / "many"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.long
def test_progress_is_for_terminals(log: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, "view", "overview", str(log), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # its end; before that a read may bring any part of it
        while more := os.read(ours, 65536):
            seen += more
    os.close(ours)
    assert b"reading" in seen or b"inferring" in seen
    assert seen.endswith(b"\r\x1b[K")
    assert json.loads(done.stdout)["steps"]


@pytest.mark.skipif(not demo.SAMPLE.is_dir(), reason="the sample runs are not recorded yet")
def test_the_sample_runs_are_readable() -> None:
    assert catalog.scan(str(demo.SAMPLE), READERS).runs.runs


@pytest.mark.long
def test_demo_serves_until_interrupted(log: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "demo", str(log), "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address, line
        assert address[0].endswith("#privateuse1")
        base = address[0].partition("#")[0]
        with urllib.request.urlopen(f"{base}data/plugins_listing") as answer:
            assert "privateuse1" in json.load(answer)
        url = f"{base}data/plugin/privateuse1/operators?run=r1&rank=3"
        with urllib.request.urlopen(url) as answer:
            assert answer.read() == body(log, "operators", "r1", 3, 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
