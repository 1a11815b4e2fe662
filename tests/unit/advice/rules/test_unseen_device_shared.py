"""Real recordings of devices without the device's events, beside the whole ones."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.idle.host_side import host_side
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.replayed_part import replayed_part
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support.read_traces import trace_of
from tests.support.shared_traces import FOLDER, load, needs_traces

_DEVICE = {
    "kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "gpu_user_annotation", "ac2g",
    "async_gpu", "async_cpu", "overhead",
}  # fmt: skip
_CALLS = {"cuda_runtime", "cuda_driver", "runtime"}
_LAUNCHING = (
    "cuda/h100_bert", "cuda/h100_nsfw_vit", "cuda/h100_timesformer", "cuda/v100_resnet50_workers0",
    "cuda/nccl_ddp", "cuda/two_ranks_of_128", "rocm/mi300_bert",
)  # fmt: skip
"""The host limits them: nothing would be gained by kernels that take no time, or little."""
_BUSY = ("cuda/h100_qwen", "rocm/mi300_resnet_ddp")
"""The device is busy nine tenths of the time."""


def _stripped(name: str, folder: Path, *, calls: bool) -> Trace:
    """Return a shared recording without events of the device, and of its runtime."""
    (path,) = sorted((FOLDER / name).glob("*.json*"))[:1]
    raw = path.read_bytes()
    content = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    gone = _DEVICE if calls else _DEVICE | _CALLS
    content["traceEvents"] = [
        one for one in content["traceEvents"] if str(one.get("cat", "")).lower() not in gone
    ]
    if not calls:
        content.pop("deviceProperties", None)
    target = folder / "rank0.1.pt.trace.json"
    target.write_text(json.dumps(content))
    return trace_of(target)


def _gain_without_kernels(trace: Trace) -> float:
    """Return what the whole recording gains if its kernels take no time, as a share."""
    case = RuleContext(trace)
    scope = case.without(kernels=np.arange(len(trace.kernels)))
    (gain,) = replayed_part(trace, case.part).gains([(Change("finding", "all", 0.0, scope),)])
    return gain * max(len(case.steps), 1) / case.window_ns


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("name", [*_LAUNCHING, *_BUSY])
def test_what_is_said_of_the_host_is_true_of_the_whole(
    name: str, calls: bool, tmp_path: Path
) -> None:
    trace = _stripped(name, tmp_path, calls=calls)
    advice = advise(trace)
    assert [row.rule for row in advice.rows if row.saving_ns] == []
    titles = defaultdict(list)
    for row in advice.rows:
        titles[row.rule].append(row.title)
    is_own = any("host is at work itself" in title for title in titles["unseen_device"])
    assert is_own <= (name in _LAUNCHING)
    if name in _LAUNCHING and calls:
        assert is_own
    if is_own:
        found = host_side(trace, (case := RuleContext(trace)).window)
        assert found is not None
        own = case.share(intervals.length(found.own))
        (path,) = sorted((FOLDER / name).glob("*.json*"))[:1]
        assert _gain_without_kernels(load(path)) <= 1 - own + 0.01
