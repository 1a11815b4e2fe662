"""Optimizers of torch that update all parameters in few kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, wrap


def _apply(effects: Effects) -> None:
    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer):
            known = inspect.signature(kind.__init__).parameters
            if "foreach" in known:
                wrap(kind, "__init__", _made(effects, inspect.signature(kind.__init__)))


def _made(
    effects: Effects, signature: inspect.Signature
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def made(init: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, params: Any, *args: Any, **options: Any) -> None:
            params = [_listed(one) for one in params]
            given = dict(signature.bind(self, params, *args, **options).arguments)
            given.update(given.pop("kwargs", {}))
            if not given.get("fused") and not given.get("differentiable"):
                has_fused = "fused" in signature.parameters and _all_fused(params)
                chosen = "fused" if has_fused else "foreach"
                # AdamW has its options from Adam, whose __init__ finds them set.
                if not given.get(chosen):
                    effects.note(f"{type(self).__name__} with {chosen}=True")
                given["foreach"] = None if has_fused else True
                given[chosen] = True
            init(**given)

        return call

    return made


def _listed(one: Any) -> Any:
    """Return a group of parameters as it can be read twice: it may be a generator."""
    if isinstance(one, dict) and not isinstance(one["params"], torch.Tensor):
        return {**one, "params": list(one["params"])}
    return one


def _all_fused(params: list[Any]) -> bool:
    from torch.utils import _foreach_utils

    devices = _foreach_utils._get_fused_kernels_supported_devices()
    return all(
        tensor.device.type in devices and tensor.is_floating_point() for tensor in _tensors(params)
    )


def _tensors(params: list[Any]) -> list[torch.Tensor]:
    """Return all tensors of parameters, of groups, or of pairs with names."""
    found: list[torch.Tensor] = []
    for one in params:
        group = one["params"] if isinstance(one, dict) else [one]
        entries = [group] if isinstance(group, torch.Tensor) else group
        found += [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
    return found


REMEDY = Remedy(
    name="fused_optimizer",
    what="optimizers get fused=True where their device has the kernel, else foreach=True",
    applies_to="an optimizer of torch.optim that is made without fused=True",
    apply=_apply,
)
