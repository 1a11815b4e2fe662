"""Frameworks too large to install: their own profiling functions, on the reference device.

Of torchtitan and verl the function itself runs, where the package is installed without what it
depends on (``pip install --no-deps torchtitan verl``). vLLM has no small package: its calls are
those of vLLM 0.33, ``vllm/profiler/wrapper.py``.
"""

from __future__ import annotations

from pathlib import Path

import tb_privateuse1
from tests.support.frameworks import needs, steps, timeline, traces
from tests.support.on_device import device

PRELUDE = """
import importlib.util, os, sys, types
capture.install()

def bare(name):  # the package without what its __init__ imports
    found = importlib.util.find_spec(name)
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = list(found.submodule_search_locations)
    return sys.modules[name]

def stub(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)

net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()).to("refdev")

def work():
    net(torch.ones(8, 64, device="refdev")).sum().backward()
"""


@needs("torchtitan")
def test_torchtitan(tmp_path: Path) -> None:
    """It counts steps on from those of the checkpoint, and has a folder for each window."""
    script = """
bare("torchtitan")
config = bare("torchtitan.config")
stub("tyro", conf=types.SimpleNamespace(Suppress=None))
from torchtitan.config.configurable import Configurable
from torchtitan.config.function import Function
config.Configurable, config.Function = Configurable, Function
from torchtitan.tools.profiler import Profiler

store = torch.distributed.FileStore("store", 1)
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
wanted = Profiler.Config(
    enable_profiling=True, profile_freq=5, profiler_warmup=1, profiler_active=2
)
with Profiler(wanted, global_step=10, base_folder="titan") as profiler:
    for _ in range(12):
        work()
        profiler.step()
answer["profiler"] = type(profiler.torch_profiler).__name__
torch.distributed.destroy_process_group()
"""
    device(tmp_path, PRELUDE + script)
    files = traces(tmp_path / "titan")
    assert [path.name for path in files] == ["rank0_trace.json.gz"] * 2
    assert [path.parent.name for path in files] == ["iteration_15", "iteration_20"]
    assert steps(timeline(files[0])) == ["ProfilerStep#13", "ProfilerStep#14"]
    runs = tb_privateuse1.open(tmp_path / "titan").runs.runs
    sources = {(worker.rank, worker.rank_source) for run in runs for worker in run.workers}
    assert sources == {(0, "metadata")}


@needs("verl")
def test_verl(tmp_path: Path) -> None:
    """It writes no names of steps, and ends a window early where the mini-batches end."""
    script = """
for name in ("verl", "verl.utils", "verl.utils.profiler"):
    bare(name)
stub("verl.utils.profiler.config", ProfilerConfig=object, TorchProfilerToolConfig=object)
stub("verl.utils.profiler.profile", DistProfiler=object)
from verl.utils.profiler.torch_profile import Profiler, get_torch_profiler

whole = get_torch_profiler(["cuda", "shapes"], "verl", role="actor", rank=0, profile_step=3)
with whole:
    work()
plan = {"skip_first": 0, "wait": 1, "warmup": 1, "active": 4, "repeat": 1}
part = get_torch_profiler([], "verl", role="update", schedule=plan, name_mini_batch_window=True)
part.start()
for _ in range(4):
    work()
    part.step()
Profiler._flush_partial_window(part)
part.stop()
answer["codes"] = codes(whole)
"""
    done = device(tmp_path, PRELUDE + script)
    assert done.answer == {"codes": ["device-activity-added"]}
    actor, update = traces(tmp_path / "verl")
    assert "actor_step3_rank0" in actor.name
    assert update.name.endswith("_mb2-3.json.gz")
    for path in (actor, update):
        assert not any(name.startswith("ProfilerStep#") for name in steps(timeline(path)))


def test_vllm(tmp_path: Path) -> None:
    """A profiler for each request to profile, a handler that is imported before, a table."""
    script = """
def start(name):
    prof = torch.profiler.profile(
        activities=[A.CPU, A.CUDA], schedule=None, record_shapes=False, profile_memory=False,
        with_stack=True, with_flops=False,
        on_trace_ready=torch.profiler.tensorboard_trace_handler(
            "vllm", worker_name=name, use_gzip=True
        ),
    )
    prof.start()
    prof.add_metadata_json("vllm_version", '"0.33.0"')
    return prof

for request in range(2):
    prof = start("dp0_pp0_tp0_dcp0_ep0_rank0")
    work()
    prof.stop()
table = prof.key_averages().table(sort_by="self_device_time_total")
answer["table"] = "aten::addmm" in table

class Layerwise(torch.profiler.profile):  # vllm/profiler/layerwise_profile.py
    pass

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        with Layerwise(activities=[A.CPU]):
            work()
answer["codes"] = [str(w.message).split()[0] for w in seen if w.category is capture.CaptureWarning]
"""
    done = device(tmp_path, PRELUDE + script)
    assert done.answer == {"table": True, "codes": ["[subclass]"]}
    assert len(traces(tmp_path / "vllm")) == 2
    for path in traces(tmp_path / "vllm"):
        assert len(timeline(path).kernels) > 0
    (run,) = tb_privateuse1.open(tmp_path / "vllm").runs.runs
    assert [(worker.rank, len(worker.spans)) for worker in run.workers] == [(0, 2)]


def test_a_profiler_as_a_default_argument(tmp_path: Path) -> None:
    """The class was bound long before ``install``."""
    script = """
capture.uninstall()
from torch.profiler import profile

def record(make=profile, **options):
    with make(**options) as prof:
        work()
    return prof

before = type(record(activities=[A.CPU])).__name__
capture.install()
prof = record(activities=[A.CPU, A.CUDA])
answer |= {"ours": isinstance(prof, capture.profile), "route": prof.route, "before": before}
"""
    done = device(tmp_path, PRELUDE + script)
    assert done.answer == {"ours": True, "route": "events", "before": "profile"}
