"""Which exercises a name means; nothing is imported to know it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence


def select(name: str, names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the full names that `name` means: a chapter, a full name or a function's name.

    Args:
        name: what the user wrote; a chapter may have its `.py`.
        names: each chapter's stem with the names of its functions.

    Raises:
        LookupError: nothing is called so; the sentence names what is near.
    """
    name = name.removesuffix(".py")
    pairs = [(stem, function) for stem, functions in names.items() for function in functions]
    found = [f"{s}.{f}" for s, f in pairs if name in (s, f, f"{s}.{f}")]
    if not found:
        known = [word for s, f in pairs for word in (f, f"{s}.{f}", s)]
        near = difflib.get_close_matches(name, dict.fromkeys(known), n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise LookupError(f"no chapter or exercise is called `{name}`{hint}")
    return found
