"""The list of host-only operators equals what torch's dispatcher says."""

from __future__ import annotations

import pytest


@pytest.mark.long
def test_the_list_is_what_the_dispatcher_says() -> None:
    pytest.importorskip("torch")
    from tests.support import host_only_operators

    written = host_only_operators.OUT.read_text()
    if f"torch {host_only_operators.VERSION}." not in written.partition("\n")[0]:
        pytest.skip(f"the list is not of torch {host_only_operators.VERSION}")
    assert written == host_only_operators.document()
