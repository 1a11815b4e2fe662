"""Check what a forked child sees of the device: it may work or raise, but not hang."""

from __future__ import annotations

import os
import signal
import time
import warnings

import torch

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_PATIENCE_S, _LOOK_S = 4.0, 0.02
_WORKED, _RAISED = 0, 3


def _check(subject: Subject) -> Answer:
    if not hasattr(os, "fork"):
        return Answer("none", "this platform does not fork")
    subject.read_back()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, on threads and forks
        child = os.fork()
    if child == 0:
        _use_the_device(subject)
    code = _wait_for(child)
    if code is None:
        return Answer("fail", f"a forked child hangs: nothing in {_PATIENCE_S:.0f} s")
    if code == _WORKED:
        return Answer("ok", "a forked child can use the device")
    if code == _RAISED:
        return Answer("ok", "a forked child gets an exception")
    return Answer("fail", f"a forked child dies by signal {-code}" if code < 0 else f"exit {code}")


def _use_the_device(subject: Subject) -> None:
    """Work in the child, which never returns."""
    code = _RAISED
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        values = torch.ones(4, device=subject.device)
        code = _WORKED if values.add_(1.0)[0].item() > 0 else _RAISED
    except BaseException:
        code = _RAISED
    finally:
        os._exit(code)


def _wait_for(child: int) -> int | None:
    """Return the child's exit code, negative for a signal, or None if it had to be killed."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_LOOK_S)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


REQUIREMENT = Requirement(
    "fork",
    "a forked child does not hang",
    "Data loaders and launchers that fork hang without a word once they touch the device.",
    "static std::atomic<bool> in_child{false};\n"
    "pthread_atfork(nullptr, nullptr, [] { in_child = true; });  // when the library is loaded\n"
    'TORCH_CHECK(!in_child, "mydev: cannot be used in a forked process, start it with spawn");',
    _check,
)
