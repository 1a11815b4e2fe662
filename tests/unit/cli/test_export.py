"""``tb-privateuse1 export``: every format, ranges, and what is said about mistakes."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tests.support.perfetto_file import parse
from tests.support.trace_files import sidecar, trace


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for rank in (0, 3):
        trace(tmp_path / "log" / "r1" / f"host_{rank}.1.pt.trace.json", rank=rank)
    sidecar(tmp_path / "log" / "r1" / "host_3.1.kernel_event.json")
    return tmp_path / "log"


def export(log: Path, form: str, out: Path, *more: str) -> int:
    place = ["--run", "r1", "--rank", "3"]
    return cli.main(["export", str(log), *place, "--format", form, "-o", str(out), *more])


@pytest.mark.long
def test_every_format(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(log, "chrome", tmp_path / "t.json") == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "device_kernel"]
    assert len(kernels) == 2
    told = capsys.readouterr().out
    assert told == f"{tmp_path / 't.json'}: 2 device activities, inferred\n"
    assert export(log, "perfetto", tmp_path / "t.perfetto-trace.gz") == 0
    content = parse(gzip.decompress((tmp_path / "t.perfetto-trace.gz").read_bytes()))
    assert len(content.device) == 2
    assert export(log, "parquet", tmp_path / "t.zip") == 0
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        assert "kernels.parquet" in archive.namelist()
    assert export(log, "csv", tmp_path / "tables") == 0
    assert len((tmp_path / "tables" / "kernels.csv").read_text().splitlines()) == 3


@pytest.mark.long
def test_a_range(log: Path, tmp_path: Path) -> None:
    assert export(log, "csv", tmp_path / "all") == 0
    assert export(log, "csv", tmp_path / "some", "--range", ":1") == 0
    whole, some = (
        (tmp_path / name / "ops.csv").read_text().splitlines() for name in ("all", "some")
    )
    assert 1 < len(some) < len(whole)
    assert set(some) <= set(whole)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--range", "5"], "--range 5: it must be START_NS:END_NS"),
        (["--range", "7:5"], "The range from 7 to 5 ns is empty"),
        (["--range", "-1:5"], "expected one argument"),
        (["--rank", "9"], "rank 9"),
        (["--format", "xml"], "invalid choice: 'xml'"),
        (["-o", "/nowhere/at/all.json"], "cannot be written"),
    ],
)
def test_mistakes_are_told_in_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], says: str
) -> None:
    assert export(log, "chrome", tmp_path / "t.json", *more) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert list(tmp_path.glob("*t.json*")) == []


def test_the_path_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "--format", "csv", "-o", "x"]) == 2
    assert "export needs PATH" in capsys.readouterr().err
