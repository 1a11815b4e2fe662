"""On which streams the events of an operator were recorded, where the backend tells."""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1 import capture
from tests.support.capture import read
from tests.support.on_device import device


def test_streams_of_the_events_are_told(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        side = torch.refdev.Stream()
        with capture.profile(on_trace_ready=log("log")) as prof:
            x = torch.ones(8, device="refdev")
            with torch.profiler.record_function("across"):
                torch.refdev.set_stream(side)
            x + 1
        answer["side"] = side.stream_id
        """,
    )
    sidecar, trace = read(done.sidecars("log")[0]), read(done.traces("log")[0])
    names = {
        event["args"]["External id"]: event["name"]
        for event in trace["traceEvents"]
        if "External id" in event.get("args", {})
    }
    stream = {
        names.get(i): s for i, s in zip(sidecar["external_id"], sidecar["stream"], strict=True)
    }
    assert set(sidecar["device"]) == {0}
    assert stream["aten::ones"] == stream[capture.WINDOW_START] == 0
    assert stream["aten::add"] == stream[capture.WINDOW_END] != 0
    assert stream["across"] is None
