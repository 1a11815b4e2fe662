"""A difference as Markdown: for a pull request or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tb_privateuse1.figures import plain, worded
from tb_privateuse1.views.diff import Diff, DiffFigure, DiffRow

_ROWS = 15
_WORDS = {
    "longer": "longer",
    "shorter": "shorter",
    "within_noise": "within noise",
    "within_bound": "within bounds",
    "same": "no change",
    "unknown": "not certain",
}


def diff(result: Diff, failed: Sequence[DiffFigure] = ()) -> str:
    """The parts of the step, and the rows with the greatest change; the failed ones in bold."""
    names = [f"**{f.name}**" if f in failed else f.name for f in result.figures]
    columns = ("Base", "Now", "Change", "", "± noise", "Verdict")
    lines = [
        f"Per step, of {result.base_steps} and {result.now_steps} steps.",
        "",
        *_table(("Part", *columns), zip(names, result.figures, strict=True)),
    ]
    rows = [r for r in result.rows if r.change_ns][:_ROWS]
    if rows:
        lines += ["", f"The largest changes of {result.by}, by {result.time} time:", ""]
        lines += _table(("Name", *columns), ((_name(row), row) for row in rows))
    lines += ["", *(f"- {plain(n.message)} {plain(n.hint or '')}" for n in result.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _name(row: DiffRow) -> str:
    """As code, whatever is in it."""
    text = plain(f"{row.name} {row.detail or ''}".strip())
    text = text.replace("|", "\\|").replace("`", "'")
    return f"`{text}`" + ("" if row.status == "both" else f" ({row.status})")


def _table(heads: Sequence[str], rows: Iterable[tuple[str, DiffFigure | DiffRow]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 2)}---|"]
    for name, one in rows:
        cells = [worded(field, getattr(one, field)) for field in _FIELDS]
        lines.append(f"| {' | '.join([name, *cells, _WORDS[one.verdict]])} |")
    return lines


_FIELDS = ("base_ns", "now_ns", "change_ns", "change_share", "noise_ns")
