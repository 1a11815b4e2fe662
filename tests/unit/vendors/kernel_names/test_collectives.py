"""Which kernels communicate, by the names that libraries and engines give them."""

import json
from typing import Any

import pytest

from tb_privateuse1.analysis.kernel_names.readable_name import display_name
from tb_privateuse1.vendors.kernel_names.collectives import collective_kind, is_collective
from tests.support.make import kernel, trace
from tests.support.shared_traces import FOLDER, needs_traces

COLLECTIVES = {
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "all_reduce",
    "ncclAllReduceRingLLKernel_sum_f32(ncclColl)": "all_reduce",
    "ncclSymkDevKernel_ReduceScatter_LDMC_sum_f8e4m3(ncclSymkDevWorkArgs4K)": "reduce_scatter",
    "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)": "other",
    "mscclKernel_Sum_half_Simple_true(ncclDevComm*, mscclAlgo*, mscclWork*)": "other",
    "void mscclpp::allreduce7<__half>": "all_reduce",
    "hcom_allReduce__503_0_1": "all_reduce",
    "HcclAllGather": "all_gather",
    "cnclBroadcast": "broadcast",
    "oneccl_allreduce_pcie": "all_reduce",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)": "all_reduce",
    "void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*)": "all_reduce",
    "void (anonymous namespace)::all_reduce_one_shot_push_kernel<float, 8u, true>": "all_reduce",
    "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8>": "all_reduce",
    "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>": "reduce_scatter",
    "_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataE": "reduce_scatter",
    "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>": "all_reduce",
    "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>":
        "all_reduce",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0, 8>":
        "all_reduce",
    "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, __half>":
        "all_reduce",
    "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__half>": "all_reduce",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, false>": "all_reduce",
    "void tensorrt_llm::kernels::ar_fusion::moe::"
    "moefinalize_allreduce_fusion_kernel_oneshot_lamport<__half, 8>": "all_reduce",
    "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>(int const*)": "all_to_all",
    "void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<8>(int const*)": "all_to_all",
    "void deep_ep::internode_ll::dispatch<true, 7168>(void*, float*)": "all_to_all",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(__nv_bfloat16*)": "all_to_all",
    "void deep_ep::internode::cached_notify<false>(int)": "other",
    "void deep_ep::intranode::barrier<8>(int**, int)": "barrier",
    "void nixl_ep::ep_kernels::dispatch<true, 7168>(void*)": "all_to_all",
    "void uccl::ep::combine_kernel<bf16, 8>(void*)": "all_to_all",
    "void alltoall_on_stream_kernel<char>(int, char*, char const*)": "all_to_all",
    "barrier_on_stream_kernel_threadgroup(int)": "barrier",
    "mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>": "all_to_all",
    "EpCombineInterNodeV1Kernel_bf16": "all_to_all",
    "nvshmemi_transfer_rma_block": "other",
    "void nvshmemi_reduce_kernel<float, (rdxn_ops)0>(int, int, int, float*)": "reduce",
    "void (anonymous namespace)::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>":
        "all_reduce",
    "void c10d::symmetric_memory::barrier_kernel(unsigned int**, int)": "barrier",
    "void userbuffers_fp16_sum_inplace_gpu_mc<8>(int)": "all_reduce",
    "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)": "reduce_scatter",
    "void userbuffers_fp16_sum_inplace_gpu_rr_ag<8>(int)": "all_gather",
    "kuserbuffers_pushsend(int*, int*, int4*, int4*, int)": "send",
    "aclnnMatmulAllReduce_MatmulAllReduceAiCore_MatmulAllReduce": "all_reduce",
    "MoeDistributeDispatchV2": "all_to_all",
}  # fmt: skip
"""Names from the libraries' sources and from public traces, with the kind that each says."""

OTHERS = (
    "void moe::ep::count_kernel<8>(int*)",
    "void moe::steps::combine_kernel<8>(int*)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::AllReduce>>",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::ReduceAdd>",
    "void block_all_reduce_sum_kernel<float>(float*, float*, int)",
    "warp_all_reduce_kernel",
    "reduce_all_kernel",
    "scatter_reduce_kernel",
    "triton_poi_fused_all_gather_into_tensor_wait_tensor_1",
    "triton_red_fused__to_copy_add_all_reduce_mean_pow_3",
    "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*, long*>>",
    "void deep_ep::layout::get_dispatch_layout<256, 32, 4>(long const*, int*)",
    "void MoeA2AGateKernel<256, 8>(float*)",
    "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>>",
    "void aiter::local_device_load_rmsnorm<__hip_bfloat16>",
    "void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)",
    "void vllm::moe::moe_align_block_size_kernel<int>",
    "small_reduce", "memcpy_all_kernel", "broadcast_kernel", "recv_pack", "node_gather",
)  # fmt: skip
"""Ordinary kernels whose names have a collective's words, or part of them."""


@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective_is_communication(name: str) -> None:
    assert is_collective(name)
    assert collective_kind(display_name(name)) in (COLLECTIVES[name], "other")
    t = trace(kernel(name, 0, 5))
    assert t.kernels.communication.tolist() == [True]
    assert t.text(t.collectives.kind[0]) == COLLECTIVES[name]


@pytest.mark.parametrize("name", OTHERS)
def test_an_ordinary_kernel_is_not(name: str) -> None:
    assert not is_collective(name)


def test_a_fused_collective_is_named_so_and_counted_once() -> None:
    name = "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>"
    assert display_name(name) == "fused all-reduce bf16"
    assert len(trace(kernel(name, 0, 5)).collectives) == 1


def test_arguments_of_a_collective_count_beside_the_name() -> None:
    claim: dict[str, Any] = {"Collective name": "allreduce"}
    assert trace(kernel("vendor_kernel", 0, 5, **claim)).kernels.communication.tolist() == [True]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "all_reduce"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("allgather_into_tensor_coalesced", "all_gather"),
        ("hcom_allGather__123", "all_gather"),
        ("alltoall_base", "all_to_all"),
        ("hcom_send_", "send"),
        ("ncclKernel_SendRecv", "send_recv"),
        ("cnclBroadcast", "broadcast"),
        ("wait", "other"),
    ],
)
def test_the_kind_of_a_name(name: str, kind: str) -> None:
    assert collective_kind(name) == kind


@needs_traces
def test_all_of_the_case_communicate() -> None:
    case = next((FOLDER.parent / "cases" / "custom-collectives").iterdir())
    events = json.loads(case.read_text())["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "kernel"]
    assert len(names) == 18
    assert all(map(is_collective, names))
