"""Hints: a ladder of three for each function, one step at a time, remembered between calls."""

from __future__ import annotations

import contextlib
import json
import textwrap

from grader.chapters import catalogue, places

STATE = places.ROOT / ".kit" / "hints.json"


def next_hint(name: str) -> str:
    """Return the next hint of a function; after the third, all three.

    Raises:
        LookupError: nothing is called so, or a whole chapter is.
    """
    chosen = catalogue().select(name)
    if len(chosen) > 1:
        names = ", ".join(exercise.name for exercise in chosen)
        raise LookupError(f"`{name}` is more than one function: ask for one of {names}")
    exercise = chosen[0]
    seen = _read()
    step = seen.get(exercise.full, 0)
    hints = exercise.task.hints
    told = hints[step : step + 1] or hints
    seen[exercise.full] = min(step + 1, len(hints))
    _write(seen)
    first = step + 1 if step < len(hints) else 1
    lines = [f"{exercise.full}, difficulty {exercise.task.difficulty} of 5"]
    for place, hint in enumerate(told, first):
        lines += ["", *textwrap.wrap(f"hint {place} of {len(hints)}: {hint}", 88)]
    return "\n".join(lines)


def _read() -> dict[str, int]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(STATE.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return {str(name): step for name, step in found.items() if isinstance(step, int)}
    return {}


def _write(seen: dict[str, int]) -> None:
    with contextlib.suppress(OSError):
        STATE.parent.mkdir(exist_ok=True)
        STATE.write_text(json.dumps(seen, indent=1), encoding="utf-8")
