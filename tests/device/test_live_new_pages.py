"""A program on the CPU alone, whose freed memory goes back to the system, or stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tb_privateuse1 import inference
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.new_pages import RULE
from tb_privateuse1.readers import chrome

KEPT = dict(re.findall(r"(MALLOC_\w+)=(\d+)", RULE.fix))
"""Freed memory stays in the process: what the rule advises."""
SCRIPT = """
import sys
import torch
from torch.profiler import schedule
from tb_privateuse1 import capture

torch.set_num_threads(1)
first, kept = torch.randn(48 << 18), []
options = {"schedule": schedule(wait=3, warmup=1, active=3, repeat=1), "record_shapes": True}
log = capture.tensorboard_trace_handler(sys.argv[1])
with capture.profile(on_trace_ready=log, **options) as prof:
    for _ in range(7):
        second = first + 1
        third = second * first
        if sys.argv[2] == "grows":
            kept += second, third
        torch.ones(8).sum().item()
        prof.step()
"""


def rules(folder: Path, form: str, **environment: str) -> list[str]:
    """Return what the rule says of a recording."""
    usual = {key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")}
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), form], check=True, env=usual | environment
    )
    (path,) = folder.glob("*.pt.trace.json")
    trace = inference.build_trace(chrome.read(str(path)), None)
    (status,) = [one for one in advise(trace).asked if one.rule == "new_pages"]
    assert status.answer in ("found", "nothing"), status
    return [row.rule for row in advise(trace).rows if row.rule == "new_pages"]


def test_memory_that_goes_back_to_the_system(tmp_path: Path) -> None:
    assert rules(tmp_path, "sums") == ["new_pages"]


def test_memory_that_is_kept(tmp_path: Path) -> None:
    assert rules(tmp_path, "sums", **KEPT) == []


def test_memory_that_grows(tmp_path: Path) -> None:
    assert rules(tmp_path, "grows") == []
