"""The kinds of work of operators and kernels."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "gemm",
    "convolution",
    "attention",
    "normalization",
    "recurrent",
    "pooling",
    "softmax_loss",
    "elementwise",
    "reduction",
    "indexing",
    "random",
    "copy",
    "view",
    "allocation",
    "optimizer",
    "communication",
    "compiled",
    "autograd",
    "other",
]
