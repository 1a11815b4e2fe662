"""When the device came to the ends of steps, on each stream, and what the timeline makes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.sidecar import read_sidecar
from tb_privateuse1.trace.model import MISSING
from tests.support.capture import read
from tests.support.on_device import Done, device

TRAIN = """
refdevice.truth.start()
side = torch.refdev.Stream()
left, right = (torch.randn(192, 192).to("refdev") for _ in range(2))
steps = schedule(wait=0, warmup=1, active=4, repeat=1)
with capture.profile(on_trace_ready=log("log"), schedule=steps) as prof:
    for _ in range(5):
        with torch.refdev.stream(side):
            for _ in range(6):
                right = torch.tanh(right @ right)
        for _ in range(6):
            left = torch.tanh(left @ left)
        prof.step()
refdevice.truth.stop()
truth = refdevice.truth.columns()
answer["codes"] = codes(prof)
for name in ("start_ns", "end_ns", "external_id", "stream"):
    answer[name] = truth[name]
"""


_TRIES = 5


def recorded_with_markers(folder: Path) -> Done:
    """Record until the clocks fit: where others hold the host up, it writes no markers.

    The device is slow, so that it is behind at the ends of steps however busy the host is.
    """
    for attempt in range(_TRIES):
        (folder / str(attempt)).mkdir()
        done = device(folder / str(attempt), TRAIN, REFDEVICE_SPEED="0.25")
        assert done.answer["codes"] == []
        if read(done.sidecars("log")[0])["markers"] is not None:
            return done
    raise AssertionError(f"the clocks did not fit in any of {_TRIES} recordings")


def test_markers_tell_when_each_stream_came_to_the_end_of_a_step(tmp_path: Path) -> None:
    done = recorded_with_markers(tmp_path)
    markers = read(done.sidecars("log")[0])["markers"]
    assert sorted(set(markers["stream"])) == sorted(set(done.answer["stream"]))
    assert len(markers["host_ns"]) == 4 * len(set(markers["stream"]))
    late = np.array(markers["done_ns"]) - np.array(markers["host_ns"])
    assert (late >= -np.array(markers["bound_ns"])).all()
    assert (late > 1_000_000).any(), "the device is behind at some of them"

    # Times of all events would tell it without markers.
    sidecar = replace(read_sidecar(str(done.sidecars("log")[0])), first_ns=None)
    raw = chrome.read(str(done.traces("log")[0]))
    errors, bounds = [], []
    for markers in (None, sidecar.markers):
        trace = inference.build_trace(raw, replace(sidecar, markers=markers, first_ns=None))
        start = dict(zip(done.answer["external_id"], done.answer["start_ns"], strict=True))
        kernels = trace.kernels.take(trace.kernels.op >= 0)
        ids = trace.ops.external_id[kernels.op].tolist()
        true = np.array([start[i] - trace.base_ns for i in ids])
        errors.append(np.abs(kernels.start_ns - true))
        bounds.append(kernels.start_bound_ns)
    assert (bounds[1] != MISSING).all()
    assert (errors[1] <= bounds[1]).mean() >= 0.95
    assert np.percentile(errors[1], 95) < 100_000 < np.percentile(errors[0], 95)


def test_a_backend_whose_events_have_no_time_is_recorded_without_markers(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        def fail():
            raise RuntimeError("no streams")
        torch.refdev.marker_streams = fail
        answer["codes"] = codes(train(on_trace_ready=log("log")))
        """,
    )
    assert done.answer["codes"] == ["markers-failed"]
    assert read(done.sidecars("log")[0])["markers"] is None
