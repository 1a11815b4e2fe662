"""Frames of libraries, by the paths of their files."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.operators.library_frames import is_library, users


@pytest.mark.parametrize(
    "frame",
    [
        "torch/nn/modules/module.py(1518): _call_impl", "<built-in method item of Tensor object>",
        "/env/lib/python3.11/site-packages/hf/x.py(2): f", "torch_npu/npu/utils.py(3): sync",
        "/usr/lib/python3.12/asyncio/base_events.py(9): run", "threading.py(99): _bootstrap",
        "concurrent/futures/thread.py(5): run", "importlib._bootstrap>(241): _call",
        "_collections_abc.py(12): get", "torchvision/models/resnet.py(3): forward",
        "/tmp/torchinductor_me/ov/cov463qhi2m2kw6ldmzzijfv5t3cjjklfci3qly3nsw6upcskct3.py(2): call",
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


COMPILED = "/cache/ov/cov463qhi2m2kw6ldmzzijfv5t3cjjklfci3qly3nsw6upcskct3.py(2): call"


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        # A package beside the entry's own is a library; so is any package beside a whole path.
        (["hf/x.py(2): f", "app/run.py(3): step", "app/main.py(9): main"], 1),
        (["hf/x.py(2): f", "/app/run.py(3): step", "/app/main.py(9): main"], 1),
        # Beside a script without a folder any package may be the user's.
        (["net/x.py(2): f", "train.py(3): step", "train.py(9): <module>"], 0),
        # A launcher is not the entry: the script that it runs is.
        (["app/run.py(3): step", "app/main.py(9): <module>", "<frozen runpy>(88): _run_code",
          "launch/run.py(2): main"], 0),
        # The caller of compiled code is the nearest frame outside of torch.
        ([COMPILED, "torch/_inductor/utils.py(3): run", "net.py(5): forward"], 2),
        ([COMPILED, "torch/_inductor/utils.py(3): run"], None),
        (["/lib/site-packages/hf/x.py(2): f", "torch/x.py(1): g"], 0),
        (["<built-in method item>"], None),
    ],
)  # fmt: skip
def test_the_frame_of_the_users_own_code(stack: list[str], expected: int | None) -> None:
    assert users(stack) == expected


def test_the_recording_says_which_frames_are_the_users() -> None:
    stack = ["hf/x.py(2): f", "net/x.py(2): f", "train.py(9): <module>"]
    assert users(stack, {"net/x.py(2): f", "train.py(9): <module>"}) == 1
