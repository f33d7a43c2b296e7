"""The house: imports run one way, also those that are made late, and the picture of it is true."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from grader import places

# what answers are made of, or what they are attacked with: read, but no part of the house
READ = ("hostile", "data", "variants")


def modules() -> dict[str, Path]:
    """Every module of the grader by its name."""
    found = {}
    for path in (places.ROOT / "grader").rglob("*.py"):
        parts = path.relative_to(places.ROOT).with_suffix("").parts
        if not set(parts) & set(READ):
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node, but what is read by a type checker alone."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from statements(child)


def imported(tree: ast.Module, known: dict[str, Path]) -> Iterator[str]:
    """Every module of the grader that one loads, wherever in it the import stands."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found = name if name in known else node.module
                if found in known:
                    yield found


def needs(known: dict[str, Path]) -> dict[str, set[str]]:
    """What every module imports."""
    return {
        name: set(imported(ast.parse(path.read_text(encoding="utf-8")), known)) - {name}
        for name, path in known.items()
    }


def test_no_module_needs_itself_by_way_of_others():
    try:
        TopologicalSorter(needs(modules())).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_no_two_public_classes_have_one_name():
    where: dict[str, list[str]] = {}
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            # a slip is a class only because the exercise is one
            is_public = isinstance(node, ast.ClassDef) and node.name[0].isupper()
            if is_public and name.split(".")[1:2] != ["proof"]:
                where.setdefault(node.name, []).append(name)
    assert {name: places for name, places in where.items() if len(places) > 1} == {}


def test_the_picture_in_the_readme_is_true():
    known = modules()
    rooms = {name.split(".")[1] for name in known if name.count(".") > 1}
    drawn: dict[str, set[str]] = {}
    for line in (places.ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        room = cells[1].strip("`") if len(cells) == 5 else ""
        if room in rooms and cells[3] != "any":
            drawn[room] = set(cells[3].split(", ")) - {"none"}
    there: dict[str, set[str]] = {room: set() for room in drawn}
    for name, needed in needs(known).items():
        room = name.split(".")[1] if "." in name else ""
        if room in there:
            there[room] |= {one.split(".")[1] for one in needed if "." in one} & rooms - {room}
    assert drawn == there
    assert rooms - set(drawn) == {"commands", "proof"}
    TopologicalSorter(drawn).prepare()
