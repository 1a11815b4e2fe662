"""Work of kernels by Inductor: each given tensor is read or written once.

The arguments of a launch are recorded, not what it computes. With ``benchmark_kernel`` Inductor
also records its own count: the operations of a product, and the bytes of all that is read or
written (torch/_inductor/runtime/triton_heuristics.py, ``get_profiler_kwargs``).
"""

from __future__ import annotations

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import Work, read_of

PREFIX = "triton_"


def triton_kernel(call: Arguments) -> Work:
    """Return the work of a Triton kernel of Inductor, whose last pointer is a result.

    A pointer that is both read and written counts once, and one that a kernel reads in part
    (a table, a view) counts as a whole: the true bytes may be more or fewer.
    """
    tensors = list(call.tensors())
    if not tensors:
        raise UnknownWork
    read, written = read_of(tensors[:-1]), read_of(tensors[-1:])
    return Work(None, read, written, dtype=tensors[-1].dtype, at_most=True)


def recorded_kernel(model: Work | None, flops: int | None, size: int | None) -> Work:
    """Return the work of a kernel with Inductor's operations and bytes; None is unknown.

    It counts products only, and the sum of bytes: as many are written as the arguments say.
    """
    read, written = (None, None) if model is None else (model.read_bytes, model.written_bytes)
    if size is not None:
        written = min(written or 0, size)
        read = size - written
    known = flops if flops is not None or model is None else model.flops
    return Work(
        known,
        read,
        written,
        matrix=bool(known) and (flops is not None or (model is not None and model.matrix)),
        dtype="" if model is None else model.dtype,
        at_most=model is not None and model.at_most and size is None,
    )
