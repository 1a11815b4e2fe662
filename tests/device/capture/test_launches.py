"""When the host launched, where the backend tells, and what its allocator did."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tb_privateuse1 import inference
from tb_privateuse1.inference.device_timeline.self_test import inside_capture
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.sidecar import read_sidecar
from tests.support.capture import read
from tests.support.on_device import device

TRAIN = """
refdevice.truth.start()
prof = train(on_trace_ready=log("log"), schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
             steps=3)
refdevice.truth.stop()
truth = refdevice.truth.columns()
answer["codes"] = codes(prof)
answer["launch_ns"], answer["id"] = truth["launch_ns"], truth["external_id"]
answer["start_ns"] = truth["start_ns"]
"""


def test_launches_are_recorded_and_become_the_kernels_of_their_operators(tmp_path: Path) -> None:
    done = device(tmp_path, TRAIN)
    assert done.answer["codes"] == []
    launches = read(done.sidecars("log")[0])["launches"]
    assert {len(column) for column in launches.values()} == {len(launches["host_ns"])}
    assert set(launches["host_ns"]) <= set(done.answer["launch_ns"])
    assert set(launches["device"]) == set(launches["stream"]) == {0}

    sidecar = read_sidecar(str(done.sidecars("log")[0]))
    raw = chrome.read(str(done.traces("log")[0]))
    trace = inference.build_trace(raw, sidecar)
    # What the capture plants behind the window is none of the run's; 0 is outside of operators.
    inside = inside_capture(trace.ops, Strings(trace.strings))
    planted = {0, *trace.ops.external_id[inside].tolist()}
    launched = {
        number: start - trace.base_ns
        for number, start, launch in zip(
            done.answer["id"], done.answer["start_ns"], done.answer["launch_ns"], strict=True
        )
        if launch >= trace.base_ns and number not in planted
    }
    kernels = trace.kernels
    ids = trace.ops.external_id[kernels.op].tolist()
    assert sorted(ids) == sorted(launched)
    error = np.abs(kernels.start_ns - np.array([launched[i] for i in ids]))
    assert (error <= kernels.start_bound_ns).mean() >= 0.95


def test_a_launch_log_that_fails_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        def fail():
            raise RuntimeError("no log")
        torch.refdev.stop_launch_log = fail
        answer["codes"] = codes(train(on_trace_ready=log("log")))
        """,
    )
    assert done.answer["codes"] == ["launches-failed"]
    assert read(done.sidecars("log")[0])["launches"] is None


def test_allocator_events_are_recorded_unless_they_are_refused(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        train(on_trace_ready=log("default"))
        train(on_trace_ready=log("without"), profile_memory=False)
        """,
    )
    counts = [
        sum(event["name"] == "[memory]" for event in read(done.traces(run)[0])["traceEvents"])
        for run in ("default", "without")
    ]
    assert counts[0] > 0 == counts[1]
