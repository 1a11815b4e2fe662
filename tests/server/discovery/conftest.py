"""Tests of remote logdirs need fsspec and aiohttp."""

from __future__ import annotations

import pytest

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")
