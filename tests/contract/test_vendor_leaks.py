"""Outside of ``vendors``, and of what runs in the program, no code knows a vendor."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.sources import FILES, nodes

NAMES = re.compile(
    r"cuda|cudnn|cupti|cublas|cutlass|nvidia|nccl|tensor_?core|rocm|miopen|amdgpu|radeon|instinct"
    r"|hccl|cncl|xccl|mccl|oneccl|mtia|gaudi|habana|huawei|ascend(?!ing)|cambricon|geforce"
    r"|(?<![a-z])(hip|cu|acl|npu|mlu|xpu|hpu|musa|amd|cann)(?![a-z])|hip[_A-Z]|(?<![a-z])cu[A-Z]"
    r"|(?<![A-Za-z])(HIP|XPU|HPU|NPU|MLU)(?![a-z])"
)
"""In code without regard to case, but for the parts that need it."""

FORMATS = {
    "export.chrome": {
        *("cupti_version", "cuda_runtime_version", "cuda_driver_version", "nccl_version"),
        *("hip_runtime_version", "hip_driver_version"),
    },
    "inference.validity.unread": {"cuda_sync"},
    "readers": {"ascend", "ASCEND"},
    "readers.ascend": {"ASCEND", "ascend"},
    "readers.ascend.collectives": {"HCCL"},
    "readers.ascend.counters": {"NPU", "NPU ", "NPU_MEM"},
    "readers.ascend.metadata": {"torch_npu_version", "hccl"},
    "readers.ascend.database_reading": {"ascend_runtime"},
    "readers.ascend.schema": {
        "AscendCL",
        "ENUM_HCCL_DATA_TYPE",
        "CANN_API",
        "NPU_INFO",
        "Ascend Hardware",
    },
    "readers.nsight.host": {"cuda_runtime", "cuda_driver"},
    "readers.nsight.processes": {"cudaId"},
    "readers.nsight.export_reading": {"cuda_sync"},
    "readers.nsight.session": {"cudaId"},
    "readers.nsight.schema": {
        *("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"),
        *("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"),
        *("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
        *("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "TARGET_INFO_CUDA_DEVICE", "ENUM_CUDA_MEM_KIND"),
    },
    "readers.rocprof.schema": {"HIP", "hip_runtime", "hip_driver", "RCCL", "hip_api"},
    "readers.chrome.event_schema": {"wait_on_cuda_event_record_corr_id"},
    "readers.compile_log.records": {"cudagraph_skip_reason"},
    "readers.compile_log.tables": {"cudagraph_skip_reason"},
    "export.taken.operator_call": {"cu_"},
    "analysis.work.models.products": {"cutlass_scaled_mm"},
    "export.trace_tables": {
        "achieved occupancy that CUPTI estimates, in percent, JSON",
        "bytes, counted as the NCCL tests do",
    },
}
"""Words that a format prescribes, by module: keys and categories that Kineto writes for every
device, what a vendor's own format is called and calls its content, names of other programs'
operators, and how figures of the exported tables are defined."""


def words(source: str) -> set[str]:
    """The names and strings of a source, but for its documentation and texts for people."""
    ignored: set[int] = set()
    for node in nodes(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("say", "plural"):
            ignored |= {id(inner) for inner in ast.walk(node)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            ignored.add(id(node.value))
    found = set()
    for node in nodes(source):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute | ast.arg):
            found.add(node.attr if isinstance(node, ast.Attribute) else node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def leaks(source: str, allowed: set[str]) -> set[str]:
    """What of a source is a vendor's, but for what is allowed."""
    found = set()
    for word in words(source):
        rest = word
        for known in allowed:
            rest = rest.replace(known, "")
        if NAMES.search(rest) or NAMES.search(rest.lower()):
            found.add(word)
    return found


@pytest.mark.long
def test_no_module_knows_a_vendor() -> None:
    knowing = ("capture.", "cli.remedies.", "vendors.")
    modules = [m for m in FILES if not f"{m}.".startswith(knowing) and m != "trace.vendor"]
    assert len(modules) > 100
    found = {m: leaks(FILES[m].read_text(), FORMATS.get(m, set())) for m in modules}
    assert {module: leaked for module, leaked in found.items() if leaked} == {}


@pytest.mark.parametrize("module", FORMATS)
def test_nothing_is_allowed_in_vain(module: str) -> None:
    said = words(FILES[module].read_text())
    assert {w for w in FORMATS[module] if not any(w in word for word in said)} == set()


@pytest.mark.parametrize(
    "source",
    [
        '_APIS = {"cuda": 4}',
        '_TYPES = ("CPU", "HIP")',
        'r"(_?c10d|gloo|mpi|hccl)::"',
        'x = r"^(mkldnn|npu|native)_"',
        'x = r"^(cu|hip)MemCreate$"',
        "def is_nccl(): pass",
        "cudaMalloc = 1",
        'backend != "xpu"',
    ],
)
def test_the_test_finds_a_leak(source: str) -> None:
    assert leaks(f"x = [{source}]" if source.startswith("r") else source, set())


@pytest.mark.parametrize(
    "source",
    [
        '"""As nccl does."""',
        'say("Use the device\'s own backend: cuda:nccl")',
        'x = "current ascending occupancy columns"',
        'x = ["chip", "accumulate", "descending", "input"]',
    ],
)
def test_the_test_allows_what_is_none(source: str) -> None:
    assert leaks(source, set()) == set()
