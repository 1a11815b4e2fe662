"""Ctrl-C on the command line: at once, one line, and nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.storage.test_store import until
from tests.support.trace_files import trace

HELD = {
    "reading": """
from tb_privateuse1.storage import ingest
def hold(path, progress, *more):
    progress("reading", 1, 4, 7)
    mark()
ingest.readers.read = hold
""",
    "storing": """
from tb_privateuse1.storage import arrow_file
write = arrow_file._Summed.write
def hold(self, data):
    if self.checksum:
        self._file.write(bytes(data)[: len(data) // 2])
        self._file.flush()
        mark()
    return write(self, data)
arrow_file._Summed.write = hold
""",
    "waiting": """
from tb_privateuse1.storage import cache_directory
cache_directory.claim = lambda path: mark()
""",
}
MAIN = """
import sys, time
from pathlib import Path
def mark():
    if not Path({mark!r}).exists():
        Path({mark!r}).touch()
        for _ in range({naps}):  # for longer than the test waits
            time.sleep(0.1)
{hold}
from tb_privateuse1 import cli
sys.exit(cli.main(["view", "overview", {trace!r}]))
"""


@pytest.mark.long
@pytest.mark.parametrize("where", HELD)
def test_interrupted_while(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, mark = tmp_path / "cache", tmp_path / "mark"
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(folder))
    file = trace(tmp_path / "t.json")
    naps = 0 if where == "waiting" else 600
    code = MAIN.format(mark=str(mark), hold=HELD[where], trace=str(file), naps=naps)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until(mark.exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=50)
    assert process.returncode == 130
    assert (out, err) == ("", "tb-privateuse1: interrupted\n")
    assert not folder.exists() or list(folder.iterdir()) == []


STARTS = """
import runpy, sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
sys.argv = ["tb-privateuse1", "view", "overview", {trace!r}]
runpy.run_module("tb_privateuse1.cli", run_name="__main__")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["argparse", "tb_privateuse1.cli.commands", "tb_privateuse1.cli.view", "numpy"]
)
def test_interrupted_while_it_starts(name: str, tmp_path: Path) -> None:
    """Before a line of a command has run: while a module is being imported."""
    code = STARTS.format(name=name, trace=str(trace(tmp_path / "t.json")))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "tb-privateuse1: interrupted\n")
    assert done.returncode == 130
