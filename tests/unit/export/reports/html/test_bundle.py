"""Reading the script of reports: a package without it says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.export.reports.html import document
from tb_privateuse1.trace.errors import TraceError


def test_a_missing_bundle_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document.resources, "files", lambda _: tmp_path)
    with pytest.raises(TraceError, match=r"report\.js is missing") as raised:
        document._bundle("report.js")
    assert raised.value.code == "no_bundle"


def test_it_cannot_end_its_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document.resources, "files", lambda _: tmp_path)
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "report.js").write_text('x = "</script>"')
    assert document._bundle("report.js") == 'x = "<\\/script>"'


def test_a_missing_bundle_is_found_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(document.resources, "files", lambda _: tmp_path)
    assert cli.main(["report", str(tmp_path / "missing"), "-o", str(tmp_path / "r.html")]) == 2
    assert "report.js is missing" in capsys.readouterr().err
