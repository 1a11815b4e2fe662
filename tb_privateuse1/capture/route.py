"""Decide how a run is recorded: torch's profiler alone, or with times of the vendor's events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch.profiler import ProfilerActivity

from tb_privateuse1.capture import backend, native_probe
from tb_privateuse1.capture.warnings import Notes

Route = Literal["events", "native", "torch"]
Wanted = Literal["auto", "events", "native", "torch"]


@dataclass(frozen=True)
class Plan:
    """The way to record a run."""

    route: Route
    activities: list[Any] | None
    """For torch's profiler; None leaves the choice to it."""
    device: bool
    """Whether a PrivateUse1 device was to be recorded, even if it cannot be."""
    reason: str = "it was asked for"
    open: bool = False
    """Whether a trial before the first recording may still change the route."""


def choose(
    activities: Iterable[Any] | None, wanted: Wanted, notes: Notes, by_framework: bool = False
) -> Plan:
    """The plan for ``activities``; notes why where it is not what was asked for.

    ``by_framework``: the activities are those that a framework knows, which need not be those of
    this machine. Raises ValueError if ``wanted`` is no route.
    """
    if wanted not in ("auto", "events", "native", "torch"):
        raise ValueError(f"route must be auto, events, native or torch, not {wanted!r}")
    chosen = None if activities is None else list(activities)
    if chosen is not None and by_framework:
        chosen = _of_this_machine(chosen, notes)
    elif wanted == "auto":
        _check_devices(_kinds(chosen or []), notes)
    if wanted == "torch" or not _concerns_device(chosen, wanted):
        return Plan("torch", chosen, device=False)
    if chosen is None and backend.PRIVATEUSE1 is not None:
        chosen = [ProfilerActivity.CPU, backend.PRIVATEUSE1]
    if backend.backend_name() == backend.UNNAMED:
        notes.add(
            "not-renamed",
            "the PrivateUse1 backend has no name, which torch's profiler needs: call "
            "torch.utils.rename_privateuse1_backend(); only the host is recorded",
        )
        plan = Plan("torch", chosen, device=True, reason="the backend has no name")
    elif wanted == "auto":
        plan = _registered(chosen)
    else:
        plan = Plan(wanted, chosen, device=True)
    if plan.route == "events":
        plan = _with_stubs(plan, notes, wanted)
    if plan.route != "native" and chosen and ProfilerActivity.CPU not in _kinds(chosen):
        chosen.append(ProfilerActivity.CPU)
        notes.add(
            "cpu-activity-added",
            "ProfilerActivity.CPU was not among the activities; it was added, because without it "
            "torch records no operators and no device times of them",
        )
    return plan


def _registered(activities: list[Any] | None) -> Plan:
    """Return the plan by what the vendor registered; it is open if only a trial can tell."""
    registered = backend.has_native_profiler()
    if not registered:
        asked = "no Kineto profiler is registered"
        unknown = "whether a Kineto profiler is registered cannot be asked"
        reason = asked if registered is False else unknown
        return Plan("events", activities, True, reason, open=True)
    # Without the CPU there would be no operators, so that events are no way out.
    usable = activities is None or ProfilerActivity.CPU in _kinds(activities)
    other = usable and backend.has_stubs() is not False and backend.missing_internals() is None
    return Plan("native", activities, True, "a Kineto profiler is registered", open=other)


def settle(plan: Plan, notes: Notes) -> Plan:
    """Return the plan after a trial of torch's own profiler, if it is open.

    To be called before a recording begins: nothing touches the device before that.
    """
    if not plan.open:
        return plan
    registered = plan.route == "native"
    found = native_probe.records_device(backend.backend_name(), registered)
    if found.recorded:
        reason = "torch's own profiler recorded the device when it was tried"
        return replace(plan, route="native", reason=reason, open=False)
    if found.recorded is None:
        reason = f"{plan.reason}; torch's own profiler could not be tried: {found.failed}"
        notes.add("route-untried", f"the route is {plan.route!r}: {reason}")
    else:
        link = ", but" if registered else ", and"
        reason = f"{plan.reason}{link} torch's own profiler recorded nothing of the device"
    route: Route = "native" if registered and found.recorded is None else "events"
    return _with_stubs(replace(plan, route=route, reason=reason, open=False), notes)


def _of_this_machine(chosen: list[Any], notes: Notes) -> list[Any]:
    """The activities with the machine's accelerator, if that is a PrivateUse1 backend."""
    if not backend.is_current() or backend.PRIVATEUSE1 in _kinds(chosen):
        return chosen
    notes.add(
        "device-activity-added",
        f"the framework asked for {_names(_kinds(chosen))}; the accelerator of this machine, "
        f"{backend.backend_name()!r}, is recorded, too",
    )
    return [ProfilerActivity.CPU, backend.PRIVATEUSE1]


def _check_devices(kinds: set[ProfilerActivity], notes: Notes) -> None:
    """Note that another kind of device was asked for than the machine has."""
    others = kinds - {ProfilerActivity.CPU, backend.PRIVATEUSE1}
    if others and backend.is_current():
        notes.add(
            "other-accelerator",
            f"{_names(others)} was asked for, but the accelerator of this machine is "
            f"{backend.backend_name()!r}: ask for ProfilerActivity.PrivateUse1 instead, or for "
            "no activities at all",
        )


def _names(kinds: set[ProfilerActivity]) -> str:
    return ", ".join(sorted(kind.name for kind in kinds))


def _concerns_device(activities: list[Any] | None, wanted: Wanted) -> bool:
    kinds = _kinds(activities or [])
    if kinds - {ProfilerActivity.CPU, backend.PRIVATEUSE1}:
        return False  # torch records one kind of device only, and prefers the others
    if backend.PRIVATEUSE1 in kinds or wanted != "auto":
        return True
    return activities is None and backend.is_current()


def _kinds(activities: list[Any]) -> set[ProfilerActivity]:
    """The activities without their filters (torch 2.13 takes ``{activity: [names]}``)."""
    return {kind for item in activities for kind in (item if isinstance(item, dict) else [item])}


def _with_stubs(plan: Plan, notes: Notes, wanted: Wanted = "auto") -> Plan:
    """Return the plan for events, or for the host alone where they cannot be recorded, with why."""
    if plan.route != "events":
        return plan
    # While it is open nothing is noted: torch's own profiler may record the device yet.
    notes = Notes() if plan.open else notes
    if backend.has_stubs() is False:
        profiler = "" if wanted == "events" else " and no Kineto profiler"
        why = f"the backend {backend.backend_name()!r} registered no ProfilerStubs{profiler}"
        notes.add("no-stubs", f"{why}; only the host is recorded")
        return replace(plan, route="torch", reason=why)
    missing = backend.missing_internals()
    if missing is not None:
        why = f"torch {torch.__version__} lacks {missing}"
        notes.add("torch-changed", f"{why}; only the host is recorded")
        return replace(plan, route="torch", reason=why)
    return plan
