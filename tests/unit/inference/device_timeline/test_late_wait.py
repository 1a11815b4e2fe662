"""A recording on busy cores: two waits for the device returned 0.2 and 105 ms too late.

Taken from the reference device (mlp), less what the inference does not read; ``truth.json.gz``
is the device's own log.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import MISSING

FOLDER = Path(__file__).parents[3] / "traces" / "late_wait"


def test_a_wait_that_returned_late_does_not_cost_the_timeline() -> None:
    sidecar = readers_sidecar.read_sidecar(str(FOLDER / "refdev.1.kernel_event.json.gz"))
    trace = inference.build_trace(chrome.read(str(FOLDER / "refdev.1.pt.trace.json.gz")), sidecar)
    truth = json.loads(gzip.decompress((FOLDER / "truth.json.gz").read_bytes()))
    assert trace.meta.timeline == "inferred"
    launched = trace.ops.external_id[trace.kernels.op].tolist()
    assert set(launched) >= set(truth["external_id"])
    row = np.array([launched.index(i) for i in truth["external_id"]])
    error = np.abs(trace.kernels.start_ns[row] + trace.base_ns - np.array(truth["start_ns"]))
    bound = trace.kernels.start_bound_ns[row]
    assert (bound != MISSING).all()
    assert np.median(error) < 10_000
    assert (error <= bound).mean() > 0.9
