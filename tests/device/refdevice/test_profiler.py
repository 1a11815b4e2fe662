"""What torch's profiler makes of the device, against the log of what the device did."""

import json
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import refdevice
import torch

RUN = str(Path(__file__).parents[2] / "support" / "profile_run.py")
NATIVE = {"REFDEVICE_KINETO": "1"}


class Run:
    """A profiled run, with times in absolute ns."""

    def __init__(self, directory: Path) -> None:
        run = json.loads((directory / "run.json").read_text())
        # A double has not the digits for nanoseconds months after the base time.
        trace = json.loads((directory / "trace.json").read_text(), parse_float=Decimal)
        self.truth = run["truth"]
        self.elapsed_us = {int(key): value for key, value in run["elapsed_us"].items()}
        self.events = trace["traceEvents"]
        self.properties = trace["deviceProperties"]
        self.base_ns = trace["baseTimeNanoseconds"]
        self.operators = {
            event["args"]["External id"]: event for event in self.of("cpu_op", "user_annotation")
        }

    def of(self, *categories):
        return [
            event for event in self.events if event.get("cat") in categories and event["ph"] == "X"
        ]

    def start(self, event):
        return round(event["ts"] * 1000) + self.base_ns

    def end(self, event):
        return self.start(event) + round(event["dur"] * 1000)


@pytest.fixture(scope="module")
def event_run(python, tmp_path_factory):
    directory = tmp_path_factory.mktemp("event")
    python(RUN, "event", "mlp", str(directory))
    return Run(directory)


@pytest.fixture(scope="module")
def native_run(python, tmp_path_factory):
    directory = tmp_path_factory.mktemp("native")
    python(RUN, "native", "streams", str(directory), **NATIVE)
    return Run(directory)


@pytest.mark.parametrize("which", ["event_run", "native_run"])
def test_truth_names_the_operator_and_lies_in_it(which, request):
    run = request.getfixturevalue(which)
    log = run.truth
    assert len(log["kernel"]) > 20
    for kernel, external_id, launch_ns in zip(
        log["kernel"], log["external_id"], log["launch_ns"], strict=True
    ):
        operator = run.operators[external_id]
        assert run.start(operator) - 1000 <= launch_ns <= run.end(operator) + 1000
        if kernel.startswith("refdev_"):
            name = operator["name"].removeprefix("aten::").strip("_")
            assert kernel in (f"refdev_{name}_kernel", "refdev_copy_kernel")


def test_event_route_has_times_and_no_kernels(event_run):
    assert not event_run.of("kernel", "gpu_memcpy", "gpu_memset", "privateuse1_runtime")
    assert event_run.properties == []
    log = event_run.truth
    kernels = Counter(log["external_id"])
    children = {event["args"]["External id"] for event in event_run.of("cpu_op")}
    for row, external_id in enumerate(log["external_id"]):
        assert external_id in children
        if kernels[external_id] == 1:
            # The two events embrace the kernel, and the device may have been idle before it.
            duration_ns = log["end_ns"][row] - log["start_ns"][row]
            assert event_run.elapsed_us[external_id] >= (duration_ns + 300) // 1000 - 1


@pytest.fixture
def elapsed_us(occupy):
    """What the profiler gets for a range with two kernels of 1 ms and for one of them."""

    def run(**settings):
        x = torch.ones(4, device="refdev")
        x + 1
        torch.refdev.synchronize()
        refdevice.configure(kernel_fixed_ns=1_000_000, bandwidth_gb_per_s=1e9, **settings)
        with torch.autograd.profiler.profile(use_device="refdev", use_kineto=False) as profile:
            occupy()
            with torch.profiler.record_function("range"):
                x + 1
                x + 1
        return {event.name: event.device_time_total for event in profile.function_events}

    return run


@pytest.mark.parametrize(
    ("settings", "range_us", "kernel_us"),
    [
        # Five events of 0.3 us end within the range; one within an operator. torch truncates.
        ({"elapsed_resolution_ns": 1}, 2001, 1000),
        ({"elapsed_resolution_ns": 1000}, 2001, 1000),
        ({"elapsed_resolution_ns": 1000, "event_cost_ns": 2000}, 2010, 1002),
        ({"elapsed_resolution_ns": 300_000}, 1800, 900),
        ({"elapsed_kind": "kernel_sum"}, 2000, 1000),
        ({"elapsed_kind": "kernel_sum", "elapsed_resolution_ns": 300_000}, 2100, 900),
        ({"elapsed_unit": "ms"}, 2, 1),
    ],
)
def test_elapsed_as_configured(elapsed_us, settings, range_us, kernel_us):
    got = elapsed_us(**settings)
    assert (got["range"], got["aten::add"]) == (range_us, kernel_us)


