"""The scripts as a user starts them: with our capture, from the command line."""

import gzip
import json

import pytest


def trace_and_truth(directory, suffix=""):
    [trace] = directory.glob(f"*{suffix}.*.pt.trace.json")
    [truth] = directory.glob(f"truth{suffix}.json.gz")
    return json.loads(trace.read_text()), json.loads(gzip.decompress(truth.read_bytes()))


def operators(trace):
    return {
        event["args"]["External id"]: event["name"]
        for event in trace["traceEvents"]
        if event.get("cat") == "cpu_op"
    }


@pytest.mark.parametrize("name", ["mlp", "inference"])
def test_script_writes_trace_and_truth(python, tmp_path, name):
    python(
        *("-m", f"refdevice.workloads.{name}", "--out", str(tmp_path), "--steps", "2", "--truth"),
        *("--worker-name", "w", "--set", "speed=2.0", "--set", "elapsed_kind=kernel_sum"),
    )
    trace, truth = trace_and_truth(tmp_path)
    assert truth["config"]["speed"] == 2.0
    assert truth["config"]["elapsed_kind"] == "kernel_sum"
    assert len(list(tmp_path.glob("w.*.kernel_event.json"))) == 1
    steps = [event for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
    assert len(steps) == 2
    recorded = [external_id for external_id in truth["external_id"] if external_id]
    assert recorded
    assert set(recorded) <= set(operators(trace))


def test_script_on_the_cpu(python, tmp_path):
    python(
        *("-m", "refdevice.workloads.mha", "--out", str(tmp_path)),
        *("--device", "cpu", "--steps", "1", "--gzip"),
    )
    assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == 1


@pytest.mark.exhaustive
def test_two_ranks(python, tmp_path):
    python(
        *("-m", "refdevice.workloads.ddp", "--out", str(tmp_path), "--steps", "2", "--truth"),
    )
    for rank in (0, 1):
        trace, truth = trace_and_truth(tmp_path, f"-rank{rank}")
        assert trace["distributedInfo"]["rank"] == rank
        assert trace["distributedInfo"]["world_size"] == 2
        assert set(truth["device"]) == {rank}
        assert any("allreduce" in event["name"] for event in trace["traceEvents"])
