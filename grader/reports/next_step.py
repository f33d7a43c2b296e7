"""The next step: the first function that can be worked on now, and where it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import places
from grader.reports.message import parts
from grader.results import ExerciseResult


@dataclass(frozen=True)
class Step:
    """What to do next.

    Attributes:
        stem: the chapter.
        name: the function; empty where the file itself has to be mended first.
        path: the file.
        line: where the function, or the trouble, is.
        trouble: why the file cannot be used, if it cannot.
        finished: the chapter that is done with what ran, if the step leads on to another.
    """

    stem: str
    name: str
    path: Path
    line: int
    trouble: str = ""
    finished: str = ""

    @property
    def full(self) -> str:
        """The function's full name."""
        return f"{self.stem}.{self.name}"

    @property
    def where(self) -> str:
        """File and line, as seen from the current folder."""
        return f"{places.short(self.path)}:{self.line}"


def next_step(results: Sequence[ExerciseResult], answers: Path, device: str) -> Step | None:
    """Return the next step; None if nothing is left in what ran, and in what did not.

    Args:
        results: every exercise in teaching order, also those that were not run.
        answers: the folder of answers.
        device: whose checks count.
    """
    for result in results:
        if result.state(device) in ("wrong", "not started"):
            first = next(iter(result.waits_for(device)), result.exercise)
            return _broken(result, answers, device) or _step(first, answers)
    return _leads_on(results, answers, device)


def _step(full: str, answers: Path, finished: str = "") -> Step:
    stem, _, name = full.partition(".")
    name = "" if name == "py" else name
    path = answers / f"{stem}.py"
    try:
        line = _line_of(name, ast.parse(path.read_bytes()))
    except SyntaxError as problem:
        return Step(stem, "", path, problem.lineno or 1, f"is not Python yet: {problem.msg}")
    except (OSError, ValueError):
        return Step(stem, "", path, 1, f"is not there: python -m grader reset {stem}")
    if name and not line:
        return Step(stem, "", path, 1, f"has no {name}: python -m grader reset {name}")
    return Step(stem, name, path, line or 1, finished=finished)


def _line_of(name: str, tree: ast.Module) -> int:
    """Return the line on which a name last gets its meaning at the top of a file, or 0."""
    lines = [node.lineno for node in tree.body if name in _names(node)]
    return lines[-1] if lines else 0


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _broken(result: ExerciseResult, answers: Path, device: str) -> Step | None:
    """Lead to the line at which a file stops while it is imported, as its message has it."""
    stem = result.exercise.split(".")[0]
    said = parts(next((c.message for c in result.on(device) if not c.passed), ""))
    if result.waits_for(device) or not said.headline.startswith(f"{stem}.py "):
        return None
    places = re.findall(rf"{stem}\.py, line (\d+)", "\n".join(said.body))
    trouble = said.headline.removeprefix(f"{stem}.py ")
    return Step(stem, "", answers / f"{stem}.py", int(places[-1]) if places else 1, trouble)


def _leads_on(results: Sequence[ExerciseResult], answers: Path, device: str) -> Step | None:
    """Return the first stub that was not run, after what was solved or else before it."""
    solved = [i for i, result in enumerate(results) if result.state(device) == "solved"]
    if not solved:
        return None
    last = solved[-1] + 1
    chapter = results[solved[-1]].exercise.split(".")[0]
    rest = [r for r in results if r.exercise.startswith(f"{chapter}.")]
    finished = chapter if all(r.state(device) == "solved" for r in rest) else ""
    for result in [*results[last:], *results[:last]]:
        stem, name = result.exercise.split(".")
        if result.state(device) == "not run" and _is_stub(answers / f"{stem}.py", name):
            return _step(result.exercise, answers, finished)
    return None


def _is_stub(path: Path, name: str) -> bool:
    """Tell by its text whether a function was never touched; a broken file cannot tell."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    said = f"{path.stem}.{name}"
    return any(
        isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        and [getattr(argument, "value", None) for argument in node.exc.args] == [said]
        for top in tree.body if getattr(top, "name", None) == name for node in ast.walk(top)
    )  # fmt: skip
