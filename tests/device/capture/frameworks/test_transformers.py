"""The Trainer of transformers on the reference device, and Accelerate below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.frameworks import NET, calls, check_pages, inside, needs, steps, timeline, traces
from tests.support.on_device import device

pytestmark = pytest.mark.long

DEVICE = {"ACCELERATE_TORCH_DEVICE": "refdev:0"}
"""Accelerate chooses among the devices that it knows, unless one is named."""

TRAINER = (
    NET
    + """
import transformers
from tb_privateuse1.capture.frameworks.transformers import CaptureCallback

def trainer(callback, net=None, **options):
    given = {"save_strategy": "no", "report_to": [], "disable_tqdm": True, "logging_steps": 1000}
    options = {"dataloader_pin_memory": False, "per_device_train_batch_size": 4, **given, **options}
    arguments = transformers.TrainingArguments(output_dir="out", max_steps=8, **options)
    return transformers.Trainer(
        net or Net(), arguments, train_dataset=Data(), eval_dataset=Data(16), callbacks=[callback]
    )
"""
)


@needs("transformers")
@needs("accelerate")
def test_the_callback_counts_steps_of_the_optimizer(tmp_path: Path) -> None:
    """Two batches each; evaluation, after every third step, belongs to none."""
    script = """
one = trainer(
    CaptureCallback("log", wait=1, warmup=1, active=3), gradient_accumulation_steps=2,
    eval_strategy="steps", eval_steps=3, prediction_loss_only=True,
)
one.train()
answer["device"] = str(next(one.model.parameters()).device)
"""
    done = device(tmp_path, TRAINER + script, **DEVICE)
    assert done.answer == {"device": "refdev:0"}
    (path,) = traces(tmp_path / "log")
    trace = timeline(path)
    assert steps(trace) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert [calls(trace, "aten::tanh", n) for n in range(3)] == [2, 2, 2]
    start, end = trace.steps.start_ns, trace.steps.end_ns
    assert (end[:-1] <= start[1:]).all()
    assert inside(trace, "evaluation")
    check_pages(tmp_path / "log")


@needs("transformers")
@needs("accelerate")
def test_what_an_exception_ended_is_written_later(tmp_path: Path) -> None:
    """With the next training, or at the end of the process; the exception is the program's."""
    script = """
class Fails(Net):
    def forward(self, x=None):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls > 5:
            raise ValueError("no more")
        return super().forward(x)

for name in ("first", "second"):
    try:
        trainer(CaptureCallback(name, wait=1, warmup=1, active=9), Fails()).train()
    except ValueError as error:
        answer[name] = str(error)
"""
    done = device(tmp_path, TRAINER + script, **DEVICE)
    assert done.answer == {"first": "no more", "second": "no more"}
    for name in ("first", "second"):
        (path,) = traces(tmp_path / name)
        assert steps(timeline(path))[0] == "ProfilerStep#2"


@needs("accelerate")
def test_accelerate_records_with_ours(tmp_path: Path) -> None:
    """Both ways of it: a handler by schedule, and one file in the end."""
    script = """
from accelerate import Accelerator
from accelerate.utils import ProfileKwargs

capture.install()
accelerator = Accelerator(gradient_accumulation_steps=2)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batches = torch.utils.data.DataLoader(Data(), batch_size=4)
net, optimizer, batches = accelerator.prepare(net, optimizer, batches)
answer["device"] = str(accelerator.device)

def run(**options):
    wanted = ProfileKwargs(activities=["cpu"], record_shapes=True, **options)
    with accelerator.profile(wanted) as prof:
        for _, batch in zip(range(10), batches):
            with accelerator.accumulate(net):
                accelerator.backward(net(**batch)["loss"])
                optimizer.step()
                optimizer.zero_grad()
            prof.step()
    return prof

handler = torch.profiler.tensorboard_trace_handler("handler", use_gzip=True)
plan = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2}
prof = run(schedule_option=plan, on_trace_ready=handler)
answer["codes"] = codes(prof)
run(output_trace_dir="whole")
"""
    done = device(tmp_path, NET + script, **DEVICE)
    assert done.answer == {"device": "refdev:0", "codes": ["device-activity-added"]}
    assert len(traces(tmp_path / "handler")) == 2
    for path in traces(tmp_path / "handler"):
        assert len(steps(timeline(path))) == 2
    (whole,) = traces(tmp_path / "whole")
    assert whole.name == "profile_0.json"
    assert len(timeline(whole).kernels) > 100
    check_pages(tmp_path / "handler")
