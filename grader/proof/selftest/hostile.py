"""The submissions in `grader/proof/hostile`: reading them, and holding a report against them.

Each file is the body of one chapter. Its docstring says what it tries, then what must come out:

    chapter: the chapter that it is
    onto: what its code stands behind: the solution (as a rule), or nothing
    earns: the exercises that earn their points in full, or nothing
    partly: of these, those that lose some points
    at most: of these, those that may lose any
    outcomes: what may become of the checks of all others, which earn 0
    passes: of these checks, those that may pass, by the beginnings of their names, or all
    says: words that one of their messages must hold
    never: words that no message may hold

A line `# file: NAME` begins another file of the same submission.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import places

FOLDER = Path(__file__).parents[1] / "hostile"
OUTCOMES = {"failed", "error", "timeout", "crashed", "forbidden", "not started"}
KEYS = {"chapter", "onto", "earns", "partly", "at most", "outcomes", "passes", "says", "never"}


# what a wall stands before; the rest is Python's own, and knows of no user
OF_THE_SYSTEM = re.compile(
    r"\b(os|ctypes|fcntl|mmap|multiprocessing|pathlib|posix|resource|shutil|signal|socket"
    r"|subprocess|tempfile|threading)\b|\bopen\("
)

# the kit is out of sight in the worker; who patches it finds it through the frames of his callers
FINDS_THE_KIT = """
import gc
import sys


class Found:
    def __init__(self, space):
        self.__dict__["space"] = space

    def __getattr__(self, name):
        if name not in self.space:
            raise AttributeError(name)
        return self.space[name]

    def __setattr__(self, name, value):
        self.space[name] = value


def find_the_kit():
    frame, waiting, objects, known = sys._getframe(), [], [], gc.get_objects
    while frame:
        waiting.append(frame.f_globals)
        objects += frame.f_locals.values()
        frame = frame.f_back
    gc.get_objects = lambda: objects + known()
    while waiting:
        space = waiting.pop()
        name = space.get("__name__", "")
        if name.startswith("grader") and name not in sys.modules:
            sys.modules[name] = Found(space)
            for value in list(space.values()):
                held = [value, *vars(value).values()] if isinstance(value, type) else [value]
                waiting += [one.__globals__ for one in held if hasattr(one, "__globals__")]
                waiting += [vars(one) for one in held if isinstance(one, type(sys))]


find_the_kit()
"""


@dataclass(frozen=True)
class Hostile:
    """A hostile submission, and what must come out."""

    name: str
    what: str
    facts: dict[str, str]
    code: str

    @property
    def chapter(self) -> str:
        """The chapter's stem."""
        return self.facts["chapter"]

    @property
    def meets_walls(self) -> bool:
        """Whether it asks the system for something."""
        return OF_THE_SYSTEM.search(self.code) is not None

    def listed(self, key: str) -> list[str]:
        """Return a fact that is a list."""
        said = self.facts.get(key, "")
        return [] if said in ("", "nothing") else [part.strip() for part in said.split(",")]

    def files(self) -> dict[str, bytes]:
        """Return the files that it is made of, besides the solutions of other chapters."""
        own, *others = re.split(r"((?:^# file: .+\n)+)", self.code, flags=re.MULTILINE)
        files = {f"{self.chapter}.py": self._chapter(own)}
        for names, code in zip(others[::2], others[1::2], strict=True):
            for line in names.splitlines():
                files[line.removeprefix("# file: ")] = code.encode()
        return files

    def _chapter(self, own: str) -> bytes:
        right = (places.SOLUTIONS / f"{self.chapter}.py").read_bytes()
        onto = self.facts.get("onto", "the solution")
        if not onto.endswith("by source()"):
            code = FINDS_THE_KIT + own if '"grader.' in own or "get_objects" in own else own
            return {"the solution": right, "nothing": b""}[onto] + b"\n\n\n" + code.encode()
        made: dict[str, Any] = {}
        exec(compile(own, self.name, "exec"), made)
        return bytes(made["source"]() if onto.startswith("nothing") else made["source"](right))

    def complaints(self, found: dict[str, Any]) -> Iterator[str]:
        """Say what in a submission's report is not as it must be."""
        if found["status"] != "graded":
            yield f"was not graded: {found['problem']}"
        others = []
        for exercise in found["exercises"]:
            name = exercise["exercise"].split(".")[1]
            earned, points = exercise["devices"]["cpu"]["earned"], exercise["points"]
            least, most = self._limits(name, points)
            if not least <= earned <= most:
                checks = [f"{c['check']} {c['outcome']}" for c in exercise["checks"]]
                yield f"{name} earned {earned} of {points}: {'; '.join(checks)[:300]}"
            if not most:
                others += exercise["checks"]
        for check in others:
            if not self._may(check):
                yield f"{check['check']} came out as {check['outcome']}: {check['message'][:300]}"
        said = [" ".join(check["message"].split()) for check in others]
        words = self.facts.get("says", "")
        if words and not any(words in text for text in said):
            yield f"none of its messages says {words!r}: {said[0][:300]}"
        never = self.facts.get("never", "").encode().decode("unicode_escape")
        everything = str(found) if never.isprintable() else "".join(said)
        if never and never in everything:
            yield f"its report holds {never!r}"

    def _may(self, check: dict[str, Any]) -> bool:
        if check["outcome"] == "passed":
            passes = self.listed("passes")
            return passes == ["all"] or check["check"].startswith(tuple(passes))
        return check["outcome"] in self.listed("outcomes")

    def _limits(self, name: str, points: float) -> tuple[float, float]:
        if name in self.listed("at most"):
            return 0.0, points
        if name in self.listed("partly"):
            return 0.01, points - 0.01
        full = points if name in self.listed("earns") else 0.0
        return full, full


def all_of_them() -> list[Hostile]:
    """Read every file."""
    return [_read(path) for path in sorted(FOLDER.glob("*.py"))]


def _read(path: Path) -> Hostile:
    _, header, code = path.read_text(encoding="utf-8").split('"""', 2)
    what, said = header.split("\n\n", 1)
    facts = dict(line.split(": ", 1) for line in said.strip().splitlines())
    return Hostile(path.stem, what, facts, code)


def write(folder: Path, chosen: Sequence[Hostile], every: int = 6) -> dict[str, Hostile | None]:
    """Write hostile submissions, with right ones among them.

    Returns:
        What each folder's name stands for; None for a right submission.
    """
    right = {path.name: path.read_bytes() for path in places.SOLUTIONS.glob("ex*.py")}
    written: dict[str, Hostile | None] = {}
    row: list[Hostile | None] = [None]
    for first in range(0, len(chosen), every):
        row += [*chosen[first : first + every], None]
    for number, one in enumerate(row):
        name = f"{number:03}-{one.name if one else 'neighbour'}"
        written[name] = one
        _put(folder / name, {**right, **(one.files() if one else {})})
    return written


def _put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
