"""Write ``tb_privateuse1/infer/host_only.txt``: operators that launch nothing themselves.

An operator is listed if torch's dispatcher says that its own body runs no device work: views and
metadata (the result aliases an input that is not written to), composites (a
CompositeImplicitAutograd kernel only calls other operators), and allocations. Run it with the
torch whose operators are wanted: ``python tools/host_only_operators.py``.
"""

from pathlib import Path

import torch

UNTOLD = frozenset({"aten::_unsafe_view"})
"""Views that their schema calls a new tensor."""

OUT = Path(__file__).parents[1] / "tb_privateuse1" / "infer" / "host_only.txt"


def host_only(name: str, overload: str, returns: list) -> bool:
    """Whether no overload of this name can launch by itself."""
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
    return view or composite or allocation or in_place or name in UNTOLD


def main() -> None:
    """Collect all overloads; a name is listed only if all of them are host-only."""
    names: dict[str, bool] = {}
    for schema in torch._C._jit_get_all_schemas():
        # Overloads on lists and strings (``slice.str``) are no tensor operators.
        tensors = any("Tensor" in str(a.type) for a in schema.arguments)
        if schema.name.startswith("aten::") and tensors:
            alone = host_only(schema.name, schema.overload_name, schema.returns)
            names[schema.name] = names.get(schema.name, True) and alone
    listed = sorted(name for name, alone in names.items() if alone)
    head = f"# By tools/host_only_operators.py from torch {torch.__version__.split('+')[0]}.\n"
    OUT.write_text(head + "\n".join(listed) + "\n")


if __name__ == "__main__":
    main()
