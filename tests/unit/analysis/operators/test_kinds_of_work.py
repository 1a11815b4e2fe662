"""Kinds of operators by name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import GENERIC, VENDORS

NAMES = {
    "gemm": "aten::mm aten::addmm aten::bmm aten::baddbmm aten::matmul aten::linear aten::addmv "
    "aten::dot aten::einsum aten::_scaled_mm aten::_grouped_mm AddmmBackward0 MmBackward0 "
    "autograd::engine::evaluate_function: BmmBackward0 npu::npu_linear aten::linear_backward "
    "aten::_int_mm vllm::cutlass_scaled_mm_gemm aten::_weight_int4pack_mm",
    "convolution": "aten::conv2d aten::convolution aten::_convolution aten::cudnn_convolution "
    "aten::miopen_convolution aten::mkldnn_convolution aten::convolution_backward "
    "ConvolutionBackward0 aten::slow_conv3d aten::_slow_conv2d_forward aten::thnn_conv2d",
    "attention": "aten::scaled_dot_product_attention aten::_flash_attention_forward "
    "aten::_scaled_dot_product_efficient_attention npu::npu_fusion_attention "
    "aten::_efficient_attention_backward ScaledDotProductFlashAttentionBackward0 flash_attn::fwd",
    "normalization": "aten::batch_norm aten::cudnn_batch_norm aten::native_layer_norm "
    "aten::_native_batch_norm_legit aten::native_group_norm_backward NativeLayerNormBackward0 "
    "CudnnBatchNormBackward0 npu::npu_rms_norm aten::rms_norm aten::_batch_norm_impl_index",
    "recurrent": "aten::lstm aten::_thnn_fused_lstm_cell aten::gru aten::_cudnn_rnn",
    "pooling": "aten::max_pool2d aten::adaptive_avg_pool2d aten::upsample_bilinear2d "
    "MaxPool2DWithIndicesBackward0 aten::max_pool2d_with_indices_backward",
    "softmax_loss": "aten::softmax aten::_log_softmax aten::cross_entropy_loss aten::nll_loss_nd "
    "aten::mse_loss_backward LogSoftmaxBackward0 NllLossBackward0 aten::_softmax_backward_data",
    "elementwise": "aten::add aten::add_ aten::mul aten::div_ aten::relu aten::relu_ aten::gelu "
    "aten::gelu_backward aten::threshold_backward aten::sigmoid aten::tanh_backward aten::sqrt "
    "aten::addcdiv_ aten::lerp_ aten::neg aten::where aten::masked_fill_ aten::eq ReluBackward0 "
    "aten::silu aten::clamp_min aten::rsub aten::pow GeluBackward0 MulBackward0 aten::exp",
    "reduction": "aten::sum aten::mean aten::var_mean aten::argmax aten::max aten::cumsum "
    "aten::any SumBackward1 aten::norm aten::linalg_vector_norm aten::amax",
    "indexing": "aten::embedding aten::index_select aten::gather aten::scatter_ aten::topk "
    "aten::embedding_dense_backward EmbeddingBackward0 aten::index_put_ aten::nonzero aten::sort",
    "random": "aten::randn aten::rand aten::normal_ aten::uniform_ aten::bernoulli_ aten::dropout "
    "aten::native_dropout NativeDropoutBackward0 aten::random_ aten::randint",
    "copy": "aten::to aten::_to_copy aten::copy_ aten::clone aten::contiguous aten::cat "
    "aten::fill_ aten::zero_ aten::item aten::_local_scalar_dense aten::stack ToCopyBackward0 "
    "aten::constant_pad_nd aten::repeat_interleave",
    "view": "aten::view aten::reshape aten::transpose aten::t aten::permute aten::expand "
    "aten::mT aten::mH aten::adjoint aten::swapdims aten::moveaxis "
    "aten::as_strided aten::select aten::slice aten::unsqueeze aten::detach detach TBackward0 "
    "ViewBackward0 aten::_unsafe_view aten::unbind aten::split aten::chunk aten::alias "
    "aten::flatten TransposeBackward0 aten::lift_fresh aten::_reshape_alias aten::resolve_conj",
    "allocation": "aten::empty aten::empty_strided aten::zeros aten::ones_like aten::new_empty "
    "aten::resize_ aten::arange aten::full aten::empty_like aten::new_zeros",
    "optimizer": "aten::_foreach_add_ aten::_fused_adamw_ aten::_foreach_lerp_ "
    "Optimizer.step#SGD.step aten::_amp_foreach_non_finite_check_and_unscale_",
    "communication": "c10d::allreduce_ nccl:all_reduce record_param_comms "
    "_c10d_functional::all_gather_into_tensor gloo:broadcast",
    "compiled": "triton_poi_fused_add_relu_0 CompiledFunction Torch-Compiled",
    "autograd": "torch::autograd::AccumulateGrad "
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "other": "mine::thing aten::_fft_r2c",
}


@pytest.mark.parametrize("kind", kinds_of_work.KINDS)
def test_kinds(kind: str) -> None:
    """Each name has its kind."""
    names = re.findall(r"autograd::engine::evaluate_function: \S+|\S+", NAMES[kind])
    assert {name: kinds_of_work.kind_of(name, GENERIC) for name in names} == dict.fromkeys(
        names, kind
    )


def test_every_kind_has_a_rule() -> None:
    """Every kind has a pattern."""
    ruled = {kind for kind, _ in (*kinds_of_work.WHOLE_NAMES, *kinds_of_work.PATTERNS)}
    assert ruled | {"autograd", "other"} == set(kinds_of_work.KINDS)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("accl:all_sum", "communication"),
        ("accl_ops::sum_up", "communication"),
        ("acme::acme_convolution", "convolution"),
        ("aten::acme", "copy"),
    ],
)
def test_a_vendors_own_words_count_in_its_traces(name: str, kind: str) -> None:
    """A vendor's words apply to its traces."""
    acme = Vendor(
        name="acme",
        title="Acme",
        backends=("acme",),
        communication_prefixes=("accl",),
        operator_prefixes=("acme",),
    )
    assert kinds_of_work.kind_of(name, acme) == kind


