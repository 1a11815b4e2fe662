"""Old names of fields."""

from __future__ import annotations

import pytest
from msgspec import Struct

from tb_privateuse1.trace.renamed import renamed


class Row(Struct, frozen=True):
    function: str

    line = renamed("line", "function")


def test_an_old_name_warns_and_has_the_new_value() -> None:
    with pytest.warns(DeprecationWarning, match="Row.line is Row.function now"):
        assert Row("f").line == "f"
    assert Row.__struct_fields__ == ("function",)
