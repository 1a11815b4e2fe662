"""Each numeric constant of the rooms that judge says where it comes from: a docstring or a comment.

What a word says is for people to judge; that there is one is checked here.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from tests.support.sources import PACKAGE

ROOMS = ("advice", "analysis", "inference")

OPEN: dict[str, str] = {
    "analysis/account/awaited.py": "_TOP",
    "analysis/account/table.py": "_LARGEST; _PARTS",
    "analysis/comparison/notes.py": "_MOST_DECOMPOSED",
    "analysis/comparison/run_operators.py": "_MOST",
    "analysis/counters/curve_forms.py": "_BLOCK; _MS",
    "analysis/idle/launch_times.py": "QUEUED_NS",
    "analysis/kernel_names/triton.py": "_MOST_OPERATORS",
    "analysis/memory/categories.py": "_MOST_GRANULARITY",
    "analysis/ranks/arrivals.py": "_LEAST_WAIT_NS",
    "analysis/ranks/chance.py": "_TRIM",
    "analysis/ranks/clock_alignment.py": "_ROUNDS; _CLOSE_NS",
    "analysis/ranks/culprits.py": "_MOST",
    "analysis/ranks/host_causes.py": "_NAMES",
    "analysis/ranks/open_collectives.py": "MOST; _MOST_RANKS",
    "analysis/ranks/steps.py": "_CELLS; _MOST_COLUMNS; _LEAST_COLUMNS",
    "analysis/recording/durations.py": "_SECOND, _MILLISECOND",
    "analysis/recording/phases.py": "_OF_STEP; _MOST_ROWS; _LONGEST_NAME; _FEW_STEPS; _LITTLE",
    "analysis/recording/summary.py": "_LONGEST_NAME",
    "analysis/roofs/outliers.py": "MOST",
    "analysis/roofs/shape_outliers.py": "_SIMILAR",
    "analysis/roofs/slowdowns.py": "LEAST_CALLS; _THIRDS",
    "analysis/simulation/changes.py": "_MOST; _LONGEST",
    "analysis/simulation/dependency_graph.py": "_SEVERAL",
    "analysis/simulation/ranking.py": "_LEAST",
    "analysis/threads/hand_offs.py": "_LONGER",
    "analysis/timeline/level_of_detail.py": "_FINEST_NS; _FACTOR; _FEW; _AT_ONCE",
    "analysis/work/arguments.py": "_LONGEST_TEXT; _MOST",
    "analysis/work/kernel_work.py": "_UNIT_BITS",
    "analysis/work/models/softmax.py": "FORWARD, BACKWARD",
    "inference/collective_entries.py": "_LIMIT",
    "inference/collectives.py": "_MOST_RANKS",
    "inference/device_timeline/calibration.py": "_JITTER_NS, _JITTER_LOW_NS, _JITTER_HIGH_NS",
    "inference/device_timeline/elapsed_kind.py": "_LEAST_CHILDREN, _LEAST_CHILD_NS",
    "inference/process_groups.py": "_LARGEST; _LONGEST_NAME",
    "inference/quality/check_subject.py": "_MOST_EXAMPLES; _LONGEST_NAME",
    "inference/quality/clock.py": "_DAY_NS; _LATE_NS; _PARTS",
    "inference/quality/links.py": "_MOST_NAMES",
    "inference/quality/steps.py": "_MOST_NAMES",
    "inference/recording_window.py": "_LONGEST; _MOST_NS",
}
"""Constants without a word, by file, in rooms that were not gone through. Only ever fewer."""


def is_number(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(is_number, value.elts))
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    return isinstance(value, ast.BinOp) and is_number(value.left) and is_number(value.right)


def unexplained(source: str) -> Iterator[str]:
    """Yield the module-level numeric constants with no docstring behind and no comment beside."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    beside = {token.start[0] for token in comments}
    above = {token.start[0] for token in comments if token.line.lstrip().startswith("#")}
    body = ast.parse(source).body
    behind: list[ast.stmt] = [*body[1:], ast.Pass()]
    for node, after in zip(body, behind, strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
            continue
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if not is_text and node.lineno - 1 not in above and node.end_lineno not in beside:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target).strip("()")


def test_each_number_says_where_it_comes_from() -> None:
    found = {
        str(path.relative_to(PACKAGE)): "; ".join(names)
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if (names := list(unexplained(path.read_text())))
    }
    assert found == OPEN, "say where a new one comes from; take from OPEN what is explained"


def test_a_number_without_a_word_is_found() -> None:
    source = (
        "A = 3\nB, C = 1 << 20, -0.5\n'''Said.'''\n# Said.\nD = 4\nE: int = 5  # said\n"
        "F = (1, 2)\nG = 'text'\nH = True\nI = len\n"
    )
    assert list(unexplained(source)) == ["A", "F"]
