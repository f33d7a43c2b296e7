"""What counts of a notebook's cells: the chapter's functions, and what these use."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from grader.notebooks.started import is_stub
from grader.notebooks.statements import MOST, Statement, statements

ANSWER = "answer:"
IMPORTS = "imports"
FUTURE = "from __future__ import annotations"


@dataclass(frozen=True)
class Cell:
    """A code cell: its place in the notebook, its text, and its tags."""

    number: int
    source: str
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Taken:
    """A cell taken apart, or what keeps it from being Python."""

    cell: Cell
    statements: tuple[Statement, ...] = ()
    problem: SyntaxError | None = None

    def defines(self, name: str) -> bool:
        """Whether the cell defines a function, as far as can be told."""
        if self.problem is None:
            return any(name in one.binds for one in self.statements)
        begun = rf"^(?:async +)?(?:def|class) +{re.escape(name)}\b"
        return ANSWER + name in self.cell.tags or bool(re.search(begun, self.cell.source, re.M))

    def leaves(self, name: str) -> bool:
        """Whether the cell leaves a function as the stub that it was."""
        bound = [one.node for one in self.statements if name in one.binds]
        return self.problem is None and is_stub(bound[-1])


def chosen_source(cells: Iterable[Cell], exercises: Collection[str]) -> str:
    """Put together what counts.

    Args:
        cells: the code cells, in order.
        exercises: the functions that are asked for.

    Raises:
        ValueError: there are more statements than anybody writes.
    """
    taken = _taken_apart(cells)
    everything = [one for each in taken for one in each.statements]
    places = {name: _place(taken, name) for name in exercises}
    counted = _counted(everything, places, taken)
    lines = [FUTURE] if any(_is_future(one) for one in everything) else []
    cell = 0
    for one in everything:
        if one in counted:
            lines += [f"\n# cell {one.cell}"] if one.cell != cell else []
            lines.append(one.text)
            cell = one.cell
    for name, place in places.items():
        if place is not None and place.problem is not None:
            lines += ["", *_says(name, place.problem)]
    return "\n".join(lines) + "\n"


def _taken_apart(cells: Iterable[Cell]) -> list[_Taken]:
    taken, total = [], 0
    for cell in cells:
        try:
            taken.append(_Taken(cell, tuple(statements(cell.number, cell.source))))
        except SyntaxError as problem:
            taken.append(_Taken(cell, problem=problem))
        total += len(taken[-1].statements)
        if total > MOST:
            raise ValueError(f"more than {MOST} statements")
    return taken


def _place(taken: list[_Taken], name: str) -> _Taken | None:
    """Return the cell whose definition of a function counts.

    It is the last of the cells with the function's tag, or else the last of all that define it;
    but what is still a stub comes after everything else.
    """
    found = [one for one in taken if one.defines(name)]
    begun = [one for one in found if not one.leaves(name)] or found
    tagged = [one for one in begun if ANSWER + name in one.cell.tags] or begun
    return tagged[-1] if tagged else None


def _counted(
    everything: list[Statement], places: dict[str, _Taken | None], taken: list[_Taken]
) -> set[Statement]:
    """Collect the functions' own statements, and then whatever these need."""
    counted = {
        one
        for name, place in places.items()
        if place is not None
        for one in place.statements
        if name in one.concerns
    }
    answers = {place.cell.number for place in places.values() if place is not None}
    answers |= {one.cell.number for one in taken if IMPORTS in one.cell.tags}
    helpers = _helpers([one for one in everything if not one.concerns & set(places)], answers)
    sought: set[str] = set()
    waiting = [name for one in counted for name in one.needs]
    while waiting:
        name = waiting.pop()
        if name not in sought:
            sought.add(name)
            new = [one for one in helpers.get(name, ()) if one not in counted]
            waiting += [other for one in new for other in one.needs]
            counted.update(new)
    bound = {name for one in counted for name in one.binds}
    if sought - bound - set(dir(builtins)):
        counted.update(one for one in everything if one.imports_all)
    return counted


def _helpers(everything: list[Statement], answers: set[int]) -> dict[str, list[Statement]]:
    """List by name what defines it; what stands beside an answer goes before all else."""
    found: dict[str, list[Statement]] = defaultdict(list)
    for one in everything:
        for name in one.concerns if not _is_future(one) else ():
            found[name].append(one)
    return {
        name: [one for one in listed if one.cell in answers] or listed
        for name, listed in found.items()
    }


def _is_future(one: Statement) -> bool:
    return isinstance(one.node, ast.ImportFrom) and one.node.module == "__future__"


def _says(name: str, problem: SyntaxError) -> Iterator[str]:
    """Write a function that says why there is no other."""
    line = f"line {problem.lineno} of its cell" if problem.lineno else "its cell"
    yield f"def {name}(*_, **__):"
    yield f"    raise SyntaxError({f'{line} is not Python yet: {problem.msg}'!a})"
