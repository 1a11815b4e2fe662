"""The lines that the scorecard shows as remedies: they compile, and fit torch's signatures."""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch

from tb_privateuse1.testing.conformance.lines import Requirement
from tb_privateuse1.testing.conformance.requirements import REQUIREMENTS
from tests.device.test_bring_your_backend import extension

CPP = [one for one in REQUIREMENTS if one.language == "C++"]
PYTHON = [one for one in REQUIREMENTS if one.language == "Python"]

DRIVER = """
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/ApproximateClock.h>
#include <libkineto.h>
#include <mutex>
#include <pthread.h>
#include <torch/csrc/profiler/stubs/base.h>
#include <torch/library.h>
#include <unistd.h>

using torch::profiler::impl::ProfilerVoidEventStub;

// What a vendor's driver and backend have.
using Kernel = void (*)();
struct DriverStream {};
constexpr int DRIVER_SUCCESS = 0, DRIVER_EVENT_NO_FENCE = 1, DRIVER_EVENT_TIMESTAMP = 2;
void driver_launch(Kernel kernel, void** arguments, DriverStream stream);
void driver_flush(DriverStream stream);
void driver_device_synchronize(int device);
void driver_stream_synchronize(DriverStream stream);
void driver_event_create(void** event, int flags);
void driver_event_record(void* event, DriverStream stream);
void driver_event_synchronize(void* event);
int driver_event_query(void* event);
float driver_elapsed_ms(void* first, void* second);
int64_t driver_elapsed_ns(void* first, void* second);
void driver_stream_wait_event(DriverStream stream, void* event);
int64_t driver_clock_frequency_hz();
int64_t device_now_ns();
int64_t host_now_ns();
int current_device();
DriverStream current_stream();
DriverStream unwrap(const c10::Stream& stream);
at::Tensor softmax(const at::Tensor& values, int64_t dim, bool half_to_float);
struct MyEvent {
  explicit MyEvent(DriverStream stream);
};
struct Launch {
  int64_t host_ns;
  int64_t thread, device, stream;
};
struct TracedKernel {
  int64_t start_ns, end_ns, start_ticks_ns;
  int32_t correlation;
};
struct MyStubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex*, ProfilerVoidEventStub*, int64_t*) const override {}
  float elapsed(const ProfilerVoidEventStub*, const ProfilerVoidEventStub*) const override {
    return 0;
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override {
    return true;
  }
  void onEachDevice(std::function<void(int)>) const override {}
  void synchronize() const override {}
};
"""
_LAUNCH = "Kernel kernel, Kernel next, void** arguments"
_ACTIVITY = "libkineto::GenericTraceActivity& activity, const TracedKernel& kernel"
_STUBS, _GUARD = "torch::profiler::impl::ProfilerStubs", "c10::impl::DeviceGuardImplInterface"

CLASSES = {
    "stubs_called": _STUBS,
    "elapsed_read": _STUBS,
    "elapsed_unit": _STUBS,
    "synchronize": _GUARD,
    "query": _GUARD,
    "latency": _GUARD,
    "streams_joined": _GUARD,
    "step_markers": _GUARD,
}
"""The class in which a remedy defines a function: one that overrides nothing does not compile."""
PARAMETERS = {
    "registered": "",
    "elapsed_cost": "const ProfilerVoidEventStub* second",
    "elapsed_kind": "void* event",
    "resolution": "void* event",
    "monotony": "void* event",
    "drift": "int64_t ticks, int64_t ns",
    "asynchronous": _LAUNCH,
    "batching": _LAUNCH,
    "event_cost": "void* event",
    "kernel_gap": _LAUNCH,
    "device_index": "c10::DeviceIndex* device",
    "memory": "void* pointer, int64_t bytes, size_t total_allocated, size_t total_reserved, "
    "c10::Device device",
    "launch_log": "std::vector<Launch>& log, std::mutex& log_lock, int device, int stream",
    "kineto_kernels": _ACTIVITY,
    "kineto_clock": _ACTIVITY,
    "kineto_correlation": f"{_ACTIVITY}, int32_t external_id, "
    "libkineto::getLinkedActivityCallback operator_of",
    "operators": "torch::Library& m",
    "threads": "ProfilerVoidEventStub* event",
    "exceptions": f"const at::Tensor& self, const at::Tensor& other, {_LAUNCH}",
    "fork": "",
}
"""What is in reach where the lines of a remedy stand."""


def in_its_place(one: Requirement) -> str:
    """Return the lines of a remedy inside of the class or function that they belong to."""
    if one.code in CLASSES:
        return f"struct In_{one.code} : {CLASSES[one.code]} {{\n{one.remedy}\n}};\n"
    return f"void in_{one.code}({PARAMETERS[one.code]}) {{\n{one.remedy}\n}}\n"


def compile_all(source: Path, remedies: list[Requirement]) -> subprocess.CompletedProcess[str]:
    source.write_text(DRIVER + "\n".join(map(in_its_place, remedies)))
    include = Path(torch.__file__).parent / "include"
    folders = [include, include / "kineto", Path(sysconfig.get_path("include"))]
    command = [
        os.environ.get("CXX", "c++"),
        *extension.FLAGS,
        "-Werror",
        "-fsyntax-only",
        *(f"-isystem{folder}" for folder in folders),
        str(source),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_remedy_of_cpp_has_its_place() -> None:
    assert sorted(CLASSES | PARAMETERS) == sorted(one.code for one in CPP)


@pytest.mark.long
def test_all_remedies_of_cpp_compile_in_one_unit(tmp_path: Path) -> None:
    done = compile_all(tmp_path / "remedies.cpp", CPP)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("one", REQUIREMENTS, ids=[one.code for one in REQUIREMENTS])
def test_each_remedy_has_code(one: Requirement) -> None:
    """``known_durations`` alone refers to the lines above it."""
    comment = {"C++": "//", "Python": "#"}[one.language]
    code = [line for line in one.remedy.splitlines() if not line.strip().startswith(comment)]
    assert bool(code) == (one.code != "known_durations")


@pytest.mark.parametrize("one", PYTHON, ids=[one.code for one in PYTHON])
def test_remedies_of_python_fit_what_calls_them(one: Requirement) -> None:
    tree = ast.parse(one.remedy)
    compile(tree, one.code, "exec")
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        assert function.name in ("elapsed_streams", "event_times", "marker_streams")
        assert not ast.unparse(function.args)  # the capture calls it so
        assert function.returns is not None
    for call in (node.value for node in tree.body if isinstance(node, ast.Expr)):
        assert isinstance(call, ast.Call)
        called: Any = eval(ast.unparse(call.func), {"torch": torch})
        keywords = {str(one.arg): one.value for one in call.keywords}
        inspect.signature(called).bind(*call.args, **keywords)


def test_no_two_lines_show_the_same_remedy() -> None:
    """A vendor who reads the same lines again has read what does not help."""
    same = [
        {one.code, other.code}
        for one, other in itertools.combinations(REQUIREMENTS, 2)
        if one.remedy == other.remedy
    ]
    assert same == []
