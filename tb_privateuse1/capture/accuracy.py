"""Read the accuracy class that the conformance kit found for this backend, torch and device.

``python -m tb_privateuse1.capture --check`` leaves its result in a file of the user's caches. A
recording of the same backend names the class, so that a reader of it knows what its device
times are worth. Nothing is measured here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch

CLASSES = "ABCDE"


def result_file(backend: str) -> Path:
    """Return where the last result for ``backend`` is kept, below ``$TB_PRIVATEUSE1_CACHE``."""
    chosen = os.environ.get("TB_PRIVATEUSE1_CACHE")
    if not chosen or chosen == "beside":
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
        chosen = os.path.join(os.path.expanduser(base), "tb_privateuse1")
    return Path(chosen, f"accuracy-{backend}.json")


def identity(backend: str) -> dict[str, str]:
    """Return what must be the same for a result to hold: backend, torch's version, device."""
    name = getattr(getattr(torch, backend, None), "get_device_name", None)
    try:
        device = "" if name is None else str(name())
    except Exception:  # a vendor's function that wants an argument, or fails
        device = ""
    return {"backend": backend, "torch": str(torch.__version__), "device": device}


def known_class(backend: str) -> dict[str, str] | None:
    """Return ``class``, ``checked`` (a date) and ``reason`` of this backend, torch and device.

    None without a check. ``reason`` says why the class is no better; an older kit left none.
    Never raises: it must not cost a recording.
    """
    try:
        content: Any = json.loads(result_file(backend).read_text(encoding="utf-8"))
        same = all(content.get(key) == value for key, value in identity(backend).items())
        if same and content["class"] in tuple(CLASSES):
            found = {"class": content["class"], "checked": str(content["checked"])}
            return found | ({"reason": str(content["reason"])} if "reason" in content else {})
    except Exception:
        return None
    return None
