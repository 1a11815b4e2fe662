"""A profiled run in a process of its own: writes what the tests compare.

`profile_run.py ROUTE WORKLOAD DIRECTORY`; ROUTE is "event" (ProfilerStubs) or "native" (Kineto).
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import refdevice
import torch
from torch.profiler import ProfilerActivity

route, workload, directory = sys.argv[1:]
torch.set_num_threads(1)
torch.manual_seed(0)
step = importlib.import_module(f"refdevice.workloads.{workload}").build("refdev")
for _ in range(2):
    step()
profile: Any
if route == "event":
    profile = torch.autograd.profiler.profile(use_device="refdev", use_kineto=False)
else:
    profile = torch.profiler.profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
    )
torch.refdev.synchronize()
refdevice.truth.start()
with profile:
    for _ in range(2):
        step()
    torch.refdev.synchronize()
refdevice.truth.stop()
profile.export_chrome_trace(str(Path(directory) / "trace.json"))
results = profile.kineto_results if route == "event" else profile.profiler.kineto_results
elapsed_us = {
    event.correlation_id(): event.privateuse1_elapsed_us()
    for event in results.events()
    if route == "event" and str(event.device_type()).endswith("CPU")
}
Path(directory, "run.json").write_text(
    json.dumps({"truth": refdevice.truth.columns(), "elapsed_us": elapsed_us})
)