def test_a_host_synchronous_device(truth):
    """It plays a backend whose operators run in the launch: there is no queue."""
    refdevice.configure(elapsed_kind="host")
    x = torch.randn(400, 400, device="refdev")
    with torch.autograd.profiler.profile(use_device="refdev", use_kineto=False) as profile:
        for _ in range(5):
            x @ x
    products = [event for event in profile.function_events if event.name == "aten::mm"]
    log = truth()
    rows = [row for row, name in enumerate(log["kernel"]) if name == "refdev_mm_kernel"]
    for product, row in zip(products, rows, strict=True):
        duration_us = (log["end_ns"][row] - log["start_ns"][row]) / 1000
        assert log["start_ns"][row] == log["launch_ns"][row]
        assert product.cpu_time_total >= duration_us  # the launch takes as long as the kernel


def test_the_clock_is_the_profilers(tmp_path):
    """Both clocks are read around operators for a while and agree within a microsecond."""
    readings = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(2000):
            before = time.time_ns()
            torch.empty(0)
            readings.append((before, time.time_ns()))
            time.sleep(0.0002)
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    base_ns = trace["baseTimeNanoseconds"]
    operators = [event for event in trace["traceEvents"] if event["name"] == "aten::empty"]
    for (before, after), operator in zip(readings, operators, strict=True):
        start = round(operator["ts"] * 1000) + base_ns
        assert before - 1000 <= start
        assert start + round(operator["dur"] * 1000) <= after + 1000


def test_native_route_is_the_truth(native_run):
    kinds = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
    in_trace = sorted(
        (
            native_run.start(event),
            native_run.end(event),
            event["name"],
            kinds[event["cat"]],
            event["args"]["External id"],
            event["args"]["stream"],
            event["args"]["device"],
        )
        for event in native_run.of(*kinds)
    )
    log = native_run.truth
    names = ("start_ns", "end_ns", "kernel", "kind", "external_id", "stream", "device")
    assert in_trace == sorted(zip(*(log[name] for name in names), strict=True))
    assert {row[5] for row in in_trace} == {0, 1}


def test_native_route_links_launch_and_kernel(native_run):
    launches = {
        event["args"]["correlation"]: event
        for event in native_run.of("privateuse1_runtime")
        if "Synchronize" not in event["name"]
    }
    starts = {
        event["id"]: event
        for event in native_run.events
        if event.get("cat") == "ac2g" and event["ph"] == "s"
    }
    ends = {
        event["id"]: event
        for event in native_run.events
        if event.get("cat") == "ac2g" and event["ph"] == "f"
    }
    kernels = native_run.of("kernel", "gpu_memcpy", "gpu_memset")
    assert set(starts) == set(ends) == {kernel["args"]["correlation"] for kernel in kernels}
    for kernel in kernels:
        launch = launches[kernel["args"]["correlation"]]
        assert launch["args"]["External id"] == kernel["args"]["External id"]
        operator = native_run.operators[launch["args"]["External id"]]
        assert launch["tid"] == operator["tid"]
        assert launch["ts"] <= kernel["ts"]


def test_native_route_describes_the_device(native_run):
    assert [each["id"] for each in native_run.properties] == [0, 1]
    assert native_run.properties[0]["name"] == "refdev"


def test_without_stubs_there_are_no_device_times(python):
    out = python(
        "-c",
        "import torch, refdevice\n"
        "x = torch.ones(4, device='refdev')\n"
        "try:\n"
        "    with torch.autograd.profiler.profile(use_device='refdev', use_kineto=False) as p:\n"
        "        x + 1\n"
        "    print(sum(event.device_time_total for event in p.function_events))\n"
        "except RuntimeError as error:\n"
        "    print('refused')\n",
        REFDEVICE_STUBS="0",
    )
    assert out.split()[-1] in ("0", "refused")


def test_settings_from_the_environment(python):
    out = python(
        "-c",
        "import refdevice; c = refdevice.config(); print(c['speed'], c['seed'], c['elapsed_kind'])",
        REFDEVICE_SPEED="2.5",
        REFDEVICE_SEED="3",
        REFDEVICE_ELAPSED_KIND="kernel_sum",
    )
    assert out.split() == ["2.5", "3", "kernel_sum"]


def test_a_forked_process_is_told(python):
    out = python(
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        "import os, torch, refdevice\n"
        "x = torch.ones(4, device='refdev')\n"
        "for _ in range(100):\n"
        "    x + 1\n"
        "    pid = os.fork()\n"  # the worker is busy, and may hold any lock
        "    if pid == 0:\n"
        "        try:\n"
        "            x + 1\n"
        "        except RuntimeError as error:\n"
        "            print(str(error).splitlines()[0], flush=True)\n"
        "        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n",
    )
    assert out.count("forked process") == 100
