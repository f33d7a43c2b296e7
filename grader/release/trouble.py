"""What keeps a pack from being made."""

from __future__ import annotations


class ReleaseError(Exception):
    """Nothing was written; the sentence says why."""
