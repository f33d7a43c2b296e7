"""The list of mutants that no check tells, each with the reason why it is no mistake.

A file for each folder of right answers, kept in the repository. What a reason of the search says is
looked at anew whenever the mutant is run; where the search finds a call that differs, a person has
to say why nobody promises anything about it.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent / "survivors"
# before a call that the search has found
FOUND = "!"


class Survivors:
    """The listed mutants of one folder.

    Args:
        folder: the name of the folder.
    """

    def __init__(self, folder: str) -> None:
        self._path = HERE / f"{folder}.json"
        self.reasons: dict[str, str] = {}
        if self._path.is_file():
            self.reasons = json.loads(self._path.read_text(encoding="utf-8"))

    def write(self, found: dict[str, str]) -> None:
        """Write the list anew; a reason that stands in it is kept.

        Args:
            found: what the search says of each mutant that no check tells. One that it has found a
                call for is not listed, unless a person has said why.
        """
        self.reasons = {
            key: self.reasons.get(key, search)
            for key, search in found.items()
            if key in self.reasons or not search.startswith(FOUND)
        }
        HERE.mkdir(exist_ok=True)
        text = json.dumps(self.reasons, indent=1, sort_keys=True, ensure_ascii=False)
        self._path.write_text(f"{text}\n", encoding="utf-8")
