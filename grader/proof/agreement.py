"""Stubs and solutions agree: names, signatures, docstrings; docstring and coach; doctests pass."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from types import ModuleType

from grader import places
from grader.author_errors import defined_at, located, reading
from grader.chapters import Catalogue, World
from grader.chapters.catalogue import suite_path
from grader.proof.figure import Figure
from grader.trouble import BrokenFile

DIFFICULTY = re.compile(r"Difficulty (\d) of 5, about (\d+) minutes?\.")


def agreement(catalogue: Catalogue) -> Figure:
    """Compare every stub with its solution and with what the coach says of it."""
    figure = Figure("stubs and solutions agree")
    for chapter in catalogue.chapters:
        for path in places.files_of(chapter.stem):
            _none_twice(path, figure)
        _no_assert(suite_path(chapter.stem), figure)
        stubs = _public(places.EXERCISES / f"{chapter.stem}.py")
        solved = _public(places.SOLUTIONS / f"{chapter.stem}.py")
        for exercise in chapter.exercises:
            name = exercise.name
            stub, solution = stubs.get(name), solved.get(name)
            figure.count(
                stub is not None and stub == solution,
                f"{_at(chapter.stem, name)}: {_unlike(stub, solution)}",
            )
            said = DIFFICULTY.search(stub[1] if stub else "")
            task = exercise.task
            coachs = f"Difficulty {task.difficulty} of 5, about {task.minutes} minutes."
            otherwise = f"the coach says {coachs!r}" if said else f"there is no line {coachs!r}"
            figure.count(
                said is not None and said.groups() == (str(task.difficulty), str(task.minutes)),
                f"{_at(chapter.stem, name)}: of {name} {otherwise}",
            )
        _only_imports(chapter.stem, figure)
        extra = [name for name in stubs if name not in {e.name for e in chapter.exercises}]
        figure.count(not extra, f"{chapter.stem}: stubs without a task: {', '.join(extra)}")
    return figure


def _none_twice(path: Path, figure: Figure) -> None:
    """Count what a file defines: of two of one name only the second is there."""
    with reading(path):
        nodes = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
    first: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            before = first.setdefault(node.name, node.lineno)
            again = f"{located(path, node.lineno)}: {node.name} takes the place of line {before}'s"
            figure.count(before == node.lineno, again)


def _no_assert(suite: Path, figure: Figure) -> None:
    """Count asserts in a suite: who fails one is told that the kit is at fault."""
    with reading(suite):
        nodes = ast.walk(ast.parse(suite.read_text(encoding="utf-8"), str(suite)))
    for node in nodes:
        if isinstance(node, ast.Assert):
            says = "an assert blames the kit for an answer: say it with `same`, `equal` or `holds`"
            figure.count(False, f"{located(suite, node.lineno)}: {says}")


def _at(stem: str, name: str) -> str:
    """Say where a stub stands."""
    return defined_at(places.EXERCISES / f"{stem}.py", name)


def _unlike(stub: tuple[str, str] | None, solution: tuple[str, str] | None) -> str:
    """Say how a stub and its solution differ."""
    if stub is None or solution is None:
        return "the coach's task has no " + ("stub here" if stub is None else "solution")
    what = "signature" if stub[0] != solution[0] else "docstring"
    return f"the {what} is another one in the solution"


def _only_imports(stem: str, figure: Figure) -> None:
    """Count what stands between the stubs: a student begins with a file of stubs alone."""
    path = places.EXERCISES / f"{stem}.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body[1:]:
        holds = isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)
        figure.count(holds, f"{located(path, node.lineno)}: neither an import nor a stub")


def _public(path: Path) -> dict[str, tuple[str, str]]:
    """Return each public function or class with its signature and its docstrings."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found[node.name] = (_signature(node), _docstrings(node))
    return found


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.FunctionDef):
        return f"{ast.unparse(node.args)} -> {ast.unparse(node.returns) if node.returns else ''}"
    bases = ", ".join(map(ast.unparse, node.bases))
    methods = [f"{f.name}{_signature(f)}" for f in node.body if isinstance(f, ast.FunctionDef)]
    return f"({bases}) " + "; ".join(methods)


def _docstrings(node: ast.FunctionDef | ast.ClassDef) -> str:
    own = ast.get_docstring(node) or ""
    inner = [_docstrings(f) for f in node.body if isinstance(f, ast.FunctionDef)]
    return "\n".join([own, *inner] if isinstance(node, ast.ClassDef) else [own])


def imported(world: World, stem: str) -> ModuleType:
    """Import a chapter.

    Raises:
        ChapterError: it stops; the error says where.
    """
    try:
        return world.load(stem)
    except BrokenFile as broken:
        with reading(world.path(broken.root.stem)):
            raise broken.root.cause from None
        raise


def examples(catalogue: Catalogue, known: Catalogue) -> Figure:
    """Run the docstrings' examples against the solutions; `known` holds every chapter."""
    figure = Figure("docstring examples pass")
    world = World(places.SOLUTIONS, known.names())
    runner = doctest.DocTestRunner(verbose=False)
    for chapter in catalogue.chapters:
        module = imported(world, chapter.stem)
        found = doctest.DocTestFinder(recurse=True).find(module, chapter.stem, extraglobs=None)
        with_examples = {test.name.split(".")[1] for test in found if test.examples}
        for exercise in chapter.exercises:
            if exercise.name not in with_examples:
                figure.count(False, f"{exercise.full} has no example")
        for test in found:
            if test.examples:
                said: list[str] = []
                with world.active():
                    failed = runner.run(test, out=said.append).failed
                figure.count(not failed, "".join(said))
    return figure
