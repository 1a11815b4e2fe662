"""Idle device time: whether host or device limits the program, and the calls in which they wait.

``device_bound`` decides which side limits the program at each instant. ``blocking_calls`` finds
calls that wait for the device, ``launch_times`` when work was handed to it. ``host_side`` says what
a recording without the device shows. ``analysis.account`` divides all time by class.
"""

__all__ = [
    "blocking_calls",
    "device_bound",
    "host_side",
    "launch_times",
]
