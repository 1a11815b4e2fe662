"""The classes of time: each instant of a window belongs to exactly one of them.

The order is that of the pages. docs/reference/definitions.md defines each class.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from tb_privateuse1.i18n import say

ClassName = Literal[
    "kernel",
    "exposed_copy",
    "exposed_fill",
    "exposed_communication",
    "unknown",
    "synchronization",
    "blocking_copy",
    "device_memory",
    "file_or_lock",
    "other_rank",
    "input",
    "python",
    "dispatch",
    "launch_call",
    "garbage_collection",
    "launch_latency",
    "queued_gap",
    "before_recording",
    "unknown_launch",
    "profiler",
    "clock_doubt",
    "unattributed",
]
NAMES: tuple[ClassName, ...] = get_args(ClassName)

Group = Literal["device", "blocked", "host", "queue", "outside"]
"""``device``: it works. The others are idle time, in which nothing runs on the device: the host is
``blocked`` in a call, or works; work is in the ``queue``; or the reason is ``outside`` of the
recording."""


class TimeClass(NamedTuple):
    """One class of time."""

    name: ClassName
    group: Group
    label: str
    meaning: str


CLASSES: tuple[TimeClass, ...] = (
    TimeClass("kernel", "device", say("Kernels"), say("A kernel other than communication runs.")),
    TimeClass(
        "exposed_copy",
        "device",
        say("Exposed copies"),
        say("A copy runs, and no kernel."),
    ),
    TimeClass(
        "exposed_fill",
        "device",
        say("Exposed fills"),
        say("A fill of memory runs, and neither a kernel nor a copy."),
    ),
    TimeClass(
        "exposed_communication",
        "device",
        say("Exposed communication"),
        say("Only communication runs on the device."),
    ),
    TimeClass(
        "unknown",
        "device",
        say("Device busy, launcher unknown"),
        say("Marks wait for the device, and no known operator launched what it does."),
    ),
    TimeClass(
        "synchronization",
        "blocked",
        say("Synchronization"),
        say("The host is in a call that waits for it."),
    ),
    TimeClass(
        "blocking_copy",
        "blocked",
        say("Blocking copies"),
        say("The host is in a copy's call that returns after the copy."),
    ),
    TimeClass(
        "device_memory",
        "blocked",
        say("Device memory"),
        say("The host allocates, frees or registers memory of it."),
    ),
    TimeClass(
        "file_or_lock",
        "blocked",
        say("Files and locks"),
        say("The host waits for a file, a lock, a socket or a timer."),
    ),
    TimeClass(
        "other_rank",
        "blocked",
        say("Other ranks"),
        say("The host waits for other ranks or communicates itself."),
    ),
    TimeClass(
        "input",
        "host",
        say("Data loader"),
        say("The host is in the data loader."),
    ),
    TimeClass(
        "python",
        "host",
        say("Python outside operators"),
        say("The program runs its own code, in no operator."),
    ),
    TimeClass(
        "dispatch",
        "host",
        say("Operators on the host"),
        say("The host is in an operator: dispatch, autograd, CPU kernels."),
    ),
    TimeClass(
        "launch_call",
        "host",
        say("Launch calls"),
        say("The host is in a call of the runtime that does not wait."),
    ),
    TimeClass(
        "garbage_collection",
        "host",
        say("Garbage collection"),
        say("Python collects garbage."),
    ),
    TimeClass(
        "launch_latency",
        "queue",
        say("Launch latency"),
        say("The launch has returned, and its activity has not begun, for as long as is usual."),
    ),
    TimeClass(
        "queued_gap",
        "queue",
        say("Gaps with queued work"),
        say("The next activity is in the queue, and the device does not start it."),
    ),
    TimeClass(
        "before_recording",
        "outside",
        say("Work from before the recording"),
        say("The device still ran work that was launched before the recording began."),
    ),
    TimeClass(
        "unknown_launch",
        "outside",
        say("Unknown launch"),
        say("The next activity has no recorded launch, so its delay has no recorded reason."),
    ),
    TimeClass(
        "profiler",
        "outside",
        say("Profiler"),
        say("The profiler starts, stops or changes its state."),
    ),
    TimeClass(
        "clock_doubt",
        "outside",
        say("Clock doubt"),
        say("The activity begins before its launch: the clocks of host and device disagree."),
    ),
    TimeClass(
        "unattributed",
        "outside",
        say("Unattributed"),
        say("No recorded event explains it."),
    ),
)

NUMBER: dict[ClassName, int] = {name: number for number, name in enumerate(NAMES)}
"""The number of each class, as the column ``time_class`` holds it."""

IDLE: tuple[ClassName, ...] = tuple(c.name for c in CLASSES if c.group != "device")
"""The classes of idle time."""