def test_words_of_a_vendor_are_no_patterns() -> None:
    """A vendor's words are not regular expressions."""
    acme = Vendor(name="acme", title="Acme", communication_prefixes=("a.c",))
    assert kinds_of_work.kind_of("a.c:x", acme) == "communication"
    assert kinds_of_work.kind_of("abc:x", acme) == "other"


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_a_trace_mixes_the_words_of_several_vendors(vendor: Vendor) -> None:
    """Words of all known vendors apply to every trace."""
    names = ("nccl:sum_up", "hccl:sum_up", "cncl:sum_up", "xccl:sum_up", "gloo:sum_up")
    assert {kinds_of_work.kind_of(name, vendor) for name in names} == {"communication"}


WORDS = sorted(
    {word for _, text in kinds_of_work.PATTERNS for word in re.findall("[a-z]{2,}", text)}
)


@given(st.lists(st.sampled_from([*WORDS, "op", "x1", "s"]), min_size=1, max_size=3), st.booleans())
def test_the_quick_look_misses_no_pattern(words: list[str], joined: bool) -> None:
    text = ("" if joined else "_").join(words)
    patterns = kinds_of_work._patterns((), (), ())
    if patterns.reduced.match(text):
        assert patterns.beginnings.match(text) or patterns.parts.search(text)


@pytest.mark.parametrize("name", ["ProfilerStep#12", "ProfilerStep#", "ProfilerStep#x"])
def test_a_step_is_of_no_kind(name: str) -> None:
    assert kinds_of_work.kind_of(name, GENERIC) == "other"
