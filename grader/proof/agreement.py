"""Stubs and solutions agree: names, signatures, docstrings; docstring and coach; doctests pass."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

from grader.chapters import Catalogue, World, places
from grader.proof.figure import Figure

DIFFICULTY = re.compile(r"Difficulty (\d) of 5, about (\d+) minutes?\.")


def agreement(catalogue: Catalogue) -> Figure:
    """Compare every stub with its solution and with what the coach says of it."""
    figure = Figure("stubs and solutions agree")
    for chapter in catalogue.chapters:
        stubs = _public(places.EXERCISES / f"{chapter.stem}.py")
        solved = _public(places.SOLUTIONS / f"{chapter.stem}.py")
        for exercise in chapter.exercises:
            name = exercise.name
            stub, solution = stubs.get(name), solved.get(name)
            figure.count(
                stub is not None and stub == solution,
                f"{exercise.full}: signature or docstring of stub and solution differ",
            )
            said = DIFFICULTY.search(stub[1] if stub else "")
            task = exercise.task
            figure.count(
                said is not None and said.groups() == (str(task.difficulty), str(task.minutes)),
                f"{exercise.full}: the docstring's difficulty and minutes are not the coach's",
            )
        extra = [name for name in stubs if name not in {e.name for e in chapter.exercises}]
        figure.count(not extra, f"{chapter.stem}: stubs without a task: {', '.join(extra)}")
    return figure


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


def examples(catalogue: Catalogue) -> Figure:
    """Run the docstrings' examples against the solutions."""
    figure = Figure("docstring examples pass")
    world = World(places.SOLUTIONS, catalogue.names())
    runner = doctest.DocTestRunner(verbose=False)
    for chapter in catalogue.chapters:
        module = world.load(chapter.stem)
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
