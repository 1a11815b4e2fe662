"""float32 on a host that computes slowly in float16."""

from __future__ import annotations

import torch

from tb_privateuse1.cli.remedies.precision import only_float32
from tb_privateuse1.cli.remedies.remedy import HALF, Remedy

REMEDY = Remedy(
    name="float32_on_host",
    what="tensors and models that would be float16 are float32",
    applies_to="a tensor or model that is made or converted to float16 by torch's functions",
    apply=only_float32(torch.float16, "half"),
    tolerance=HALF,
)
