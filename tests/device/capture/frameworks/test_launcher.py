"""Programs with frameworks under ``python -m tb_privateuse1.capture``, without a change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tb_privateuse1
from tests.device.capture.frameworks.test_lightning import TRAINER as LIGHTNING
from tests.device.capture.frameworks.test_transformers import DEVICE
from tests.device.capture.frameworks.test_transformers import TRAINER as TRANSFORMERS
from tests.support.frameworks import NET, calls, needs, steps, timeline, traces
from tests.support.on_device import record_program, run_python

pytestmark = pytest.mark.long

PROGRAMS = {
    "lightning": LIGHTNING
    + """
trainer(accumulate_grad_batches=2, limit_val_batches=2).fit(Module(), batches, batches)
""",
    "transformers": TRANSFORMERS
    + """
trainer(transformers.TrainerCallback(), gradient_accumulation_steps=2).train()
""",
    "accelerate": NET
    + """
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=2)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batches = torch.utils.data.DataLoader(Data(), batch_size=8)
net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
for batch in batches:
    with accelerator.accumulate(net):
        accelerator.backward(net(**batch)["loss"])
        optimizer.step()
        optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in PROGRAMS])
def test_steps_are_those_of_the_optimizer(tmp_path: Path, name: str) -> None:
    """Each with the two batches whose gradients it accumulates."""
    program = "import refdevice, torch\n" + PROGRAMS[name]
    record_program(tmp_path, program, "--wait", "1", "--active", "2", **DEVICE)
    (path,) = traces(tmp_path / "log")
    trace = timeline(path)
    assert steps(trace) == ["ProfilerStep#2", "ProfilerStep#3"]
    assert [calls(trace, "aten::tanh", n) for n in range(2)] == [2, 2]


def test_each_process_of_torchrun_records_as_its_rank(tmp_path: Path) -> None:
    program = """
import refdevice, torch
net = torch.nn.Linear(8, 8).to("refdev")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    net(torch.ones(8, 8, device="refdev")).sum().backward()
    optimizer.step()
"""
    (tmp_path / "program.py").write_text(program)
    ours = ["--no-python", sys.executable, "-m", "tb_privateuse1.capture", "program.py"]
    run_python(tmp_path, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *ours)
    (run,) = tb_privateuse1.open(tmp_path / "log").runs.runs
    assert [(worker.rank, worker.rank_source) for worker in run.workers] == [
        (0, "metadata"),
        (1, "metadata"),
    ]
    for path in traces(tmp_path / "log"):
        assert len(steps(timeline(path))) == 3
