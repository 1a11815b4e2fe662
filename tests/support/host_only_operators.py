"""Write ``tb_privateuse1/inference/host_only.txt``: operators that launch nothing themselves.

An operator is listed if torch's dispatcher says that its own body runs no device work: views and
metadata (the result aliases an input that is not written to), composites (a
CompositeImplicitAutograd kernel only calls other operators), and allocations. Run it with the
torch whose operators are wanted: ``python -m tests.support.host_only_operators``.
"""

from pathlib import Path

import torch

UNDECLARED_VIEWS = frozenset({"aten::_unsafe_view"})
"""Views whose schema declares a new tensor."""

VERSION = torch.__version__.split("+")[0]

OUT = Path(__file__).parents[2] / "tb_privateuse1" / "inference" / "host_only.txt"


NO, COMPOSITE, YES = 0, 1, 2
"""Whether an operator's own body runs device work: it may, only if a backend wrote one, never."""


def host_only(name: str, overload: str, returns: list) -> int:
    """Whether this overload can launch by itself: one of ``NO``, ``COMPOSITE``, ``YES``."""
    operator = f"{name}.{overload}" if overload else name
    view = bool(returns) and all(r.alias_info and not r.alias_info.is_write for r in returns)
    dispatched = torch._C._dispatch_has_kernel(operator)
    composite = dispatched and torch._C._dispatch_has_kernel_for_dispatch_key(
        operator, "CompositeImplicitAutograd"
    )
    allocation = name.startswith(("aten::empty", "aten::new_empty", "aten::resize_"))
    in_place = (
        dispatched and torch.Tag.inplace_view in torch._C._get_operation_overload(name, overload)[2]
    )
    if view or allocation or in_place or name in UNDECLARED_VIEWS:
        return YES
    return COMPOSITE if composite else NO


def document() -> str:
    """Return the list for the installed torch; a name needs all overloads to be host-only."""
    names: dict[str, int] = {}
    for schema in torch._C._jit_get_all_schemas():
        # Overloads on lists and strings (``slice.str``) are no tensor operators.
        tensors = any("Tensor" in str(a.type) for a in schema.arguments)
        if schema.name.startswith("aten::") and tensors:
            alone = host_only(schema.name, schema.overload_name, schema.returns)
            names[schema.name] = min(names.get(schema.name, YES), alone)
    marks = {COMPOSITE: " composite", YES: ""}
    listed = sorted(name + marks[alone] for name, alone in names.items() if alone)
    head = f"# By tests/support/host_only_operators.py from torch {VERSION}.\n"
    return head + "\n".join(listed) + "\n"


def main() -> None:
    """Write the file."""
    OUT.write_text(document())


if __name__ == "__main__":
    main()
