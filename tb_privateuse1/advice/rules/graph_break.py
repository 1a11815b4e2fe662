"""Places where the compiler ends a graph, in code that the judged steps call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.recording.compiled_regions import between_graphs, region_calls
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.i18n.units import percent, shorten
from tb_privateuse1.trace.findings import LONGEST_INLINE
from tb_privateuse1.trace.recorded_metadata import GRAPH_BREAK
from tb_privateuse1.trace.table import I64

_MOST_PLACES = 3
"""That an explanation names; the page has all."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the graph breaks of torch's log whose code is called in the judged steps."""
    trace, notes = case.trace, case.trace.compile_notes
    breaks = np.flatnonzero(notes.kind == GRAPH_BREAK).tolist()
    broken = {trace.text(notes.compile_id[row]) for row in breaks}
    regions = region_calls(trace)
    called = np.array([name in broken for name in regions.compile_ids], np.bool_)
    called &= case.judged[regions.rows]
    rows, outside_ns = regions.rows[called], int(regions.outside_ns[called].sum())
    if not len(rows) or case.share(outside_ns) < NOISE:
        return
    live = {name for name, one in zip(regions.compile_ids, called.tolist(), strict=True) if one}
    places = [row for row in breaks if trace.text(notes.compile_id[row]) in live]
    yield RuleFinding(
        title=say(
            "{breaks} in compiled code: {share} of the time is outside its graphs",
            breaks=plural(len(places), "graph break"),
            share=percent(case.share(outside_ns)),
        ),
        explanation=join_sentences(
            (
                say(
                    "{calls} of compiled code leave the graph for Python, and enter another "
                    "one behind it: guards are checked again, nothing is fused across, and values "
                    "that Python reads make it wait.",
                    calls=plural(len(rows), "call"),
                ),
                *(_place(case, row) for row in places[:_MOST_PLACES]),
            )
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=_limit(case, rows),
        confidence="high",
        source=_source(case, places[0]),
    )


def _limit(case: RuleContext, rows: I64) -> str:
    """Return what one graph saves at most, in words: it is no estimate, and claims nothing."""
    limit_ns = int(between_graphs(case.trace, rows).sum())
    if not limit_ns:
        return say("Not known: the recording has no graph in these calls.")
    return say(
        "Not known. At most {share} of the time is between these graphs and behind them on the "
        "host: guards, Python, operators that are not compiled, and the program's own lines. What "
        "fusion across them would save inside of the graphs is not in it.",
        share=percent(case.share(limit_ns)),
    )


def _place(case: RuleContext, row: int) -> str:
    notes, text = case.trace.compile_notes, case.trace.text
    reason = shorten(text(notes.reason[row]), LONGEST_INLINE)
    file = text(notes.file[row]).rpartition("/")[2]
    if not file:
        return say("Reason: {reason}.", reason=reason)
    return say("{file}:{line}: {reason}.", file=file, line=int(notes.line[row]), reason=reason)


def _source(case: RuleContext, row: int) -> str | None:
    trace, notes = case.trace, case.trace.compile_notes
    found = trace.compilations
    names = found.function[found.compile_id == notes.compile_id[row]]
    file = trace.text(notes.file[row])
    if not file or not len(names):
        return None
    return f"{file}({notes.line[row]}): {trace.text(names[0])}"


RULE = Rule(
    name="graph_break",
    title=say("Graph breaks"),
    cause="launching",
    looks_for=say(
        "Graph breaks of torch's log (TORCH_TRACE) in compiled functions that the steps call."
    ),
    why=say("Each break costs a check of guards and a way through Python, and ends fusion."),
    fix=say(
        "Move what cannot be traced (print, item, other libraries) out of the compiled function, "
        "or behind it; torch.compile(fullgraph=True) makes each break an error. Values of item can "
        "stay in the graph: torch._dynamo.config.capture_scalar_outputs."
    ),
    threshold=say("{least} of the step outside the graphs.", least=exact_percent(NOISE)),
    reference=say("PyTorch, torch.compiler troubleshooting; tlparse."),
    code=Code(
        before=(
            "@torch.compile\n"
            "def step(x):\n"
            "    y = model(x)\n"
            "    print(y.mean().item())  # ends the graph\n"
            "    return head(y)"
        ),
        after=(
            "@torch.compile(fullgraph=True)\n"
            "def step(x):\n"
            "    y = model(x)\n"
            "    return head(y), y.mean()  # print it behind the step"
        ),
    ),
    check=check,
    needs=("operators",),
)
