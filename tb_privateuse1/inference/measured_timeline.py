"""Build the device activities that a profiler recorded, linked to their launches."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.inference import event_waits, flow_arrows
from tb_privateuse1.inference.launch_links import link_activities
from tb_privateuse1.inference.process_numbers import process_numbers, stream_owners
from tb_privateuse1.inference.stage_inputs import (
    Activities,
    GraphAnnotations,
    MetadataClaims,
    Strings,
    rows_of_ids,
)
from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import distinct_values, group_rows, named_rows
from tb_privateuse1.trace.launch_configs import Configs
from tb_privateuse1.trace.model import (
    BOUND,
    EVIDENCE,
    KERNEL,
    MEASURED,
    MEMCPY,
    MEMSET,
    MISSING,
    NONE,
    OPERATOR,
    DeviceAnnotations,
    Kernels,
    Lanes,
    Launches,
    Ops,
)
from tb_privateuse1.trace.table import I8, I32, I64, Bools
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors.kernel_names import is_collective, move_of

MERGED_CATEGORY = "device_kernel"
"""The category that ``export/chrome.py`` and the published recipe write: inferred times."""


_ANNOTATIONS = re.compile(r"\w_user_annotation$", re.IGNORECASE)
"""Categories of a device's copies of annotations: ``gpu_user_annotation`` of kineto."""


def build_activities(
    raw: Raw, vendor: Vendor, strings: Strings, ops: Ops, launches: Launches
) -> Activities | None:
    """Return the recorded activities, or None if the trace has none."""
    kinds = {
        **dict.fromkeys(vendor.kernel_categories, KERNEL),
        **dict.fromkeys(vendor.memcpy_categories, MEMCPY),
        **dict.fromkeys(vendor.memset_categories, MEMSET),
        MERGED_CATEGORY: KERNEL,
    }
    groups = {c: g for c, g in raw.groups.items() if c.lower() in kinds}
    if not groups:
        return None
    events = Group.join(list(groups.values()), MISSING_OF)
    sizes = [len(g) for g in groups.values()]
    kind = np.repeat([kinds[c.lower()] for c in groups], sizes).astype(np.int8)
    merged = np.repeat([c.lower() == MERGED_CATEGORY for c in groups], sizes)
    order = np.argsort(events.start_ns, kind="stable")
    events, kind, merged = events.take(order), kind[order], merged[order]

    kind = _kinds_by_name(events.name, kind, strings)
    lanes, lane = _lanes(raw, events, strings)
    caller = process_numbers(raw.threads, launches.thread)
    owner = stream_owners(launches, caller, events, lane)
    launch = link_activities(launches, events, lane, kind, (caller, owner), vendor, strings.all)
    launch, by_arrow = _follow_arrows(raw, events, ops, launches, launch)
    op = _operators(raw, events, launch, by_arrow, owner, ops, launches)
    configs, config = _configs(events)
    kernels = Kernels(
        name=events.name,
        kind=kind,
        communication=_communication(events, kind, vendor, strings),
        start_ns=events.start_ns,
        end_ns=events.end_ns,
        lane=lane,
        launch=launch,
        op=op,
        capture=np.full(len(events), NONE, np.int32),
        captured_op=np.full(len(events), NONE, np.int32),
        step=np.full(len(events), NONE, np.int32),
        config=config,
        correlation=events.id("correlation"),
        bytes=events.id("bytes", int(MISSING)),
        evidence=_evidence(events, merged, strings),
        start_bound_ns=np.where(merged, events.id("start_bound_ns", int(MISSING)), 0),
        shift_bound_ns=np.where(merged, np.maximum(events.id("shift_bound_ns", 0), 0), 0),
        duration_bound_ns=np.where(merged, events.id("duration_bound_ns", int(MISSING)), 0),
        error_group=np.full(len(events), NONE, np.int32),
        event=events.event,
    )
    return Activities(
        kernels,
        lanes,
        claims=MetadataClaims.by(events),
        configs=configs,
        annotations=_annotations(raw, lanes),
        waits=event_waits.build_event_waits(raw, lanes, launches),
        graph=GraphAnnotations.of(events),
    )


def _annotations(raw: Raw, lanes: Lanes) -> DeviceAnnotations:
    """Return the device's copies of annotations, on the lanes that ran activities."""
    groups = [group for c, group in raw.groups.items() if _ANNOTATIONS.search(c)]
    events = Group.join(groups, MISSING_OF)
    device, stream = _device_and_stream(raw, events)
    same = (device[:, None] == lanes.device) & (stream[:, None] == lanes.stream)
    rows = np.flatnonzero(same.any(axis=1))
    rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
    return DeviceAnnotations(
        name=events.name[rows],
        start_ns=events.start_ns[rows],
        end_ns=events.end_ns[rows],
        lane=same[rows].argmax(axis=1).astype(np.int32),
        event=events.event[rows],
    )


