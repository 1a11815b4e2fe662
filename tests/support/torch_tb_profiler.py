"""torch-tb-profiler, in a folder of its own: a TensorBoard that finds it reads each trace twice.

``make test`` installs it into ``.venv/peers``, where only the tests that compare with it look.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(sys.prefix) / "peers"


def module(name: str) -> Any:
    """Return one of its modules; skip the test where it is not installed."""
    skip_if_absent()
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(f"torch_tb_profiler.{name}")


def skip_if_absent() -> None:
    """Skip a test where torch-tb-profiler is not installed."""
    if not (FOLDER / "torch_tb_profiler").exists():
        pytest.skip("torch-tb-profiler is not installed")
