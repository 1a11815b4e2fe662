"""Check and repair records of the device: clocks, impossible times, missing activities.

A record is whole, repaired, impossible or missing. ``zero_times`` leaves out ranges whose time was
not written, ``far_times`` those of another day, ``impossible_steps`` steps around other steps.
``host_ends`` cuts ranges of the host that end long after the recording. ``concurrent_steps`` leaves
out steps of other threads beside those of one.
``device_clock`` puts a device's times on the host's clock. ``stream_order`` cuts activities that a
later one of their stream contradicts. ``completeness`` finds launches whose activities are missing,
and the steps that lack them. ``lost_calls`` says that the runtime's calls are missing. ``unread``
counts the events that no table has. All of them count what they change in a finding.
"""

__all__ = [
    "completeness",
    "concurrent_steps",
    "device_clock",
    "far_times",
    "host_ends",
    "impossible_steps",
    "lost_calls",
    "stream_order",
    "unread",
    "zero_times",
]
