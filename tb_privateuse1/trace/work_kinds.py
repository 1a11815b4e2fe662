"""The kinds of work of operators and kernels, and the directions of copies by their names."""

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

COPY_TO_DEVICE = r"(?i)HtoD|H2D|host ?to ?dev"
COPY_TO_HOST = r"(?i)DtoH|D2H|dev(ice)? ?to ?host"
"""Patterns in the names of activities, as vendors and backends write them."""
