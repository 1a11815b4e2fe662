"""``cache`` on the command line: the size of the caches, and their removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.storage import cache_directory
from tests.support.trace_files import trace


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))
    for span in (1, 2):
        trace(tmp_path / "log" / "r" / f"host_1.{span}.pt.trace.json")
    return tmp_path / "log"


@pytest.mark.long
def test_info_and_clear(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cache"
    assert cli.main(["cache", "info"]) == 0
    assert capsys.readouterr().out == (
        f"{folder}\n  0 traces, 0 B of at most 20.0 GB\n  0 parts of ranks, 0 B of at most 1.0 GB\n"
    )
    for span in ("1", "2"):
        assert cli.main(["view", "overview", str(log), "--span", span]) == 0
    other = folder / "notes.txt"
    other.write_text("not ours")
    capsys.readouterr()
    assert cli.main(["cache", "info", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    held = sum(path.stat().st_size for path in folder.glob("*.arrow"))
    assert (found["directory"], found["traces"], found["bytes"]) == (str(folder), 2, held)
    assert 0 < found["limit_bytes"] <= cache_directory.LIMIT_BYTES
    assert cli.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith(f"{folder}\n  0 traces, 0 B of at most ")
    assert list(folder.iterdir()) == [other]


@pytest.mark.long
def test_caches_beside_runs(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", cache_directory.BESIDE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.platform", "linux")
    assert cli.main(["ingest", str(log)]) == 0
    capsys.readouterr()
    assert cli.main(["cache", "info", str(log), "--json"]) == 0
    found = {use["directory"]: use["traces"] for use in json.loads(capsys.readouterr().out)}
    assert found == {str(tmp_path / "home/tb_privateuse1"): 0, str(log / "r/.tb_privateuse1"): 2}
    assert cli.main(["cache", "clear", str(log)]) == 0
    assert list((log / "r/.tb_privateuse1").iterdir()) == []


def test_bad_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "file"))
    for arguments in (["info"], ["clear"], ["shrink"], ["info", str(tmp_path / "nowhere")]):
        assert cli.main(["cache", *arguments]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
