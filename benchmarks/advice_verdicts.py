"""How much of an expert's advice the rules find: ``python -m benchmarks.advice_verdicts FOLDER``.

``FOLDER/advice.json`` has the expected advice of recordings, with its share of the step, and what
must not be said. There are two tables: of the recordings on which the rules were developed, and of
those that were kept aside. Values count by share: a finding of half of the expected share is worth
half.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.together import together
from tb_privateuse1.advice.engine import AdviceRow, advise
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.trace.model import Trace

ASIDE = frozenset(
    {
        "cuda/v100_resnet50_old_torch_workers0",
        "cuda/v100_resnet50_old_torch_workers4",
        "npu/trace_view",
        "rocm/sglang_decode",
    }
)
"""The recordings that were not looked at while the host's rules were written (by a hash)."""

MEANING: Mapping[str, str] = {
    r"data loader": r"data_loader|single_process_loader",
    r"gradients zeroed": r"zeroed_gradients",
    r"per-parameter": r"optimizer_loop|unrolled_foreach",
    r"launch-bound": r"host_bound|tiny_kernels|task_queue",
    r"start-up|graph capture": r"unsteady_recording",
    r"float32": r"slow_products|double_precision",
    r"metrics|decoding": r"python_overhead|side_work",
    r"AICPU|TransData": r"casts|layout_conversion|device_cpu|format_conversion",
    r"RMSNorm": r"\w+_by_hand|elementwise_chain",
    r"fuse q,k,v": r"product_series|shared_inputs",
    r"attention": r"attention_math",
    r"what MI300X reaches": r"kernel_roofs",
    r"decode products": r"weight_reads",
    r"blocking": r"blocked_call|blocking_copy|recording",
}
"""By the words of an expectation, the rules that mean it; ``recording`` is the first line."""


@dataclass(frozen=True)
class Expectation:
    """One piece of an expert's advice, and how much of it was found (per cent of the step)."""

    recording: str
    advice: str
    share: float
    found: float
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """The comparison of one recording's findings with the expert's."""

    recording: str
    expected: tuple[Expectation, ...]
    forbidden: tuple[str, ...]
    """Titles that must not be said."""
    claimed: float
    """The sum of all savings, per cent."""
    meant: float
    """The part of it that an expectation means."""


def judge(recording: str, trace: Trace, truth: Mapping[str, object]) -> Verdict:
    """Return the comparison of a trace's findings with an entry of ``advice.json``."""
    rows = advise(trace).rows
    expected, means = [], set()
    for entry in _entries(truth["expected"]):
        pattern = _rules(str(entry["advice"]))
        own = [row for row in rows if re.fullmatch(pattern, row.rule)]
        means |= {row.rule for row in own}
        share = float(str(entry["per_cent_of_step"]))
        said = "recording" in pattern and summary(trace).kind != "steady"
        found = share if said or any(row.saving_share is None for row in own) else _shares(own)
        names = tuple(dict.fromkeys(row.rule for row in own))
        expected.append(Expectation(recording, str(entry["advice"]), share, found, names))
    forbidden = [str(pattern) for pattern in _list(truth["must_not_say"])]
    said_wrongly = tuple(
        str(row.title)
        for row in rows
        if any(re.search(pattern, f"{row.rule} {row.title}") for pattern in forbidden)
    )
    meant = _shares(row for row in rows if row.rule in means)
    return Verdict(recording, tuple(expected), said_wrongly, _shares(rows), meant)


def recall(verdicts: Iterable[Verdict]) -> float:
    """Return the share of the expected value that was found, 0 to 1."""
    pieces = [piece for verdict in verdicts for piece in verdict.expected]
    whole = sum(piece.share for piece in pieces)
    return sum(min(piece.found, piece.share) for piece in pieces) / whole if whole else 1.0


def precision(verdicts: Iterable[Verdict]) -> float:
    """Return the share of the claimed value that an expectation means, 0 to 1."""
    known = list(verdicts)
    whole = sum(verdict.claimed for verdict in known)
    return sum(verdict.meant for verdict in known) / whole if whole else 1.0


def _rules(advice: str) -> str:
    found = [rules for words, rules in MEANING.items() if re.search(words, advice)]
    return "|".join(found) or "none"


def _shares(rows: Iterable[AdviceRow]) -> float:
    return 100 * together(rows)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _entries(value: object) -> Iterator[Mapping[str, object]]:
    for entry in _list(value):
        if isinstance(entry, dict):
            yield entry


def tables(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield the lines of the two tables, developed and kept aside."""
    known = list(verdicts)
    for title, aside in (("Developed on", False), ("Kept aside", True)):
        own = [verdict for verdict in known if (verdict.recording in ASIDE) == aside]
        yield f"\n{title}: {recall(own):.0%} of the value found; "
        yield f"{precision(own):.0%} of what is claimed is expected\n\n"
        yield "| recording | expected | share | found | by |\n|---|---|---|---|---|\n"
        for piece in (piece for verdict in own for piece in verdict.expected):
            rules = ", ".join(f"`{rule}`" for rule in piece.rules) or "none"
            yield (
                f"| {piece.recording} | {piece.advice} | {piece.share:g} % | "
                f"{piece.found:.0f} % | {rules} |\n"
            )
        yield from (f"must not be said: {t}\n" for verdict in own for t in verdict.forbidden)


def main() -> None:
    """Print the tables of a folder."""
    from tests.support.shared_traces import load

    folder = Path(sys.argv[1])
    truth = json.loads((folder / "advice.json").read_text())
    verdicts = []
    for recording, entry in truth.items():
        paths = [
            *(folder / recording).glob("*.pt.trace.json*"),
            *(folder / recording).glob("trace_view.json"),
        ]
        verdicts.append(judge(recording, load(paths[0]), entry))
    print("".join(tables(verdicts)))


if __name__ == "__main__":
    main()
