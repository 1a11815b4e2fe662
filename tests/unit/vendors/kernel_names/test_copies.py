"""Which kernels are copies and fills of the runtime."""

import pytest

from tb_privateuse1.trace.model import KERNEL, MEMCPY, MEMSET
from tb_privateuse1.vendors.kernel_names import move_of
from tb_privateuse1.views.overview import overview
from tests.support.make import kernel, trace
from tests.support.shared_traces import FOLDER, needs_traces, read

KINDS = {
    "__amd_rocclr_copyBuffer.kd": MEMCPY,
    "__amd_rocclr_copyBufferRectAligned": MEMCPY,
    "__amd_rocclr_copyImageToBuffer": MEMCPY,
    "__amd_rocclr_fillBufferAligned.kd": MEMSET,
    "__amd_rocclr_fillBufferAligned2D": MEMSET,
    "__amd_rocclr_fillImage": MEMSET,
    "Memcpy DtoD (Device -> Device)": MEMCPY,
    "Memset (Device)": MEMSET,
}


@pytest.mark.parametrize("name", KINDS)
def test_copies_and_fills_that_run_as_kernels(name: str) -> None:
    t = trace(kernel(name, 0, 5), kernel("gemm", 6, 9))
    assert t.kernels.kind.tolist() == [KINDS[name], KERNEL]


@pytest.mark.parametrize(
    "name",
    ["__amd_rocclr_streamOpsWait", "aclnnMm_MatMulCommon_MemSet",
     "_combined_routing_memset", "copy_kernel", "memcpy_async_kernel",
     "triton_poi_fused__to_copy_1", "aten::copy_", "fill_kernel", "CopyBufferedSum",
     "void at::native::CatArrayBatchedCopy<float>(float*)"],
)  # fmt: skip
def test_kernels_that_only_sound_like_it(name: str) -> None:
    assert move_of(name) is None
    assert trace(kernel(name, 0, 5)).kernels.kind.tolist() == [KERNEL]


@needs_traces
def test_the_case_of_copies() -> None:
    totals = overview(read(next((FOLDER.parent / "cases" / "rocclr-copies").iterdir()))).totals
    assert (totals.memcpys, totals.memcpy_ns) == (4, 800_000)
    assert (totals.memsets, totals.memset_ns) == (4, 800_000)
    assert totals.compute_ns == 6_400_000
