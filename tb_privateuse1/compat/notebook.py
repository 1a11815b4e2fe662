"""``tb_privateuse1.notebook`` of version 0.1: use ``tb_privateuse1.open``."""

from __future__ import annotations

import warnings

from tb_privateuse1.api import Log, open_log

__all__ = ["Log", "open_log"]

warnings.warn("tb_privateuse1.notebook is now tb_privateuse1.api", DeprecationWarning, stacklevel=2)
