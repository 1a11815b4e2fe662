"""Files of any name beside a trace: each goes to its own reader."""

from __future__ import annotations

import json
from pathlib import Path

from tb_privateuse1.readers import chrome, companions
from tests.support import execution_traces, make
from tests.support.compile_logs import metrics, region
from tests.support.execution_traces import node, tensor


def test_each_file_goes_to_its_reader(tmp_path: Path) -> None:
    operator = make.op("aten::mm", 20, 30, **{"Record function id": 3})
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps(make.document(region("0/0", 0, 10), operator)))
    raw = chrome.read(str(path))
    log, nodes = tmp_path / "a.log", tmp_path / "et.json"
    log.write_text(metrics())
    nodes.write_text(execution_traces.text(node(3, "aten::mm", [tensor(7, 2, 3)]), pid=1))
    assert len(companions.add(raw, str(log)).compile_logs) == 1
    assert len(companions.add(raw, str(nodes)).tensors) == 1