def _configs(events: Group) -> tuple[Configs, I32]:
    """Return the distinct launch properties, and the index of each activity's."""
    rows = np.flatnonzero((events.text("block") >= 0) | (events.text("unit") >= 0))
    row = np.full(len(events), NONE, np.int32)
    if not len(rows):
        return Configs.empty(), row
    absent = int(MISSING)
    whole = Configs(
        grid=events.text("grid")[rows],
        block=events.text("block")[rows],
        registers=events.id("registers", absent)[rows],
        shared_bytes=events.id("shared_bytes", absent)[rows],
        blocks_per_sm=events.text("blocks_per_sm")[rows],
        occupancy=events.text("occupancy")[rows],
        unit=events.text("unit")[rows],
    )
    first, row[rows] = group_rows(*(column for _, column in whole.columns()))
    return whole.take(first), row


def _follow_arrows(
    raw: Raw, events: Group, ops: Ops, launches: Launches, launch: I32
) -> tuple[I32, I32]:
    """Return each activity's ``launch``, else that of an arrow, and its operator by an arrow.

    An arrow comes from the innermost range around its tail, as the Chrome trace format has it.
    """
    operator = np.full(len(events), NONE, np.int32)
    wanted = (events.id("correlation") <= 0) & (launch < 0)
    if not wanted.any():
        return launch, operator
    is_operator = np.flatnonzero(ops.kind == OPERATOR).astype(np.int32)
    for flows in flow_arrows.by_category(raw.flows):
        thread, at_ns = flow_arrows.arrow_tails(flows, events.thread, events.start_ns, wanted)
        call = flow_arrows.rows_at(launches.thread, launches.start_ns, thread, at_ns)
        call = np.where(call >= 0, call, _around(launches, thread, at_ns))
        launch = np.where(launch >= 0, launch, call).astype(np.int32)
        caller = _around(ops.take(is_operator), thread, at_ns)
        caller = lookup(is_operator, caller, NONE)
        operator = np.where(operator >= 0, operator, caller).astype(np.int32)
    return launch, operator


def _around(ranges: Launches | Ops, thread: I32, at_ns: I64) -> I32:
    """Return the innermost range around each instant, ``NONE`` without a thread."""
    found = np.full(len(thread), NONE, np.int32)
    rows = np.flatnonzero(thread >= 0)
    if len(rows) and len(ranges):
        found[rows] = intervals.innermost(
            ranges.thread, ranges.start_ns, ranges.end_ns, thread[rows], at_ns[rows]
        )
    return found


def _operators(
    raw: Raw, events: Group, launch: I32, by_arrow: I32, owner: I32, ops: Ops, launches: Launches
) -> I32:
    """Return the launching operators: by the launch call, else an arrow, else External id."""
    process = process_numbers(raw.threads, ops.thread)
    by_id = rows_of_ids(ops.external_id, process, events.id("external_id"), owner)
    by_id = np.where(by_arrow >= 0, by_arrow, by_id).astype(np.int32)
    if not len(launches):
        return by_id
    by_launch = np.where(launch >= 0, launches.op[launch], NONE)
    return np.where(by_launch >= 0, by_launch, by_id).astype(np.int32)


def _lanes(raw: Raw, events: Group, strings: Strings) -> tuple[Lanes, I32]:
    """Return lanes by (device, stream); pid and tid replace missing arguments."""
    pairs, lane = np.unique(np.stack(_device_and_stream(raw, events)), axis=1, return_inverse=True)
    names = [strings.id(f"device {d} stream {s}") for d, s in pairs.T]
    lanes = Lanes(pairs[0].copy(), pairs[1].copy(), np.array(names, np.int32))
    return lanes, lane.reshape(-1).astype(np.int32)


def _device_and_stream(raw: Raw, events: Group) -> tuple[I64, I64]:
    numeric = np.array([_number(text) for text in raw.strings] or [NONE], np.int64)
    device, stream = events.id("device"), events.id("stream")
    device = np.where(device >= 0, device, numeric[raw.threads.pid][events.thread])
    stream = np.where(stream >= 0, stream, numeric[raw.threads.tid][events.thread])
    return device, stream


_MOST_DIGITS = 18
"""Any number of as many fits into int64."""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else NONE


def _communication(events: Group, kind: I8, vendor: Vendor, strings: Strings) -> Bools:
    """Return which kernels have a communication library's name or a collective's arguments."""
    further = vendor.communication_names

    def communicates(name: str) -> bool:
        return is_collective(name) or (further is not None and further.search(name) is not None)

    spelled = named_rows(strings.all, events.name, communicates)
    claimed = events.text("collective") >= 0
    return np.asarray((spelled | claimed) & (kind == KERNEL), np.bool_)


def _evidence(events: Group, merged: Bools, strings: Strings) -> I8:
    classes = {strings.id(name): i for i, name in enumerate(EVIDENCE)}
    text = events.text("evidence")
    known = np.full(len(events), BOUND, np.int8)
    for string, evidence in classes.items():
        known[text == string] = evidence
    return np.where(merged, known, MEASURED).astype(np.int8)


def _kinds_by_name(name: I32, kind: I8, strings: Strings) -> I8:
    """Return kinds with copies and fills that ran, or were merged, as kernels."""
    kind = kind.copy()
    for n in distinct_values(name[kind == KERNEL]).tolist():
        if move := move_of(strings.all[n]):
            kind[(kind == KERNEL) & (name == n)] = MEMCPY if move == "copy" else MEMSET
    return kind
