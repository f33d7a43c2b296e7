"""What a chapter says of the calls that the search for a mutant draws: one file each, or none.

CALLS: what draws the calls of an exercise, where they are not to be drawn from the suite's cases.
OTHERS: what an argument is also called with, by its name; nothing: it keeps its shape.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.proof.mutants.called import Drawing


def calls_of(stem: str) -> Mapping[str, Drawing]:
    """Return what draws calls of a chapter's exercises, by their names."""
    return _said(stem, "CALLS")


def others_of(stem: str) -> Mapping[str, tuple[Any, ...]]:
    """Return what a chapter's arguments are also called with, by their names."""
    return _said(stem, "OTHERS")


def _said(stem: str, what: str) -> Mapping[str, Any]:
    if not Path(__file__).with_name(f"{stem}.py").is_file():
        return {}
    return getattr(importlib.import_module(f"{__name__}.{stem}"), what, {})
