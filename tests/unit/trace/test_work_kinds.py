import re

import pytest

from tb_privateuse1.trace.work_kinds import COPY_TO_DEVICE, COPY_TO_HOST


@pytest.mark.parametrize(
    ("name", "to_host", "to_device"),
    [
        ("Memcpy DtoH (Device -> Pageable)", True, False),
        ("Memcpy HtoD (Pinned -> Device)", False, True),
        ("MEMCPY_D2H", True, False),
        ("CopyDeviceToHost", True, False),
        ("copy dev to host", True, False),
        ("Copy Host To Device", False, True),
        ("Memcpy DtoD (Device -> Device)", False, False),
        ("Memcpy HtoH (Host -> Host)", False, False),
    ],
)
def test_copies_have_their_direction_in_their_name(
    name: str, to_host: bool, to_device: bool
) -> None:
    found = [bool(re.search(pattern, name)) for pattern in (COPY_TO_HOST, COPY_TO_DEVICE)]
    assert found == [to_host, to_device]
