"""What a shell is offered, by argcomplete's protocol; and nothing where that is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tb_privateuse1.views import VIEWS
from tests.support.fake_job import describe
from tests.support.trace_files import trace

CODE = """
import sys
sys.argv = ["tb-privateuse1"]
from tb_privateuse1 import cli
{before}
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    for run, rank, span in (("r1", 0, 1), ("r1", 3, 1), ("r2", 1, 1), ("r2", 1, 2)):
        trace(tmp_path / "log" / run / f"host_{rank}.{span}.pt.trace.json", rank=rank)
    return str(tmp_path / "log")


def offered(line: str, tmp_path: Path, before: str = "") -> set[str]:
    """The completions of a command line whose cursor is at its end."""
    pytest.importorskip("argcomplete")
    out = tmp_path / "offered"
    protocol = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(out),
        "COMP_LINE": f"tb-privateuse1 {line}",
        "COMP_POINT": str(len(f"tb-privateuse1 {line}".encode())),
        "COMP_TYPE": "9",
    }
    code = CODE.format(before=before)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **protocol}, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    return {word.rstrip() for word in out.read_text().split("\n")}


@pytest.mark.parametrize(
    ("line", "some", "others"),
    [
        ("", {"view", "diff", "demo"}, {"kernels"}),
        ("view ", set(VIEWS), {"view", "event"}),
        ("view kern", {"kernels"}, {"overview"}),
        ("view kernels --", {"--group", "--short-ns", "--run", "--csv"}, {"--levels", "--base"}),
        ("view whatif --no", {"--no-ranking"}, set()),
        ("view links --", {"--table", "--index"}, {"--csv"}),
        ("view kernels --group ", {"operator", "name", "launch"}, {"stack"}),
        ("diff old new --by ", {"operators", "modules"}, set()),
        ("event log --table ", {"ops", "memory"}, set()),
        ("advice log --fail-on ", {"high", "note"}, set()),
        ("export log --format ", {"perfetto"}, set()),
    ],
)
@pytest.mark.long
def test_names_and_choices(line: str, some: set[str], others: set[str], tmp_path: Path) -> None:
    heavy = "sys.modules |= dict.fromkeys(('numpy', 'pyarrow'))"
    found = offered(line, tmp_path, before=heavy)  # None there: an import of these fails
    assert some <= found
    assert not others & found


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("view kernels {log} --run ", {"r1", "r2"}),
        ("view kernels {log} --rank ", {"0", "1", "3"}),
        ("view kernels {log} --run r1 --rank ", {"0", "3"}),
        ("view kernels {log} --run r2 --span ", {"1", "2"}),
        ("export {log} --run ", {"r1", "r2"}),
        ("diff {log} nowhere --base-run ", {"r1", "r2"}),
        ("diff nowhere {log} --run r1 --rank ", {"0", "3"}),
        ("view diff nowhere --base {log} --base-run r2 --base-rank ", {"1"}),
        ("view diff {log} --base-run ", {"r1", "r2"}),
        ("view kernels {log}/nowhere --run ", {""}),
        ("view kernels s3://bucket/log --run ", {""}),
        ("view kernels --run ", {""}),
    ],
)
def test_the_traces_of_a_logdir(log: str, line: str, found: set[str], tmp_path: Path) -> None:
    assert offered(line.format(log=log), tmp_path) == found


@pytest.mark.long
def test_without_argcomplete_a_shell_hears_nothing(tmp_path: Path) -> None:
    code = CODE.format(before="sys.modules['argcomplete'] = None; sys.argv.append('--version')")
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "COMP_LINE": "tb-privateuse1 ",
        "COMP_POINT": "15",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    assert done.stderr == b""


@pytest.mark.long
def test_running_jobs(tmp_path: Path) -> None:
    describe(tmp_path / "log" / "run1")
    describe(tmp_path / "log" / "ended", state="ended")
    assert offered(f"record {tmp_path / 'log'} --job ", tmp_path) == {"run1"}
    assert "run1" not in offered("record --job ", tmp_path)
    assert offered("record s3://bucket/log --job ", tmp_path) == {""}
