"""How far each function's ladder has been climbed, remembered in a file that git ignores."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(".kit") / "hints.json"


@dataclass
class LadderPlace:
    """Where a student stands on one ladder.

    Attributes:
        step: how many hints have been told.
        told: the mistakes that have been spoken of: slips, or checks whose failure has no name.
    """

    step: int = 0
    told: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ladder:
    """The memory of the ladders.

    Attributes:
        root: the folder of the project, which holds the folder of answers.
    """

    root: Path

    def place(self, full: str) -> LadderPlace:
        """Return where the student stands; at the foot, if nothing is known."""
        kept = self._read().get(full)
        if isinstance(kept, dict) and isinstance(kept.get("step"), int):
            return LadderPlace(max(0, kept["step"]), [str(name) for name in kept.get("told") or []])
        return LadderPlace()

    def remember(self, full: str, place: LadderPlace) -> None:
        """Keep where the student stands."""
        self._write({**self._read(), full: {"step": place.step, "told": place.told}})

    def forget(self, full: str) -> None:
        """Let a function start at the foot again."""
        kept = self._read()
        if kept.pop(full, None) is not None:
            self._write(kept)

    def _read(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            found = json.loads((self.root / FILE).read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return found
        return {}

    def _write(self, kept: dict[str, Any]) -> None:
        """Replace the file in one go; a project that cannot be written to remembers nothing."""
        path = self.root / FILE
        with contextlib.suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, text=True)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(kept, file, indent=1)
            os.replace(name, path)
