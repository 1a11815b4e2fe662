"""Calls that launch kernels."""

from __future__ import annotations

from tb_privateuse1.inference.kernel_launches import launches_kernels
from tests.support.make import kernel, launch, trace


def test_names_that_launched_a_kernel_launch_kernels() -> None:
    calls = [
        launch(i, i + 0.5, i + 1) | {"name": name}
        for i, name in enumerate(("runFunction", "runFunction", "cudaLaunchKernel"))
    ]
    t = trace(*calls, kernel("gemm", 10, 20, 1))
    assert launches_kernels(t).tolist() == [True, True, False]


def test_without_kernels_the_names_decide() -> None:
    names = {
        "cudaLaunchKernel": True, "hipModuleLaunchKernel": True, "cudaGraphLaunch": True,
        "urEnqueueKernelLaunch": True, "cudaLaunchHostFunc": False, "cudaMemcpyAsync": False,
        "cudaGetLaunchConfig": False, "cudaStreamSynchronize": False,
    }  # fmt: skip
    t = trace(*(launch(i, i + 0.5, i + 1) | {"name": name} for i, name in enumerate(names)))
    by_name = {
        t.text(n): bool(b) for n, b in zip(t.launches.name, launches_kernels(t), strict=True)
    }
    assert by_name == names
