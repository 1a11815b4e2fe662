"""Lightning's Trainer on the reference device, with its own profiler and with our callback."""

from __future__ import annotations

from pathlib import Path

import pytest

import tb_privateuse1
from tests.support.frameworks import NET, calls, check_pages, inside, needs, steps, timeline, traces
from tests.support.on_device import device, run_python

pytestmark = [needs("lightning"), pytest.mark.long]

TRAINER = (
    NET
    + """
import lightning.pytorch as pl
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import SingleDeviceStrategy

class RefAccelerator(Accelerator):  # what a vendor's package does, at the least
    def setup_device(self, device): pass
    def teardown(self): pass
    def get_device_stats(self, device): return {}
    @staticmethod
    def parse_devices(devices): return devices
    @staticmethod
    def get_parallel_devices(devices): return [torch.device("refdev:0")]
    @staticmethod
    def auto_device_count(): return 1
    @staticmethod
    def is_available(): return True
    @staticmethod
    def name(): return "refdev"

class Module(pl.LightningModule):
    devices = set()
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, index):
        self.devices.add(str(self.device))
        if index == getattr(self, "fails_at", None):
            raise ValueError("no more")
        return self.net(batch["x"])
    def validation_step(self, batch, index):
        self.net(batch["x"])
    predict_step = validation_step
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

batches = torch.utils.data.DataLoader(Data(), batch_size=8)

def trainer(**options):
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    strategy = SingleDeviceStrategy(torch.device("refdev:0"))
    return pl.Trainer(
        accelerator=RefAccelerator(), strategy=strategy, max_epochs=1, **quiet, **options
    )
"""
)
CALLBACK = TRAINER + "from tb_privateuse1.capture.frameworks.lightning import CaptureCallback\n"


def test_its_profiler_records_with_ours(tmp_path: Path) -> None:
    """It ends its steps inside of the optimizer's range, and names a file for each function."""
    script = """
from lightning.pytorch.profilers import PyTorchProfiler
capture.install()
module = Module()
options = {"schedule": schedule(wait=1, warmup=1, active=3), "record_shapes": True}
profiler = PyTorchProfiler("theirs", "x", **options)
trainer(profiler=profiler, limit_val_batches=0).fit(module, batches)
profiler = PyTorchProfiler(on_trace_ready=log("ours"), **options)
limits = {"limit_val_batches": 5, "num_sanity_val_steps": 0}
trainer(profiler=profiler, **limits).fit(module, batches, batches)
answer["devices"] = sorted(module.devices)
"""
    done = device(tmp_path, TRAINER + script)
    assert done.answer == {"devices": ["refdev:0"]}
    (theirs,) = traces(tmp_path / "theirs")
    assert theirs.name.startswith("fit-x-")
    assert "training_step" in theirs.name
    trace = timeline(theirs)
    assert steps(trace)[-3:] == [f"ProfilerStep#{n}" for n in (2, 3, 4)]
    (run,) = tb_privateuse1.open(tmp_path / "ours").runs.runs
    assert [len(worker.spans) for worker in run.workers] == [2], "training and validation"
    training, validation = map(timeline, traces(tmp_path / "ours"))
    names = {training.text(name) for name in training.ops.name}
    assert any("training_step" in name for name in names)
    names = {validation.text(name) for name in validation.ops.name}
    assert any("validation_step" in name for name in names)


def test_the_callback_counts_steps_of_the_optimizer(tmp_path: Path) -> None:
    """Two batches each; validation, after every second step, belongs to none."""
    script = """
callback = CaptureCallback("log", wait=1, warmup=1, active=3)
trainer(
    callbacks=[callback], accumulate_grad_batches=2, limit_val_batches=3, val_check_interval=6
).fit(Module(), batches, batches)
"""
    device(tmp_path, CALLBACK + script)
    (path,) = traces(tmp_path / "log")
    trace = timeline(path)
    assert steps(trace) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert [calls(trace, "aten::tanh", n) for n in range(3)] == [2, 2, 2]
    assert [calls(trace, "Optimizer.step#SGD.step", n) for n in range(3)] == [1, 1, 1]
    start, end = trace.steps.start_ns, trace.steps.end_ns
    assert (end[:-1] <= start[1:]).all()
    assert inside(trace, "validation")
    check_pages(tmp_path / "log")


@pytest.mark.exhaustive
def test_the_callback_under_its_other_name(tmp_path: Path) -> None:
    pytest.importorskip("pytorch_lightning")
    script = (
        CALLBACK.replace("lightning.pytorch", "pytorch_lightning")
        + """
import sys
answer["modules"] = [name in sys.modules for name in ("pytorch_lightning", "lightning.pytorch")]
trainer(callbacks=[CaptureCallback("log", wait=1)], limit_val_batches=0).fit(Module(), batches)
"""
    )
    done = device(tmp_path, script)
    assert done.answer == {"modules": [True, False]}
    (path,) = traces(tmp_path / "log")
    assert steps(timeline(path)) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]


@pytest.mark.exhaustive
def test_each_process_of_a_distributed_training_records_as_its_rank(tmp_path: Path) -> None:
    """On the CPU: the reference device has no communication between its processes."""
    program = """
import torch
import lightning.pytorch as pl
from tb_privateuse1.capture.frameworks.lightning import CaptureCallback

class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 8)
    def training_step(self, batch, index):
        return self.net(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

batches = torch.utils.data.DataLoader(torch.ones(32, 8), batch_size=2)
pl.Trainer(
    accelerator="cpu", devices=2, strategy="ddp", max_steps=6, logger=False,
    enable_checkpointing=False, callbacks=[CaptureCallback("log")],
).fit(Module(), batches)
"""
    (tmp_path / "program.py").write_text(program)
    run_python(tmp_path, "program.py")
    files = traces(tmp_path / "log")
    assert sorted("_rank0." in path.name for path in files) == [False, True]
    (run,) = tb_privateuse1.open(tmp_path / "log").runs.runs
    ranks = [(worker.rank, worker.rank_source) for worker in run.workers]
    assert ranks == [(0, "metadata"), (1, "metadata")]


def test_the_callback_writes_before_an_exception_leaves(tmp_path: Path) -> None:
    script = """
module = Module()
module.fails_at = 4
try:
    trainer(callbacks=[CaptureCallback("log", wait=1, warmup=1, active=9)]).fit(module, batches)
except ValueError as error:
    answer["error"] = str(error)
predict = {"inference_mode": False}  # the reference device cannot copy to such tensors
trainer(callbacks=[CaptureCallback("predict", wait=1)], **predict).predict(Module(), batches)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    short = CaptureCallback("short", wait=99)
    trainer(callbacks=[short]).fit(Module(), batches)
answer["codes"] = [str(w.message).split()[0] for w in seen if w.category is capture.CaptureWarning]
"""
    done = device(tmp_path, CALLBACK + script)
    assert done.answer == {"error": "no more", "codes": ["[no-window]"]}
    (path,) = traces(tmp_path / "log")
    assert steps(timeline(path))[:2] == ["ProfilerStep#2", "ProfilerStep#3"]
    (path,) = traces(tmp_path / "predict")
    assert steps(timeline(path)) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
