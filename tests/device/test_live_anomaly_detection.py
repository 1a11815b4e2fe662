"""A training step on the CPU alone, with autograd's anomaly detection and without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.anomaly_detection import RULE
from tb_privateuse1.readers import chrome

SCRIPT = """
import sys
import torch
from torch.profiler import profile, schedule, tensorboard_trace_handler

torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)])
batch = torch.randn(32, 64)
log = tensorboard_trace_handler(sys.argv[1])
options = {"schedule": schedule(wait=0, warmup=2, active=4, repeat=1), "record_shapes": True}
stacks = sys.argv[3] == "stacks"
with torch.autograd.set_detect_anomaly(sys.argv[2] == "detects"):
    with profile(on_trace_ready=log, with_stack=stacks, **options) as prof:
        for _ in range(6):
            model(batch).square().mean().backward()
            prof.step()
"""


def rules(folder: Path, mode: str, stacks: str) -> list[str]:
    """Return what the rule says of a recording."""
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder), mode, stacks], check=True)
    (path,) = folder.glob("*.pt.trace.json")
    trace = inference.build_trace(chrome.read(str(path)), None)
    return [row.rule for row in advise(trace, rules=(RULE,)).rows]


@pytest.mark.parametrize("stacks", ["stacks", "plain"])
def test_anomalies_are_looked_for(tmp_path: Path, stacks: str) -> None:
    assert rules(tmp_path, "detects", stacks) == ["anomaly_detection"]


def test_anomalies_are_not_looked_for(tmp_path: Path) -> None:
    assert rules(tmp_path, "silent", "stacks") == []
