import { describe, expect, test } from "vitest";
import { readableName } from "../../src/lib/readable-name";

const NAMES: readonly (readonly [why: string, name: string, readable: string])[] = [
  [
    "namespaces, return type and parameters go",
    "void at::native::(anonymous namespace)::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long)",
    "vectorized_gather_kernel<16, long>",
  ],
  [
    "a functor stays",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul>)",
    "vectorized_elementwise_kernel<…, CUDAFunctorOnSelf_add, …>",
  ],
  [
    "adapters around it go; a lambda has the name of its function",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int, float)",
    "elementwise_kernel<…, MulFunctor<…>>",
  ],
  [
    "a return type with comparisons",
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, int)",
    "fused_add_rms_norm_kernel<BFloat16, 8>",
  ],
  [
    "numbers, as many as fit",
    "void explicit_convolve_sgemm<float, int, 1024, 5, 5, 3, 3, 3, 0, false>(int, int, float const*)",
    "explicit_convolve_sgemm<float, int, 1024, 5, 5, 3, 3, 3, …>",
  ],
  ["no template", "at::cuda::(anonymous namespace)::spin_kernel(long)", "spin_kernel"],
  ["mangled", "_ZN5aiter6kernelIDF16bLi256ELb1EEEvPT_PfS4_i", "kernel<bfloat16, 256, true>"],
  [
    "mangled, with an argument that is not read",
    "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
    "act_and_mul_kernel<…>",
  ],
];

test.each(NAMES)("%s", (_, name, readable) => {
  expect(readableName(name)).toBe(readable);
});

describe("other names stay as they are", () => {
  test.each([
    "aten::mm",
    "triton_poi_fused__unsafe_view_mul_silu_2",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64",
    "Memcpy DtoD (Device -> Device)",
    "train.py(12): <lambda>",
    "<built-in method run_backward of object at 0x7f>",
    "step[DECODE bs=32]",
    "nn.Module: Linear_0",
    "autograd::engine::evaluate_function: MulBackward0",
    "void f<int(",
    "_Zwhatever",
    "",
  ])("%s", (name) => {
    expect(readableName(name)).toBe(name);
  });
});
