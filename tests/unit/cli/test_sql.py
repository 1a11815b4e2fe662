"""``tb-privateuse1 sql``: a table, CSV, JSON, and one line for mistakes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.export.trace_tables import COLUMNS
from tests.support.trace_files import sidecar, trace


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for rank in (0, 3):
        trace(
            tmp_path / "log" / f"host_{rank}.1.pt.trace.json", rank=rank, name=f"aten::\x1b{rank}"
        )
    sidecar(tmp_path / "log" / "host_3.1.kernel_event.json")
    return tmp_path / "log"


@pytest.mark.long
def test_forms(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "select row, name, elapsed_ns from ops where kind = 'operator' order by row"
    assert cli.main(["sql", str(log), text, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in result["columns"]] == ["row", "name", "elapsed_ns"]
    assert result["rows"][0][1:] == ["aten::\x1b0", None]
    assert cli.main(["sql", str(log), "select 9007199254740993 as n", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [[9007199254740993]]
    assert cli.main(["sql", str(log), text, "--csv", "--rank", "3"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert rows[0]["name"] == "aten::\x1b3"
    assert int(rows[0]["elapsed_ns"]) > 0
    assert cli.main(["sql", str(log), text, "--rows", "1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["row", "name", "elapsed_ns"]
    assert "\x1b" not in "".join(out)
    assert out[2].split()[-1] == "-"
    assert out[3] == "… and more rows than these 1: see --rows"


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sql", "--tables"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line for line in out if line and not line.startswith(" ")] == list(COLUMNS)
    assert any(line.split()[:2] == ["duration_ns", "int64"] for line in out)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["selec"], "syntax error"),
        (["copy ops to '/tmp/x'"], "not COPY"),
        ([], "sql needs PATH and QUERY"),
        (["select 1", "--rows", "0"], "above 0 is needed, not 0"),
        (["select 1", "--rank", "9"], "rank 9"),
        (["select sum(a.range + b.range) from range(9000000) a, range(9000000) b",
          "--timeout", "1"], "longer than 1 s"),
    ],
)  # fmt: skip
def test_mistakes(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert cli.main(["sql", str(log), *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
