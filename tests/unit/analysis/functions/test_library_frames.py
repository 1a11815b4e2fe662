"""Frames of libraries, by the paths of their files."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.functions.library_frames import is_library


@pytest.mark.parametrize(
    "frame",
    [
        "torch/nn/modules/module.py(1518): _call_impl", "<built-in method item of Tensor object>",
        "/env/lib/python3.11/site-packages/hf/x.py(2): f", "torch_npu/npu/utils.py(3): sync",
        "/usr/lib/python3.12/asyncio/base_events.py(9): run", "threading.py(99): _bootstrap",
        "concurrent/futures/thread.py(5): run", "importlib._bootstrap>(241): _call",
        "_collections_abc.py(12): get",
    ],
)  # fmt: skip
def test_a_library(frame: str) -> None:
    assert is_library(frame)


@pytest.mark.parametrize(
    "frame",
    [
        "train.py(3): step", "vllm/worker.py(8): run", "/home/me/project/train.py(1): <module>",
        "profile.py(1): <module>", "trace.py(4): main", "mymodel/threading.py(2): f",
        "/home/me/torch_tests/copy.py(2): f",
    ],
)  # fmt: skip
def test_the_users_own(frame: str) -> None:
    assert not is_library(frame)
