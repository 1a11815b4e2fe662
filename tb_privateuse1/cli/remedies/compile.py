"""The model by torch.compile."""

from __future__ import annotations

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, around_forward, for_each_model


def _apply(effects: Effects) -> None:
    import torch._inductor.config as inductor

    # Random numbers as eager ones: the losses of a model with dropout can be compared then.
    inductor.fallback_random = True

    def found(module: torch.nn.Module) -> None:
        around_forward(module, torch.compile)
        effects.note(f"torch.compile of {type(module).__name__}")

    for_each_model(found, effects)


REMEDY = Remedy(
    name="compile",
    what="each model is compiled by torch.compile",
    applies_to="a torch.nn.Module with parameters that is called",
    apply=_apply,
    warmup=4,  # the first call is eager, the second compiles, the third may for other sizes
    is_wider=True,
)
