"""What counts of a notebook's cells: the chapter's functions, and what these use."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.written.cells import in_cell, mark
from grader.written.source import HEADER, TWICE
from grader.written.started import is_stub
from grader.written.statements import MOST, Statement, statements

ANSWER = "answer:"
IMPORTS = "imports"
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUTURE = "from __future__ import annotations"


@dataclass(frozen=True)
class Cell:
    """A code cell: its number, as `cells` counts them, its text, and its tags."""

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


def chosen_source(
    cells: Iterable[Cell], name: str, exercises: Collection[str], *, saved: bool = True
) -> str:
    """Put together what counts: a comment above each statement says where it stands.

    Args:
        cells: the code cells, in order.
        name: the notebook's.
        exercises: the functions that are asked for.
        saved: whether each cell is there once; if they are what was run, it is no news that a
            function is written in several.

    Raises:
        ValueError: there are more statements than anybody writes.
    """
    taken = _taken_apart(cells)
    everything = [one for each in taken for one in each.statements]
    places = {name: _place(taken, name) for name in exercises}
    counted = _counted(everything, places, taken)
    lines = [HEADER.decode() + ascii(name)[1:-1]]
    lines += [TWICE + said for one in exercises if saved and (said := _twice(taken, one))]
    lines += [FUTURE] if any(_is_future(one) for one in everything) else []
    for one in everything:
        if one in counted:
            lines += ["", mark(one.cell, one.line), one.text]
    for exercise, place in places.items():
        if place is not None and place.problem is not None:
            lines += ["", *_says(exercise, name, place.cell, place.problem)]
    return "\n".join(lines) + "\n"


def not_python(cells: Sequence[Cell], name: str) -> tuple[Cell, SyntaxError] | None:
    """Return the last cell that defines a function, with what keeps it from being Python, if so."""
    for cell in reversed(cells):
        [taken] = _taken_apart([cell])
        if taken.defines(name):
            return (cell, taken.problem) if taken.problem is not None else None
    return None


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
    begun = _begun(taken, name)
    tagged = [one for one in begun if ANSWER + name in one.cell.tags] or begun
    return tagged[-1] if tagged else None


def _begun(taken: list[_Taken], name: str) -> list[_Taken]:
    """List the cells that define a function, without stubs unless there is nothing else."""
    found = [one for one in taken if one.defines(name)]
    return [one for one in found if not one.leaves(name)] or found


def _twice(taken: list[_Taken], name: str) -> str:
    """Say which cell counts, where several define a function."""
    numbers = [one.cell.number for one in _begun(taken, name)]
    counts = _place(taken, name)
    if len(numbers) < 2 or counts is None:
        return ""
    listed = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    why = "the last of them" if counts.cell.number == numbers[-1] else "where its stub was"
    return f"{name} is written in cells {listed}: cell {counts.cell.number} counts, {why}"


def _of_answer(taken: list[_Taken], name: str, place: _Taken) -> Iterator[Statement]:
    """List what makes a function: its definition, and what that is made of or is changed to.

    Where its cell is marked as the answer's, other cells are nobody's answer.
    """
    since: _Taken | None = None
    before = [one for one in _begun(taken, name) if one.cell.number < place.cell.number]
    for at in (place, *reversed(before)):
        own = [one for one in at.statements if name in one.concerns]
        yield from own
        if ANSWER + name in at.cell.tags:
            break
        since = at
        # softmax = timed(softmax)
        first = next((one for one in own if name in one.binds), None)
        if first is None or name not in first.needs or isinstance(first.node, DEFINES):
            break
    for one in taken:
        if since is not None and one.cell.number > since.cell.number:
            yield from (each for each in one.statements if name in each.changes - each.binds)


def _counted(
    everything: list[Statement], places: dict[str, _Taken | None], taken: list[_Taken]
) -> set[Statement]:
    """Collect the functions' own statements, and then whatever these need."""
    counted = {
        one
        for name, place in places.items()
        if place is not None
        for one in _of_answer(taken, name, place)
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


def line_of(problem: SyntaxError, cell: Cell) -> tuple[int, str]:
    """Return the line of a cell at which it is not Python: its number and its text."""
    line, shown = problem.lineno or 1, cell.source.split("\n")
    return line, shown[line - 1].strip() if line <= len(shown) else ""


def _says(exercise: str, name: str, cell: Cell, problem: SyntaxError) -> Iterator[str]:
    """Write a function that says why there is no other."""
    line, text = line_of(problem, cell)
    where = in_cell(name.rsplit("/", 1)[-1], cell.number), line, None, text
    yield mark(cell.number, line)
    yield f"def {exercise}(*_, **__):"
    yield f"    raise SyntaxError({problem.msg!a}, {where!a})"
