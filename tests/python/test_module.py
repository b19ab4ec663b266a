"""Names of the module itself: they load at first use, and there are no others."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
import ringview as rv

PARTS = ["graph", "job", "ml", "plot", "serve", "sinks", "sources", "spark", "stats"]


@pytest.mark.parametrize("name", PARTS)
def test_parts_load_when_they_are_named(name: str) -> None:
    module: Any = rv
    assert getattr(module, name) is import_module(f"ringview.{name}")


def test_nothing_loads_before_it_is_named() -> None:
    code = (
        "import sys, ringview; print(sorted(m for m in sys.modules if m.startswith('ringview.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not any(f"'ringview.{name}'" in loaded.stdout for name in PARTS)
    assert "ringview.view" in loaded.stdout


def test_what_is_not_there_is_no_attribute() -> None:
    module: Any = rv
    assert not hasattr(module, "sketch")
    with pytest.raises(AttributeError, match="no attribute 'Databse'"):
        module.Databse  # noqa: B018


def test_dir_has_all_that_is_public() -> None:
    module: Any = rv
    later = {"MatrixChain", "PaiMap", "Reservoir", "RpaiTree", "Sample"}
    assert {*rv.__all__, *PARTS, *later} == set(dir(rv))
    assert all(getattr(module, name) is not None for name in dir(rv))
