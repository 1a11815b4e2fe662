"""The module that torch registers as `torch.refdev`: what users expect of a device's namespace."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from . import _C

Device = torch.device | str | int | None


def _index(device: Device) -> int:
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return current_device() if index is None else index


def is_available() -> bool:
    """Say whether there is a device; here there always is."""
    return True


def is_initialized() -> bool:
    """Say whether the device is ready; loading the extension makes it so."""
    return True


def device_count() -> int:
    """Count the devices."""
    return _C.device_count()


def current_device() -> int:
    """Give the calling thread's current device."""
    return _C.current_device()


def set_device(device: Device) -> None:
    """Make a device the calling thread's current one."""
    _C.set_device(_index(device))


def get_device_name(device: Device = None) -> str:
    """Name the device."""
    return f"refdev:{_index(device)}"


def synchronize(device: Device = None) -> None:
    """Wait until all streams of the device are done."""
    torch.accelerator.synchronize(_index(device))


_streams: dict[tuple[int, int], torch.Stream] = {}
"""The streams that were asked for, by device and number."""


# Functions and not classes: torch.Event compares its operands' type exactly.
def Stream(device: Device = None, priority: int = 0) -> torch.Stream:  # noqa: N802
    """Give a stream of the device's pool."""
    stream = torch.Stream(torch.device("refdev", _index(device)), priority=priority)
    return _streams.setdefault((stream.device_index, stream.stream_id), stream)


def marker_streams() -> list[torch.Stream]:
    """Give the streams of the current device on which the capture marks the ends of steps."""
    device = current_device()
    return [default_stream(), *(s for s in _streams.values() if s.device_index == device)]


def Event(enable_timing: bool = False, blocking: bool = False) -> torch.Event:  # noqa: N802
    """Make an event; its `elapsed_time` is in ms, and needs `enable_timing=True`."""
    return torch.Event(torch.device("refdev"), enable_timing=enable_timing, blocking=blocking)


def current_stream(device: Device = None) -> torch.Stream:
    """Give the stream that this thread launches on."""
    return torch.accelerator.current_stream(_index(device))


def default_stream(device: Device = None) -> torch.Stream:
    """Give stream 0, the current one of every thread that has chosen none."""
    device_type: Any = torch._C._autograd.DeviceType.PrivateUse1
    return torch.Stream(stream_id=0, device_index=_index(device), device_type=int(device_type))


def set_stream(stream: torch.Stream) -> None:
    """Launch on the stream from now on, in this thread."""
    torch.accelerator.set_stream(stream)


@contextmanager
def stream(stream: torch.Stream | None) -> Iterator[None]:
    """Launch on the stream inside the block, in this thread."""
    if stream is None:
        yield
        return
    before_device, before_stream = current_device(), current_stream(stream.device)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before_stream)
        set_device(before_device)


class device:  # noqa: N801 - named as torch.cuda.device is
    """A context in which the device is the current one."""

    def __init__(self, device: Device) -> None:
        self.index = _index(device)

    def __enter__(self) -> None:
        self.before = current_device()
        set_device(self.index)

    def __exit__(self, *_: Any) -> None:
        set_device(self.before)


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current device."""
    _C.manual_seed(current_device(), seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all devices; `torch.manual_seed` does so."""
    for index in range(device_count()):
        _C.manual_seed(index, seed)


def get_rng_state(device: Device = None) -> torch.Tensor:
    """Give the state of the device's random numbers as bytes."""
    return torch.frombuffer(bytearray(_C.rng_state(_index(device))), dtype=torch.uint8)


def set_rng_state(state: torch.Tensor, device: Device = None) -> None:
    """Go on with random numbers from a state."""
    _C.set_rng_state(_index(device), state.cpu().numpy().tobytes())


def _is_in_bad_fork() -> bool:
    return False  # a forked child is told at its first launch


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the types of `torch.autocast("refdev")`; csrc/autocast.cpp has the operators."""
    return [torch.float16, torch.bfloat16]


def is_tiled(tensor: torch.Tensor) -> bool:
    """Say whether a tensor of the device is in tiles; `torch.save` keeps it."""
    return torch.ops.refdev.is_tiled(tensor)


def set_tiled(tensor: torch.Tensor, tiled: bool = True) -> None:
    """Note that a tensor of the device is in tiles."""
    torch.ops.refdev.set_tiled(tensor, tiled)


def elapsed_streams() -> tuple[int, int, int]:
    """Give device and streams of the two events whose elapsed time the profiler last asked for.

    With it the profiler's elapsed times can be told apart by stream; nothing in a trace says it.
    """
    return _C.elapsed_streams()


def event_times() -> tuple[int, int]:
    """Give when the device executed these two events, in ns after a reference event.

    The reference is an event of the same device, and the same for all of a recording. With it the
    device's times are measured; elapsed times alone leave open how far the device was behind.
    """
    return _C.event_times()


def start_launch_log() -> None:
    """Forget the launches that were logged, and log each from now on."""
    _C.launch_log_start()


def stop_launch_log() -> tuple[list[int], list[int], list[int], list[int]]:
    """Give host time (ns since the epoch), thread, device and stream of each launch since.

    With it the profiler's users know who launched what; torch's results do not say it.
    """
    return _C.launch_log_stop()


def memory_allocated(device: Device = None) -> int:
    """Give the bytes that tensors occupy."""
    return torch.accelerator.memory_allocated(_index(device))


def max_memory_allocated(device: Device = None) -> int:
    """Give the peak of `memory_allocated` in bytes."""
    return torch.accelerator.max_memory_allocated(_index(device))


def memory_reserved(device: Device = None) -> int:
    """Give the bytes taken from the host, in use or kept for later."""
    return torch.accelerator.memory_reserved(_index(device))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Let the peak start again at what is allocated now."""
    torch.accelerator.reset_peak_memory_stats(_index(device))


def empty_cache() -> None:
    """Return kept memory that no tensor occupies to the host."""
    torch.accelerator.empty_cache()
