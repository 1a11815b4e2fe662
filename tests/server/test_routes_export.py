"""Downloads: sent as they come into being, with a name, and nothing is stored in the logdir."""

from __future__ import annotations

import ast
import contextlib
import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tests.server.test_routes import BASE, problem
from tests.support.make import document, op
from tests.support.perfetto_file import parse


@pytest.fixture(scope="module")
def client(logdir: Path, cache: Path) -> Iterator[Client]:
    scan = Scanner(str(logdir), READERS, interval_s=0)
    yield Client(Routes(scan, Store(jobs=0, cache_dir=cache)))
    scan.close()


def test_every_format(client: Client, logdir: Path) -> None:
    before = sorted(logdir.rglob("*"))
    answer = client.get(BASE + "export?format=perfetto&run=mlp")
    assert answer.status_code == 200
    assert answer.content_type == "application/gzip"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    disposition = answer.headers["Content-Disposition"]
    assert disposition.startswith("attachment; filename=")
    assert disposition.endswith(".perfetto-trace.gz")
    whole = parse(gzip.decompress(answer.data))
    assert whole.slices
    part = client.get(BASE + "export?format=perfetto&run=mlp&start_ns=0&end_ns=1000")
    assert len(parse(gzip.decompress(part.data)).slices) < len(whole.slices)
    chrome = client.get(BASE + "export?format=chrome&run=mlp")
    assert json.loads(gzip.decompress(chrome.data))["traceEvents"]
    for form in ("parquet", "csv"):
        answer = client.get(BASE + f"export?format={form}&run=mlp")
        with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
            assert f"ops.{form}" in archive.namelist()
    assert sorted(logdir.rglob("*")) == before


def test_an_operator_as_a_script(tmp_path: Path) -> None:
    typed: dict[str, Any] = {"Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"]}
    events = (op("aten::mm", 0, 9, **typed), op("MmBackward0", 10, 19, **typed))
    (tmp_path / "h_1.pt.trace.json").write_text(json.dumps(document(*events)))
    with contextlib.closing(Scanner(str(tmp_path), READERS, interval_s=0)) as scan:
        client = Client(Routes(scan, Store(jobs=0)))
        answer = client.get(BASE + "operator_script?row=0")
        assert answer.content_type == "text/x-python; charset=utf-8"
        assert "aten_mm.py" in answer.headers["Content-Disposition"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        ast.parse(answer.text)
        refused = client.get(BASE + "operator_script?row=1")
        assert "cannot run alone" in problem(refused, 422, "not_runnable")
        problem(client.get(BASE + "operator_script"), 400, "bad_option")
        problem(client.get(BASE + "operator_script?row=2"), 400, "bad_option")


def test_mistakes(client: Client) -> None:
    assert "format is missing" in problem(client.get(BASE + "export"), 400, "bad_option")
    answer = client.get(BASE + "export?format=xml")
    assert "chrome, perfetto" in problem(answer, 400, "bad_option")
    answer = client.get(BASE + "export?format=csv&start_ns=5&end_ns=5")
    problem(answer, 400, "bad_option")
    problem(client.get(BASE + "export?format=csv&path=/etc/passwd"), 400, "unknown_option")
    problem(client.get(BASE + "export?format=csv&run=../x"), 404, "unknown_run")
    unreadable = client.get(BASE + "export?format=chrome&run=unreadable")
    assert unreadable.status_code == 422
    assert client.post(BASE + "export?format=csv").status_code == 405


def test_head_has_no_body(client: Client) -> None:
    answer = client.head(BASE + "export?format=csv&run=mlp")
    assert (answer.status_code, answer.data) == (200, b"")
