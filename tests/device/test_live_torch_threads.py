"""A program on the CPU alone, with as many threads as processors and with more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.capture.torch_threads import torch_threads
from tb_privateuse1.readers import chrome

SCRIPT = """
import sys
import torch
from torch.profiler import schedule
from tb_privateuse1 import capture

torch.set_num_threads(int(sys.argv[2]))
model = torch.nn.Linear(512, 512)
batch = torch.randn(512, 512)
options = {"schedule": schedule(wait=0, warmup=2, active=4, repeat=1), "record_shapes": True}
log = capture.tensorboard_trace_handler(sys.argv[1])
with torch.no_grad(), capture.profile(on_trace_ready=log, **options) as prof:
    for _ in range(6):
        model(batch)
        prof.step()
"""


def rules(folder: Path, threads: int) -> list[str]:
    """Return what the rule says of a recording with a number of threads."""
    subprocess.run([sys.executable, "-c", SCRIPT, str(folder), str(threads)], check=True)
    (path,) = folder.glob("*.pt.trace.json")
    trace = inference.build_trace(chrome.read(str(path)), None)
    assert f'"intra_op":{threads}' in "".join(map(trace.text, trace.metadata.value.tolist()))
    return [row.rule for row in advise(trace).rows if row.rule == "torch_threads"]


def test_as_many_threads_as_processors(tmp_path: Path) -> None:
    assert rules(tmp_path, torch_threads(None)["processors"]) == []


def test_more_threads_than_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert rules(tmp_path, torch_threads(None)["processors"] + 1) == ["torch_threads"]
