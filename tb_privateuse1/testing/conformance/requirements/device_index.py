"""Check whether events name the device that they are on."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    import torch

    current = torch.accelerator.current_device_index()
    of_tensor = subject.long_values.device.index
    if of_tensor != current:
        return Answer("fail", f"tensors are on device {of_tensor}, the current one is {current}")
    said = {row.streams[0] for row in subject.sample if row.streams}
    values = {"current": current, "said": sorted(said)}
    if said - {current}:
        return Answer("fail", f"events are said to be on {max(said)}, not on {current}", values)
    of_events = "" if said else "; events name none"
    return Answer("ok", f"{current}{of_events}", values)


REQUIREMENT = Requirement(
    "device_index",
    "the device's index is right",
    "Work is drawn on a device that does not exist, or two devices share a lane.",
    "if (device != nullptr) {  // in record()\n"
    "  *device = static_cast<c10::DeviceIndex>(current_device());\n"
    "}",
    _check,
    section="least-events-around-operators",
)
