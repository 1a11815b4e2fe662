"""Markdown report of a diff, for a pull request or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tb_privateuse1.analysis.comparison.memory import DiffAllocator, DiffMemory, format_amount
from tb_privateuse1.analysis.comparison.rows import DiffRow
from tb_privateuse1.export.reports.markdown_text import code, table
from tb_privateuse1.i18n.units import plain_text, with_unit
from tb_privateuse1.views.diff import Diff, DiffFigure

_ROWS = 15
_WORDS = {
    "longer": "longer",
    "shorter": "shorter",
    "more": "more",
    "less": "less",
    "within_noise": "within noise",
    "within_bound": "within bounds",
    "same": "no change",
    "unknown": "not certain",
}


def markdown_report(
    result: Diff, failed: Sequence[DiffFigure | DiffMemory] = (), most_rows: int = _ROWS
) -> str:
    """Return the parts of the step and the rows with the greatest change; ``failed`` in bold."""
    names = [f"**{f.name}**" if f in failed else f.name for f in result.figures]
    columns = ("Base", "Now", "Change", "", "± noise", "Verdict")
    lines = [
        f"Per step, of {result.base_steps} and {result.now_steps} steps.{_test(result)}",
        "",
        *_table(("Part", *columns), zip(names, result.figures, strict=True)),
    ]
    lines += _reasons(result)
    rows = [r for r in result.rows if r.change_ns][:most_rows]
    if rows:
        lines += ["", f"The largest changes of {result.by}, by {result.time} time:", ""]
        lines += _table(("Name", *columns), ((_name(row), row) for row in rows))
    if result.memory:
        lines += ["", "Memory per step, of the recording its greatest peak:", ""]
        lines += table(("Figure", *columns), (_memory(one, failed) for one in result.memory))
    sizes = [r for r in result.allocators if r.change_bytes][:most_rows]
    if sizes:
        lines += ["", "The largest changes of what operators allocate:", ""]
        lines += table(("Operator", *columns), map(_allocator, sizes))
    lines += ["", *(f"- {plain_text(n.message)} {plain_text(n.hint or '')}" for n in result.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _test(result: Diff) -> str:
    """Return by which test the noise is; nothing where there is none."""
    tests = {one.test for one in result.figures}
    if "paired" in tests:
        return " Noise is that of the differences between n-th steps (paired, 99 %)."
    return " Noise is that of both means (Welch, 99 %)." if "welch" in tests else ""


def _reasons(result: Diff) -> list[str]:
    """Return what differs, and the reasons for the change of the step with their rest."""
    lines = []
    if result.conditions:
        pairs = (f"{c.name} {c.base} → {c.now}" for c in result.conditions)
        lines += ["", plain_text(f"They differ in: {', '.join(pairs)}.")]
    why = result.explanation
    if why is None:
        return lines
    lines += ["", "Why the step changed, per step:", ""]
    for reason in why.reasons:
        doubt = "" if reason.verdict in ("longer", "shorter") else " (no spread over steps)"
        lines.append(f"- {_signed(reason.change_ns)}: {plain_text(reason.sentence)}{doubt}")
    noise = "" if why.rest_noise_ns is None else f" ± {with_unit('noise_ns', why.rest_noise_ns)}"
    return [*lines, f"- {_signed(why.rest_ns)}{noise}: the rest."]


def _signed(ns: int) -> str:
    return f"{'+' if ns > 0 else ''}{with_unit('change_ns', ns)}"


def _name(row: DiffRow) -> str:
    text = code(f"{row.name} {row.detail or ''}".strip())
    return text if row.status == "both" else f"{text} ({row.status})"


def _memory(one: DiffMemory, failed: Sequence[DiffFigure | DiffMemory]) -> list[str]:
    name = one.name.replace("_", " ")
    share = with_unit("change_share", one.change_share)
    before, now, change, noise = (
        format_amount(one.unit, value) for value in (one.base, one.now, one.change, one.noise)
    )
    label = f"{f'**{name}**' if one in failed else name}, {code(one.device)}"
    return [label, before, now, change, share, noise, _WORDS[one.verdict]]


def _allocator(row: DiffAllocator) -> list[str]:
    name = code(row.name) + ("" if row.status == "both" else f" ({row.status})")
    sizes = ("base_bytes", "now_bytes", "change_bytes", "change_share", "noise_bytes")
    cells = [with_unit(field, getattr(row, field)) for field in sizes]
    return [f"{name}, {code(row.device)}", *cells, _WORDS[row.verdict]]


def _table(heads: Sequence[str], rows: Iterable[tuple[str, DiffFigure | DiffRow]]) -> list[str]:
    cells = (
        [name, *(with_unit(field, getattr(one, field)) for field in _FIELDS), _WORDS[one.verdict]]
        for name, one in rows
    )
    return table(heads, cells)


_FIELDS = ("base_ns", "now_ns", "change_ns", "change_share", "noise_ns")
