"""Join an execution trace with the operators of a trace, by their Record function ids.

torch counts these ids up within a process, and writes them to both files. Another process may have
the same ones: what is joined has the same names and numbers of autograd, and of the whole file
nothing is joined if one of them differs.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.json_values import BROKEN
from tb_privateuse1.readers.execution_trace.inputs import Layouts, spelled
from tb_privateuse1.readers.execution_trace.nodes import NodeFile
from tb_privateuse1.readers.execution_trace.tensors import Uses
from tb_privateuse1.readers.raw import Group, Raw, TensorUses
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32

RECORD = "record_function"
OPERATORS = ("cpu_op", "operator")
_TEXTS = ("shapes", "dtypes", "strides", "concrete")
_INT64 = 1 << 63


class Joined(Struct):
    """The arguments and tensors that one file adds to the operators of a trace."""

    texts: dict[str, I32]
    """By column, the index of each operator's text, ``NONE`` where the file has none."""
    tensors: TensorUses
    strings: list[str]
    operators: int
    """How many operators are in both."""
    differing: int
    """How many of these have another name or number of autograd in the file."""
    truncated: bool
    damages: int


def join(raw: Raw, path: str) -> Joined:
    """Return what a file adds to the operators of a trace. Raises TraceError as ``NodeFile``."""
    operators = _operators(raw)
    rows = _rows_by_record(operators)
    names, sequence = operators.name.tolist(), operators.id("sequence").tolist()
    events = operators.event.tolist()
    strings = {text: i for i, text in enumerate(raw.strings)}
    texts = {key: np.full(len(operators), NONE, np.int32) for key in _TEXTS}
    uses, layouts, file = Uses(strings), Layouts(), NodeFile(path)
    spelled_rows: list[int] = []
    spelled_texts: list[list[int]] = []
    known = set(np.unique(raw.tensors.event).tolist())
    operators_joined = differing = 0
    for nodes in file.parts():
        for node in nodes:
            row = rows.get(node.rf_id, NONE)
            if row < 0:
                continue
            # A file that has one id twice cannot be believed: the second one joins nothing.
            rows[node.rf_id] = NONE
            operators_joined += 1
            autograd = sequence[row]
            other = autograd >= 0 and 0 <= node.seq_id < _INT64 and node.seq_id != autograd
            if raw.strings[names[row]] != node.name or other:
                differing += 1
                continue
            try:
                given, got = (layouts.described(slots) for slots in node.slots())
            except BROKEN:
                file.damages += 1
                continue
            if (found := spelled(given)) is not None:
                spelled_rows.append(row)
                spelled_texts.append([strings.setdefault(text, len(strings)) for text in found])
            if events[row] not in known:
                uses.add(events[row], node.op_schema, given, got)
    rows_of_texts = np.array(spelled_texts, np.int32).reshape(-1, len(_TEXTS))
    for key, column in zip(_TEXTS, rows_of_texts.T, strict=True):
        texts[key][spelled_rows] = column
    return Joined(
        texts, uses.table(), list(strings), operators_joined, differing, file.truncated,
        file.damages,
    )  # fmt: skip


def add(raw: Raw, joined: Joined) -> Raw:
    """Return the trace with what a file adds; what the trace has stays.

    Which tensors share memory depends on all nodes, so a file that lacks some adds no tensors.
    """
    groups = dict(raw.groups)
    first = 0
    for category in operator_categories(raw):
        group = groups[category]
        texts = dict(group.texts)
        for key, column in joined.texts.items():
            own, added = group.text(key), column[first : first + len(group)]
            if (added >= 0).any():
                texts[key] = np.where(own >= 0, own, added).astype(np.int32)
        groups[category] = replace(group, texts=texts)
        first += len(group)
    lacks = joined.truncated or joined.damages
    more = TensorUses.empty() if lacks else joined.tensors
    both = [
        np.concatenate((old, new))
        for (_, old), (_, new) in zip(raw.tensors.columns(), more.columns(), strict=True)
    ]
    return replace(raw, groups=groups, strings=tuple(joined.strings), tensors=TensorUses(*both))


def operator_categories(raw: Raw) -> list[str]:
    """Return the categories of operators, as the file spells them."""
    return [category for category in raw.groups if category.lower() in OPERATORS]


def problems(path: str, joined: Joined) -> list[Finding]:
    """Return what is wrong with a file that is joined."""
    found = []
    if joined.truncated:
        message = say("The execution trace {name} ends early.", name=basename(path))
        hint = say(
            "Only sizes and types of inputs are used. It is complete once the program has ended, "
            "or called unregister_callback()."
        )
        found.append(Finding("execution_trace_cut", message, hint, affects=("operators",)))
    if joined.damages:
        message = say(
            "{count} nodes of the execution trace {name} are damaged.",
            count=joined.damages,
            name=basename(path),
        )
        found.append(
            Finding("part_unreadable", message, count=joined.damages, affects=("operators",))
        )
    return found


def _operators(raw: Raw) -> Group:
    groups = [raw.groups[category] for category in operator_categories(raw)]
    return Group.join([raw.memory.take(slice(0)), *groups]) if groups else raw.memory.take(slice(0))


def _rows_by_record(operators: Group) -> dict[int, int]:
    """Return the row of each Record function id that a single operator has."""
    ids = operators.id(RECORD)
    values, first, count = np.unique(ids, return_index=True, return_counts=True)
    alone = (values > 0) & (count == 1)
    return dict(zip(values[alone].tolist(), first[alone].tolist(), strict=True))
