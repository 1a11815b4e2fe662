"""Embedding lookups by a product with a one-hot matrix, where indexing reads the rows alone."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.idiom_finding import find_fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms import one_hot_lookups
from tb_privateuse1.i18n import say


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the products that read a one-hot matrix, with what builds it."""
    all_ = one_hot_lookups.one_hot_lookups(case.trace)
    found = fusion.fuse(case, all_.graph, all_.lookup, all_.duration_ns, all_.fused_ns)
    yield from find_fusion(
        case,
        found,
        title=say(
            "Rows looked up by products with one-hot matrices: {each:,.3g} {per_step}, {share} of "
            "the time"
        ),
        explanation=say(
            "A one-hot matrix has a single one in each row: its product with a table "
            "copies rows of the table, and multiplies zeros for the rest."
        ),
        how=say(
            "The time of the product and of what builds the matrix beyond one read and one write "
            "of the rows, while others waited for the device; and the host's time for all "
            "operators but one, while the device had nothing to do."
        ),
    )


RULE = Rule(
    name="one_hot_product",
    title=say("Lookup by a one-hot product"),
    cause="device",
    looks_for=say(
        "A product that reads the result of aten::one_hot, of ones scattered into zeros, or of a "
        "comparison of all with all, directly or through a cast."
    ),
    why=say(
        "A product reads all of the matrix and of the table, a lookup only the rows that it "
        "returns."
    ),
    fix=say("Use F.embedding or table[index]; for the other direction index_add_ or scatter_add_."),
    threshold=say("{least} of the step: one line.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.nn.Embedding."),
    code=Code(
        before="rows = F.one_hot(index, len(table)).to(table.dtype) @ table",
        after="rows = F.embedding(index, table)",
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
