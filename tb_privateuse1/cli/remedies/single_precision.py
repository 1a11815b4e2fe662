"""float32 where the program asks for float64."""

from __future__ import annotations

import torch

from tb_privateuse1.cli.remedies.precision import only_float32
from tb_privateuse1.cli.remedies.remedy import Remedy

REMEDY = Remedy(
    name="single_precision",
    what="tensors and models that would be float64 are float32",
    applies_to="a tensor or model that is made or converted to float64 by torch's functions",
    apply=only_float32(torch.float64, "double"),
)
