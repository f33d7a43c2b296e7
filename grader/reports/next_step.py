"""The next step: the first function that can be worked on now, and where it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from grader import places
from grader.reports.message import parts
from grader.results import ExerciseResult
from grader.written.cells import Place, place
from grader.written.folder import Folder
from grader.written.source import NOTEBOOK
from grader.written.started import binds


@dataclass(frozen=True)
class NextStep:
    """What to do next.

    Attributes:
        stem: the chapter.
        name: the function; empty where the file itself has to be mended first.
        path: the file or the notebook.
        at: where in it the function, or the trouble, is.
        trouble: why the file cannot be used, if it cannot.
        finished: the chapter that is done with what ran, if the step leads on to another.
        polish: how many checks fail of a function that is right; 0 for any other.
        left: the line on which the stub's `raise` still stands beside what was written; 0 if not.
    """

    stem: str
    name: str
    path: Path
    at: Place
    trouble: str = ""
    finished: str = ""
    polish: int = 0
    left: int = 0

    @property
    def full(self) -> str:
        """The function's full name."""
        return f"{self.stem}.{self.name}"

    @property
    def where(self) -> str:
        """File and line, or notebook and cell, as seen from the current folder."""
        return self.seen_as(places.short(self.path))

    def seen_as(self, path: str) -> str:
        """Say where with another way to write the path."""
        if not self.at.cell and path.endswith(NOTEBOOK):
            return path
        return self.at.of(path) if self.trouble and self.at.cell else self.at.begins(path)


def next_step(
    results: Sequence[ExerciseResult], answers: Path, device: str, *, polish: bool = True
) -> NextStep | None:
    """Return the next step; None if nothing is left in what ran, and in what did not.

    In each chapter what is not right yet comes first, then what is right and wants polish.

    Args:
        results: every exercise in teaching order, also those that were not run.
        answers: the folder of answers.
        device: whose checks count.
        polish: whether polish comes before the next chapter, or after all of them.
    """
    folder = _folder(results, answers)
    chapters = (
        [list(group) for _, group in groupby(results, lambda one: one.stem)]
        if polish
        else [results]
    )
    for chapter in chapters:
        for result in chapter:
            if result.state(device) in ("wrong", "not started"):
                first = next(iter(result.waits_for(device)), result.exercise)
                return _broken(result, folder, device) or _step(first, folder)
        for result in chapter:
            if result.state(device) == "to polish":
                return _to_polish(result, results, folder, device)
    return _leads_on(results, folder, device)


def _to_polish(
    result: ExerciseResult, results: Sequence[ExerciseResult], folder: Folder, device: str
) -> NextStep:
    first = next(iter(result.waits_for(device)), result.exercise)
    step = _step(first, folder)
    wanted = next((one for one in results if one.exercise == first), result)
    return replace(step, polish=wanted.to_mend(device)) if wanted.is_right(device) else step


def chapter_file(stem: str, results: Sequence[ExerciseResult], answers: Path) -> Path:
    """Return the file or the notebook in which a student begins a chapter."""
    source = _folder(results, answers).to_go_on(stem)
    return places.EXERCISES / f"{stem}.py" if source is None else answers / source.name


def _folder(results: Sequence[ExerciseResult], answers: Path) -> Folder:
    names: dict[str, list[str]] = {}
    for result in results:
        stem, name = result.exercise.split(".")
        names.setdefault(stem, []).append(name)
    return Folder(answers, names)


def _step(full: str, folder: Folder, finished: str = "") -> NextStep:
    stem, _, name = full.partition(".")
    name = "" if name in ("py", "ipynb") else name
    source = folder.to_go_on(stem)
    if source is None or source.problem:
        can = f"python -m grader reset {stem}" if stem in folder.names else "put yours there"
        trouble = f"is not there: {can}"
        if source is not None:
            trouble = source.problem.removeprefix(f"{source.name} ")
        return NextStep(stem, "", folder.file(stem), Place(0, 1), trouble)
    path = folder.path / source.name
    try:
        tree = ast.parse(source.text)
    except SyntaxError as problem:
        at = Place(0, problem.lineno or 1)
        return NextStep(stem, "", path, at, f"is not Python yet: {problem.msg}")
    except ValueError:
        return NextStep(stem, "", path, Place(0, 1), "is not Python yet: it holds a null byte")
    line = _line_of(name, tree)
    if name and not line:
        return NextStep(
            stem, "", path, Place(0, 1), f"has no {name}: python -m grader reset {name}"
        )
    left = _raise_left(tree, full)
    at = place(source.text, line or 1)
    return NextStep(
        stem, name, path, at, finished=finished, left=left and place(source.text, left).line
    )


def _raise_left(tree: ast.Module, full: str) -> int:
    """Return the line of a stub's own `raise` that stands among other statements; 0 for none."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and full.endswith(f".{node.name}"):
            stubs = [one for one in node.body if _raises(one, full)]
            described = ast.get_docstring(node) is not None
            if stubs and len(node.body) - described > 1:
                return stubs[0].lineno
    return 0


def _line_of(name: str, tree: ast.Module) -> int:
    """Return the line on which a name last gets its meaning at the top of a file, or 0."""
    lines = [node.lineno for node in tree.body if name in _names(node)]
    return lines[-1] if lines else 0


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return binds(node)


def _broken(result: ExerciseResult, folder: Folder, device: str) -> NextStep | None:
    """Lead to the line at which a file stops while it is imported, as its message has it."""
    stem = result.stem
    said = parts(next((c.message for c in result.on(device) if not c.passed), ""))
    # of a notebook one cell may stop, or not be Python
    begun = re.match(rf"{stem}\.(py|ipynb)(, cell \d+)?(, line \d+)? ", said.headline)
    if result.waits_for(device) or begun is None:
        return None
    lines = "\n".join([said.headline, *said.body])
    line = rf"{stem}\.(?:py|ipynb, cell (\d+)), line (\d+)"
    # where the import stops, not where the call went that stands there
    places = re.findall(rf"{line}, in <module>", lines) or re.findall(line, lines)
    at = Place(*(int(number or 0) for number in places[-1])) if places else Place(0, 1)
    return NextStep(stem, "", folder.file(stem), at, said.headline[begun.end() :])


def _leads_on(results: Sequence[ExerciseResult], folder: Folder, device: str) -> NextStep | None:
    """Return the first stub that was not run, after what has passed or else before it."""
    ran = [i for i, result in enumerate(results) if result.on(device)]
    if not ran:
        return None
    last = ran[-1] + 1
    chapter = results[ran[-1]].stem
    rest = [r for r in results if r.stem == chapter]
    finished = chapter if all(r.state(device) == "solved" for r in rest) else ""
    for result in [*results[last:], *results[:last]]:
        stem = result.stem
        if result.state(device) == "not run" and _is_stub(folder.text(stem), result.exercise):
            return _step(result.exercise, folder, finished)
    return None


def _is_stub(source: bytes, said: str) -> bool:
    """Tell by its text whether a function was never touched; a broken file cannot tell."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    name = said.split(".")[1]
    return any(
        _raises(node, said)
        for top in tree.body if getattr(top, "name", None) == name for node in ast.walk(top)
    )  # fmt: skip


def _raises(node: ast.AST, said: str) -> bool:
    """Tell whether this is what a stub raises."""
    return (
        isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        and [getattr(argument, "value", None) for argument in node.exc.args] == [said]
    )  # fmt: skip
