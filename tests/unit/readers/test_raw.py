"""The processes of one rank in a merged file."""

import json
from pathlib import Path

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tests.support.make import document, kernel, launch, memory, op


def test_each_rank_of_a_merged_file_has_its_own_links(tmp_path: Path) -> None:
    one = [op("aten::mm", 0, 9, id=1), launch(2, 3, 1), kernel("gemm", 5, 8, 1), memory(1, 64, 64)]
    other = [op("aten::relu", 0, 9, id=1), launch(2, 3, 1), kernel("relu", 5, 9, 1)]
    events = [
        {**event, "pid": f"[{label}] {event['pid']}"}
        for label, own in (("TP00", one), ("TP01", other))
        for event in own
    ]
    path = tmp_path / "merged.json"
    path.write_text(json.dumps(document(*events, distributedInfo={"rank": 0, "world_size": 2})))
    raw = chrome.read(str(path))
    trace = inference.build_trace(raw.of_processes("[TP01]"), None, rank=1)
    assert [trace.text(name) for name in trace.ops.name] == ["aten::relu"]
    assert [trace.text(name) for name in trace.kernels.name] == ["relu"]
    assert trace.kernels.op.tolist() == [0]
    assert len(trace.memory) == 0
    assert (trace.meta.rank, trace.meta.world_size) == (1, 2)
    assert {trace.text(pid) for pid in trace.threads.pid[trace.ops.thread]} == {"1"}
