"""Read the names of Inductor's Triton kernels: the operators that each one fuses.

``triton_poi_fused__unsafe_view_mul_silu_2`` is ``fused mul+silu``. Inductor joins the names of
operators with underscores, which these have inside, too (``torch/_inductor/codegen/triton.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tb_privateuse1.analysis.operators.kinds_of_work import Kind, kind_of
from tb_privateuse1.trace.vendor import GENERIC
from tb_privateuse1.vendors.kernel_names import Kernel, KernelName

_INDUCTOR = re.compile(
    r"triton_(?P<kind>poi|red|per|mix|tem|for|fused)_(?P<rest>.*?)_?(?P<number>\d+)?$"
)
_KINDS = {"poi": "", "fused": "", "tem": "", "mix": " mixed", "for": " foreach"} | dict.fromkeys(
    ("red", "per"), " reduction"
)
_JOINED_NAMES = """
    adaptive_avg_pool2d adaptive_max_pool2d add_n addcdiv addcmul amax amin any as_strided
    as_strided_scatter avg_pool2d batch_norm bernoulli_p binary_cross_entropy
    binary_cross_entropy_with_logits bitwise_and bitwise_not bitwise_or bitwise_xor
    clamp_max clamp_min constant_pad_nd convert_element_type convolution_backward
    copy_strided cross_entropy cross_entropy_loss embedding_bag embedding_dense
    embedding_dense_backward empty_like empty_strided expand_as fake_quantize
    flash_attention flex_attention floor_divide full_like gelu_backward grid_sampler_2d
    group_norm hardsigmoid hardswish_backward huber_loss index_add index_copy index_put
    index_reduce index_select inductor_random inductor_seeds layer_norm leaky_relu
    leaky_relu_backward lift_fresh lift_fresh_copy linalg_vector_norm local_scalar_dense
    log_sigmoid log_sigmoid_forward log_softmax log_softmax_backward_data logical_and
    logical_not logical_or logical_xor low_memory_max_pool_with_offsets masked_fill
    masked_scatter max_pool2d_with_indices max_pool2d_with_indices_backward moe_forward
    mse_loss mse_loss_backward nan_to_num native_batch_norm native_batch_norm_backward
    native_batch_norm_legit native_batch_norm_legit_functional
    native_batch_norm_legit_no_training native_dropout native_dropout_backward
    native_group_norm native_group_norm_backward native_layer_norm
    native_layer_norm_backward new_empty new_empty_strided new_full new_ones new_zeros
    nll_loss nll_loss_backward nll_loss_forward one_hot ones_like prepare_softmax_online
    rand_like randint_like randn_like reflection_pad2d repeat_interleave replication_pad2d
    rms_norm rotary_embedding scalar_tensor scaled_dot_product_attention scaled_mm
    scatter_add scatter_reduce select_backward select_scatter sigmoid_backward silu_backward
    slice_backward slice_scatter smooth_l1_loss softmax_backward_data softplus_backward
    split_with_sizes squeeze_copy sum_to_size tanh_backward threshold_backward to_copy
    to_sparse true_divide unfold_backward unsafe_index unsafe_index_put unsafe_masked_index
    unsafe_view upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest2d
    upsample_nearest2d_backward var_mean view_as_complex view_as_real where_self zeros_like
"""
_COMPOUND = frozenset(_JOINED_NAMES.split())
"""Names of operators with an underscore inside, without the first one."""
_LONGEST = 1 + max(name.count("_") for name in _COMPOUND)
_VIEW_NAMES = """
    view unsafe_view reshape t transpose permute expand expand_as as_strided squeeze
    unsqueeze slice select detach alias split split_with_sizes unbind lift_fresh
    scalar_tensor broadcast_in_dim
"""
_VIEWS = frozenset(_VIEW_NAMES.split())
"""They move nothing, so a kernel that does more is not named by them."""
_SHORT = {"to_copy": "cast", "convert_element_type": "cast", "constant_pad_nd": "pad"}
_MOST_OPERATORS = 6
"""A name for people: 34 of 38 fused kernels in the shared recordings have as many or fewer."""


def read_triton(kernel: Kernel) -> KernelName | None:
    """Return ``fused add+mean+mul reduction`` of a kernel of Inductor."""
    found = _INDUCTOR.match(kernel.full)
    if not found:
        return None
    rest = found["rest"].removeprefix("fused").removeprefix("_")
    operators = list(split_operators(rest))
    working = [name for name in operators if name not in _VIEWS] or operators
    shown = [_SHORT.get(name, _plain(name)) for name in dict.fromkeys(working)]
    kind = _KINDS[found["kind"]]
    if not shown:
        return KernelName(f"fused{kind or ' pointwise'}", "compiled")
    more = len(shown) - _MOST_OPERATORS
    text = "+".join(shown[:_MOST_OPERATORS]) + (f"+{more} more" if more > 0 else "")
    if found["kind"] == "tem":
        return KernelName(f"triton {text}", _template(working[0]))
    return KernelName(f"fused {text}{kind}", "compiled")


def _template(operator: str) -> Kind:
    kind = kind_of(operator, GENERIC)
    return kind if kind in ("gemm", "attention", "convolution") else "compiled"


def _plain(name: str) -> str:
    """Return ``layer_norm bwd`` of ``native_layer_norm_backward``."""
    name = re.sub("_backward(_data)?$", " bwd", name.removeprefix("native_"))
    return name.removesuffix("_forward")


def split_operators(joined: str) -> Iterator[str]:
    """Yield the operators of a joined name, the longest known one at each place."""
    words = [word for word in joined.split("_") if word]
    at = 0
    while at < len(words):
        sizes = range(min(_LONGEST, len(words) - at), 1, -1)
        size = next((n for n in sizes if "_".join(words[at : at + n]) in _COMPOUND), 1)
        yield "_".join(words[at : at + size])
        at += size
