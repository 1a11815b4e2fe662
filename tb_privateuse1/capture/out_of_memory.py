"""Write what is known of the memory when an allocation fails and the error leaves a block of code.

The error keeps the frames that raised it, and with them what they hold, so that the block's end
still sees nearly what the failed allocation saw.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from tb_privateuse1.capture import output_files
from tb_privateuse1.capture.backend import backend_name
from tb_privateuse1.capture.termination import termination
from tb_privateuse1.capture.trace_handler import default_worker_name
from tb_privateuse1.capture.warnings import CaptureWarning, Notes
from tb_privateuse1.capture.window_options import MemorySnapshot

_WORDS = ("out of memory", "can't allocate memory", "not enough memory")
"""Of messages: the device allocators', ``c10/core/impl/alloc_cpu.cpp`` on Linux and on Windows."""
_MOST_ROWS = 50
_FIGURES = ("memory_allocated", "memory_reserved", "max_memory_allocated")


@contextmanager
def on_out_of_memory(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Within ``with``: if an error of a failed allocation leaves the block, write files first.

    They are ``<worker>.<time>.out_of_memory.txt``, who holds what; and beside it a memory snapshot,
    where the device's allocator writes one. A recording of this thread ends and is saved. The error
    goes on as it was.
    """
    device = _device()
    notes, snapshot = Notes(), MemorySnapshot(True)
    snapshot.start(device, notes)
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            _write(Path(folder), error, device, snapshot, notes)
        raise
    finally:
        snapshot.stop(notes)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that an allocation failed."""
    kind = getattr(torch, "OutOfMemoryError", MemoryError)
    if isinstance(error, (MemoryError, kind)):
        return True
    return isinstance(error, RuntimeError) and any(w in str(error).lower() for w in _WORDS)


def _device() -> str | None:
    """Return torch's name of the machine's accelerator, None without one."""
    current = getattr(getattr(torch, "accelerator", None), "current_accelerator", None)
    try:
        found = None if current is None else current()
    except RuntimeError:
        found = None
    if found is not None:
        return str(found.type)
    if torch.cuda.is_available():
        return "cuda"
    return backend_name() if hasattr(torch, backend_name()) else None


def _write(
    folder: Path, error: BaseException, device: str | None, snapshot: MemorySnapshot, notes: Notes
) -> None:
    """Write the report, the snapshot and the open recordings; never raises for a file."""
    stem = f"{default_worker_name()}.{time.time_ns()}"
    path = folder / f"{stem}.out_of_memory.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        snapshot.write(folder / (stem + output_files.TRACE), notes)
        text = _report(error, device, notes)
        output_files.write_file(path, lambda to: to.write_text(text, encoding="utf-8"))
    except Exception as failure:
        lost = Notes()
        lost.add("no-memory-report", f"{path} was not written: {failure}")
        with suppress(CaptureWarning):  # where warnings are errors, the first error still goes on
            lost.show()
    termination.save("an allocation that failed")


def _report(error: BaseException, device: str | None, notes: Notes) -> str:
    """Return who holds what, and what is not known."""
    module: Any = getattr(torch, device or "", None)
    lines = [f"{type(error).__name__}: {error}", "", f"device: {device or 'none'}"]
    for name in _FIGURES:
        figure = getattr(getattr(module, "memory", None), name, None) or getattr(module, name, None)
        lines.append(f"{name}: {_figure(figure)}")
    blocks = _blocks(module)
    if blocks is None:
        lines += ["", "The allocator does not list its blocks: no lines are known."]
    else:
        lines += ["", "Live blocks by line, in bytes:", *_rows(blocks)]
    lines += ["", "Tensors that Python holds, in bytes, storages once:", *_rows(_tensors())]
    lines += ["Tensors that only C++ holds, as saved for the backward pass, are not among them."]
    lines += [f"[{code}] {message}" for code, message in notes.found.items()]
    return "\n".join(lines) + "\n"


def _figure(figure: Any) -> str:
    try:
        return "not reported" if figure is None else f"{figure():,} bytes"
    except Exception as error:
        return f"not reported ({type(error).__name__}: {error})"


def _blocks(module: Any) -> Counter[str] | None:
    """Return the bytes of live blocks by innermost Python frame; None if they are not listed."""
    listed = getattr(getattr(module, "memory", None), "_snapshot", None)
    if listed is None:
        return None
    held: Counter[str] = Counter()
    try:
        for segment in listed()["segments"]:
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    held[_line(block.get("frames", ()))] += int(block["size"])
    except Exception:  # of a vendor's own layout
        return None
    return held


def _line(frames: Any) -> str:
    """Return the innermost frame of the program: of a Python file that is not torch's."""
    own = os.path.dirname(torch.__file__)
    for frame in frames:
        file = str(frame["filename"])
        if file.endswith(".py") and not file.startswith(own):
            return f"{file}:{frame['line']} in {frame['name']}"
    return "no line known"


def _tensors() -> Counter[str]:
    """Return the bytes of the tensors that Python's collector knows, by device, type and shape."""
    held: Counter[str] = Counter()
    seen = set()
    for one in gc.get_objects():
        try:
            if not isinstance(one, torch.Tensor):
                continue
            storage = one.untyped_storage()
            key = (one.device, storage.data_ptr())
            if key not in seen and storage.nbytes():
                seen.add(key)
                held[f"{one.device} {one.dtype} {list(one.shape)}"] += storage.nbytes()
        except Exception:  # of objects that are half made, and of tensors without a storage
            continue
    return held


def _rows(held: Counter[str]) -> list[str]:
    """Return the largest holders as lines, and the sum of the others."""
    rows = [f"{size:>16,}  {name}" for name, size in held.most_common(_MOST_ROWS)]
    rest = sum(held.values()) - sum(size for _, size in held.most_common(_MOST_ROWS))
    return [*rows, *([f"{rest:>16,}  others"] if rest else []), f"{sum(held.values()):>16,}  sum"]
