"""The recording that the skill for agents shows is made, and its steps are in it."""

from __future__ import annotations

import re
from pathlib import Path

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.server.agents import reference
from tests.support.on_device import run_python

LOOP = """
import torch
model = torch.nn.Linear(16, 4)
loader = [torch.ones(8, 16) for _ in range(14)]
def train(batch):
    model(batch).sum().backward()
"""


def test_the_program_of_the_skill_records_steps(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", reference.skill(), re.MULTILINE | re.DOTALL)
    run_python(tmp_path, "-c", LOOP + block)
    (path,) = (tmp_path / "log").glob("*.pt.trace.json")
    assert len(inference.build_trace(chrome.read(str(path)), None).steps) == 5
