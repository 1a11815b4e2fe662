"""Runs in archives through views, single events, exports and the cache, as from directories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.cli import main
from tb_privateuse1.discovery import catalog
from tb_privateuse1.export import formats as export
from tests.support import trace_files
from tests.support.ascend import Program

FORMATS = ("zip", "tar", "gztar", "xztar")
formats = pytest.mark.parametrize("form", FORMATS)


def archived(folder: Path, form: str) -> str:
    """The archive of a folder's content."""
    return shutil.make_archive(str(folder.with_name("runs")), form, folder)


@formats
def test_views_events_and_exports(tmp_path: Path, form: str) -> None:
    trace = trace_files.trace(tmp_path / "log" / "exp" / "host_0.1.pt.trace.json", rank=0)
    trace_files.sidecar(trace.with_name("host_0.1.kernel_event.json"))
    path = archived(tmp_path / "log", form)
    inside, beside = tbp.open(path), tbp.open(tmp_path / "log")
    assert inside.runs.runs[0].workers[0].spans[0].has_sidecar
    assert inside.kernels(run="exp").rows == beside.kernels(run="exp").rows
    assert inside.event("ops", 1).record == beside.event("ops", 1).record
    out = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for opened, logdir, target in ((inside, path, out[0]), (beside, str(tmp_path / "log"), out[1])):
        files = catalog.scan(logdir, readers.READERS).find("exp")
        export.save("chrome", target, opened.trace("exp"), files)
    assert Path(out[0]).read_bytes() == Path(out[1]).read_bytes()


@formats
def test_a_folder_that_is_one_recording(tmp_path: Path, form: str) -> None:
    Program().folder(tmp_path / "log" / "exp", rank=3)
    path = archived(tmp_path / "log", form)
    inside, beside = tbp.open(path), tbp.open(tmp_path / "log")
    assert [worker.rank for worker in inside.runs.runs[0].workers] == [3]
    mine, expected = inside.trace("exp"), beside.trace("exp")
    assert mine.meta.reader == expected.meta.reader == "ascend"
    assert mine.strings == expected.strings
    assert mine.kernels.start_ns.tolist() == expected.kernels.start_ns.tolist()
    assert mine.memory.bytes.tolist() == expected.memory.bytes.tolist()


@pytest.mark.long
def test_the_command_line_reads_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        trace_files.trace(tmp_path / "log" / f"host_{rank}.1.pt.trace.json", rank=rank)
    path = archived(tmp_path / "log", "gztar")
    assert main(["ingest", path, "--jobs", "1"]) == 0
    assert main(["view", "overview", path, "--rank", "1"]) == 0
    assert "runs.tar.gz" not in capsys.readouterr().err


def test_an_archive_without_traces_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "notes.txt").write_text("nothing")
    assert main(["view", "overview", archived(tmp_path / "log", "zip")]) != 0
    assert "There are no traces in" in capsys.readouterr().err
