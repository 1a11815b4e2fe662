"""The reference device is an example, not an installed package: its path is added here.

Nothing is skipped: without torch or a compiler the import of `refdevice` fails and names it.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import warm_python

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "refdevice"
sys.path.insert(0, str(EXAMPLE))


@pytest.fixture(autouse=True)
def as_configured() -> Iterator[None]:
    """Undoes what a test configures, and hands over an idle device on its default streams."""
    import refdevice
    import torch

    before = refdevice.config()
    yield
    for index in range(torch.refdev.device_count()):
        torch.accelerator.synchronize(index)
    refdevice.configure(**before)
    torch.refdev.set_device(0)


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Leave cores to the device, which computes on threads of its own."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def occupy() -> Callable[[], None]:
    """Keep the current stream busy for 50 ms with one kernel, however long the host then takes."""
    import refdevice
    import torch

    x = torch.ones(4, device="refdev")
    x + 1

    def run() -> None:
        before = refdevice.config()["kernel_fixed_ns"]
        refdevice.configure(kernel_fixed_ns=50_000_000)
        x + 1
        refdevice.configure(kernel_fixed_ns=before)

    return run


@pytest.fixture
def truth() -> Iterator[Callable[[], dict[str, list]]]:
    """Logs from here on; calling it gives the columns so far."""
    import refdevice
    import torch

    torch.refdev.synchronize()
    refdevice.truth.start()
    yield refdevice.truth.columns
    refdevice.truth.stop()


@pytest.fixture(scope="session")
def python() -> Callable[..., str]:
    """Run Python in a process of its own, since profilers are registered once per process."""

    def run(*arguments: str, **environment: str) -> str:
        paths = os.pathsep.join([str(ROOT), str(EXAMPLE)])
        done = warm_python.run(
            warm_python.TORCH,
            ["-W", "error", *arguments],
            env={**os.environ, "PYTHONPATH": paths, **environment},
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
