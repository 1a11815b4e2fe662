"""Detection of a trace's vendor, and the vendors' data: names, categories, peaks."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from tb_privateuse1.trace.model import KERNEL, MEMCPY, MEMSET
from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS, detect
from tests.support import make

EXAMPLES: dict[str, dict[str, Any]] = {
    "cuda": {"backend": None, "device_names": ["NVIDIA H100"], "categories": ["cuda_runtime"]},
    "rocm": {"backend": "cuda", "device_names": ["AMD Instinct MI300X"],
             "categories": ["cuda_runtime"], "device_types": [0, 6]},
    "xpu": {"backend": "xpu", "categories": ["xpu_runtime"]},
    "mtia": {"backend": None, "categories": ["mtia_runtime", "mtia_ccp_events"]},
    "npu": {"backend": "npu", "categories": ["privateuse1_runtime"], "device_types": [20]},
    "hpu": {"backend": "hpu", "categories": ["hpu_op"], "device_types": [0, 15]},
    "mlu": {"backend": None, "device_names": ["MLU590"]},
    "xla": {"backend": "xla", "categories": ["xla_op"], "device_types": [9]},
    "generic": {"backend": "refdev", "categories": ["privateuse1_runtime"], "device_types": [20]},
}  # fmt: skip


def test_every_vendor_has_an_example_and_generic_is_last() -> None:
    names = sorted(v.name for v in VENDORS)
    assert sorted(EXAMPLES) == names, "an example in tests/unit/vendors/test_vendors.py"
    assert VENDORS[-1].name == "generic"


@pytest.mark.parametrize("name", EXAMPLES)
def test_detect(name: str) -> None:
    assert detect(**EXAMPLES[name]).name == name


def test_calls_decide_where_nothing_else_does() -> None:
    assert detect(None, [""], ["Runtime", "Kernel"], calls=["cudaLaunchKernel"]).name == "cuda"
    assert detect(None, [""], ["Runtime", "Kernel"], calls=["hipLaunchKernel"]).name == "rocm"
    assert detect(None, [""], ["Runtime", "Kernel"], calls=["launch"]).name == "generic"
    assert detect("own", [""], ["Runtime"], calls=["cudaLaunchKernel"]).name == "generic"


def test_a_shared_category_is_of_the_vendor_whose_runtime_was_called() -> None:
    assert detect(None, [""], ["cuda_runtime"], calls=["hipGraphLaunch"]).name == "rocm"
    assert detect(None, [""], ["cuda_runtime"], calls=["cudaGraphLaunch"]).name == "cuda"


def test_a_backend_that_several_vendors_share_counts_last() -> None:
    own = Vendor(name="own", title="Own", backends=("cuda",))
    shared = replace(own, shares_backend=True)
    for vendor, name in ((own, "own"), (shared, "rocm")):
        assert detect("cuda", device_types=[6], known=(vendor, *VENDORS)).name == name
    assert detect("cuda", known=(shared, *VENDORS)).name == "own"
    assert detect("cuda").name == "cuda"


@pytest.mark.parametrize(
    ("category", "types", "name"),
    [
        ("cuda_runtime", [0, 1, 12], "cuda"),
        ("cuda_runtime", [12], "cuda"),
        ("xpu_runtime", [1], "xpu"),
        ("hip_runtime", [1], "rocm"),
        ("mtia_ccp_events", [6], "mtia"),
        ("cuda_runtime", [6], "rocm"),  # Kineto writes AMD's calls under CUDA's category
        ("privateuse1_runtime", [12], "xpu"),
        ("cpu_op", [12], "xpu"),
    ],
)
def test_categories_are_stronger_evidence_than_memory_events(
    category: str, types: list[int], name: str
) -> None:
    assert detect(None, categories=["cpu_op", category], device_types=types).name == name


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda v: v.name)
def test_a_trace_of_ten_events(vendor: Any) -> None:
    cats = (vendor.kernel_categories, vendor.memcpy_categories, vendor.memset_categories)
    for i, category in enumerate(sorted(c for group in cats for c in group)):
        kind = next(k for k, g in zip((KERNEL, MEMCPY, MEMSET), cats, strict=True) if category in g)
        example = EXAMPLES[vendor.name]
        devices = [{"name": n} for n in example.get("device_names", [])]
        trace = make.trace(
            make.step(1, 0, 100),
            make.op("aten::mm", 1, 10, id=5),
            make.span("privateuse1_runtime", "launch", 2, 4, correlation=i + 1),
            make.kernel("gemm", 20, 30, i + 1, category=category),
            make.kernel("ncclDevKernel_AllReduce", 30, 50, category="kernel"),
            make.memory(3, 64, 64, (vendor.device_types or (20,))[0]),
            make.span(next(iter(vendor.evidence_categories or {"overhead"})), "x", 60, 61),
            deviceProperties=devices,
            tb_privateuse1={"backend": example["backend"]},
        )
        assert trace.meta.vendor == vendor.name
        assert trace.meta.timeline == "measured"
        row = int(trace.kernels.correlation.tolist().index(i + 1))
        assert trace.kernels.kind[row] == kind
        assert trace.text(trace.ops.name[trace.kernels.op[row]]) == "aten::mm"
        assert trace.kernels.communication.sum() == 1


def test_old_traces_write_categories_in_other_letters() -> None:
    trace = make.trace(
        make.span("Operator", "aten::mm", 0, 9, **{"external id": 3}),
        make.span("Runtime", "cudaLaunchKernel", 1, 2, correlation=8),
        make.kernel("gemm", 3, 5, 8, category="Kernel"),
    )
    assert trace.kernels.launch.tolist() == [0]
    assert trace.kernels.op.tolist() == [0]


MATRIX = {
    "cuda": {
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn",
        "volta_fp16_s884gemm_fp16_128x128_nn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_cublas",
        "nvjet_tst_64x64_coopA",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_tn_align8>",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
    },
    "rocm": {
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1",
        "attn_fwd",
        "igemm_wrw_gtcx2_nhwc_bf16_bx0_ex1_bt256x128x16",
    },
    "npu": {"aclnnMatmul_MatMulV2Common_MatMulV2", "FlashAttentionScore"},
}
"""Names of kernels in real traces."""


@pytest.mark.parametrize("name", MATRIX)
def test_names_of_kernels_on_the_matrix_unit(name: str) -> None:
    (vendor,) = [v for v in VENDORS if v.name == name]
    assert vendor.matrix_unit
    assert vendor.matrix_names is not None
    others = (
        "volta_sgemm_64x64_nt", "void at::native::reduce_kernel<512, 1>", "SubTensorOp",
        "batched_transpose_16x32_half", "void cudnn::bn_bw_1C11_kernel_new<float>",
    )  # fmt: skip
    assert {n for n in MATRIX[name] if not vendor.matrix_names.search(n)} == set()
    assert [n for n in others if vendor.matrix_names.search(n)] == []


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda v: v.name)
def test_a_matrix_unit_has_both_a_name_and_names(vendor: Vendor) -> None:
    assert bool(vendor.matrix_unit) == (vendor.matrix_names is not None)


@pytest.mark.parametrize(
    ("vendor", "device", "half_tflops", "memory_gb_per_s"),
    [
        ("cuda", "NVIDIA A100-SXM4-40GB", 312, 1555),
        ("cuda", "NVIDIA A100-SXM4-80GB", 312, 2039),
        ("cuda", "NVIDIA A100 80GB PCIe", 312, 1935),
        ("cuda", "NVIDIA H100 80GB HBM3", 989, 3350),
        ("cuda", "NVIDIA H100 PCIe", 756, 2000),
        ("cuda", "Tesla V100-SXM2-32GB", 125, 900),
        ("cuda", "Tesla T4", 65, None),
        ("cuda", "NVIDIA L4", 121, 300),
        ("cuda", "NVIDIA L40S", 362, 864),
        ("rocm", "AMD Instinct MI300X", 1307, 5300),
        ("rocm", "AMD Instinct MI250X", 191.5, 1600),
        ("hpu", "GAUDI2", 432, 2450),
    ],
)
def test_peaks_by_the_names_that_devices_have(
    vendor: str, device: str, half_tflops: float, memory_gb_per_s: float | None
) -> None:
    (found,) = (v for v in VENDORS if v.name == vendor)
    peak = found.peak(device)
    assert peak is not None
    assert (peak.half_tflops, peak.memory_gb_per_s) == (half_tflops, memory_gb_per_s)


@pytest.mark.parametrize(
    "device",
    [
        "NVIDIA H100",
        "NVIDIA A100-PG509-200",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA GH200 480GB",
        "NVIDIA H200 NVL",
        "NVIDIA A10G",
        "AMD Instinct MI250X / MI250",
        "AMD Radeon Graphics",
        "",
    ],
)
def test_no_peak_is_guessed(device: str) -> None:
    assert [v.name for v in VENDORS if v.peak(device)] == []


@pytest.mark.parametrize(
    ("vendor", "device", "figures"),
    [
        ("cuda", "NVIDIA H100 80GB HBM3", {"matrix.fp8": 1979, "vector.fp32": 67, "cache_mb": 50}),
        ("cuda", "NVIDIA A100-SXM4-80GB", {"matrix.tf32": 156, "matrix.fp8": None}),
        ("cuda", "Tesla V100-SXM2-32GB", {"matrix.bf16": None, "vector.fp64": 7.8}),
        ("cuda", "NVIDIA B200", {"matrix.fp4": 9000, "vector.fp32": None, "link_gb_per_s": 900}),
        ("cuda", "NVIDIA L4", {"link": "", "link_gb_per_s": None, "host_gb_per_s": 32}),
        ("rocm", "AMD Instinct MI300X", {"matrix.fp32": 163.4, "link_gb_per_s": 448}),
        ("hpu", "GAUDI3", {"matrix.fp8": 1835, "vector.bf16": 28.7, "link": "RoCE"}),
    ],
)
def test_rates_by_type_links_and_caches(
    vendor: str, device: str, figures: dict[str, float | str | None]
) -> None:
    (found,) = (v for v in VENDORS if v.name == vendor)
    peak = found.peak(device)
    assert {name: operator.attrgetter(name)(peak) for name in figures} == figures


PEAKS = [peak for vendor in VENDORS for peak in vendor.peaks]


@pytest.mark.parametrize("peak", PEAKS, ids=lambda p: p.device_names.pattern)
def test_peaks_agree_with_each_other(peak: Peak) -> None:
    """A narrower type is not slower, and the matrix unit beats the rest of the device."""
    assert peak.source == "data_sheet"
    assert (peak.link == "") == (peak.link_gb_per_s is None)
    assert all(rate > 0 for rate in (*rates(peak.matrix).values(), *rates(peak.vector).values()))
    matrix = rates(peak.matrix)
    order = [matrix[name] for name in ("fp32", "tf32", "bf16", "fp8", "fp4") if name in matrix]
    assert order == sorted(order)
    if "bf16" in matrix:
        assert matrix.get("fp16", matrix["bf16"]) == matrix["bf16"]
    for name, rate in rates(peak.vector).items():
        assert rate <= matrix.get(name, rate)
    if peak.memory_gb_per_s and peak.link_gb_per_s:
        assert (peak.host_gb_per_s or 0) < peak.link_gb_per_s < peak.memory_gb_per_s


def rates(rates: Rates) -> dict[str, float]:
    return {name: rate for name, rate in asdict(rates).items() if rate is not None}
