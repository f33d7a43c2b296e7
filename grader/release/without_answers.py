"""The suites and the coach as a student gets them: without arithmetic, and without wrong answers.

Of a suite's `reference` only the head is left, as a `recorded`, inside other functions, too; of a
slip its name and sentence.
What nothing uses any more goes with them.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from grader.coach import Slip
from grader.comparing.excerpt import defines

WIDTH = 100
SAID_BY_A_COACH = {"ERRORS", "FINDINGS", "TRACK"}


@dataclass
class _Part:
    """A statement of a file, with the comments and the empty lines before it."""

    node: ast.stmt
    text: str

    @property
    def defines(self) -> set[str]:
        """The names that it gives to the file."""
        node = self.node
        if isinstance(node, ast.Import | ast.ImportFrom):
            return {alias.asname or alias.name.split(".")[0] for alias in node.names}
        return set(defines(node))

    @property
    def uses(self) -> set[str]:
        """The names that it takes from the file."""
        tree = ast.parse(self.text)
        return {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }


def suite(text: str) -> str:
    """Return a suite as a student gets it."""
    parts = _parts(text)
    for part in parts:
        if _marked(part.node, "reference"):
            part.text = _recorded(part)
        elif isinstance(part.node, ast.FunctionDef | ast.ClassDef):
            part.text = _recorded_inside(part)
        elif isinstance(part.node, ast.ImportFrom) and part.node.module == "grader.suite":
            part.node.names.append(ast.alias("recorded"))
    return _joined(_used(parts, _is_root_of_a_suite))


def coach(text: str, slips: dict[str, list[Slip]]) -> str:
    """Return a coach as a student gets it.

    Args:
        text: the file.
        slips: those of each task, by the task's name.
    """
    parts = _parts(text)
    for part in parts:
        if _is_task(part.node):
            variable, name = _task(part.node)
            part.text += _listed(variable, slips[name])
        elif isinstance(part.node, ast.ImportFrom) and part.node.module == "grader.coach":
            part.node.names.append(ast.alias("Slip"))
    return _joined(_used(parts, _is_root_of_a_coach))


def _parts(text: str) -> list[_Part]:
    lines, parts, begin = text.splitlines(keepends=True), [], 0
    for node in ast.parse(text).body:
        assert node.end_lineno is not None
        parts.append(_Part(node, "".join(lines[begin : node.end_lineno])))
        begin = node.end_lineno
    return parts


def _joined(parts: Iterable[_Part]) -> str:
    return "".join(part.text for part in parts).rstrip() + "\n"


def _used(parts: list[_Part], is_root: Callable[[ast.stmt], bool]) -> list[_Part]:
    """Keep the roots, the file's docstring, and what they use; of imports, the names in use."""
    wanted: set[str] = set()
    waiting = [part for part in parts if is_root(part.node)]
    kept = {id(part) for part in waiting}
    while waiting:
        wanted |= waiting.pop().uses
        for part in parts:
            if id(part) not in kept and part.defines & wanted:
                kept.add(id(part))
                waiting.append(part)
    for part in parts:
        if isinstance(part.node, ast.Import | ast.ImportFrom) and not _is_future(part.node):
            _keep_names(part, wanted)
    return [
        part
        for part in parts
        if id(part) in kept or _is_docstring(part.node) or _is_future(part.node)
    ]


def _keep_names(part: _Part, wanted: set[str]) -> None:
    node = part.node
    assert isinstance(node, ast.Import | ast.ImportFrom)
    names = [one for one in node.names if (one.asname or one.name.split(".")[0]) in wanted]
    if not names:
        return
    before = part.text[: len(part.text) - len(part.text.lstrip("\n"))]
    node.names = sorted(names, key=lambda one: (not one.name.isupper(), one.name.swapcase()))
    line = ast.unparse(node)
    if len(line) > WIDTH:
        head = line.partition(" import ")[0]
        listed = "".join(f"    {ast.unparse(one)},\n" for one in node.names)
        line = f"{head} import (\n{listed})"
    part.text = f"{before}{line}\n"


def _is_root_of_a_suite(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name.startswith("test_")
    return isinstance(node, ast.Expr) and not _is_docstring(node)


def _is_root_of_a_coach(node: ast.stmt) -> bool:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", ())
    named = {ast.unparse(one) for one in targets}
    return _is_task(node) or _marked(node, "draws") or bool(named & SAID_BY_A_COACH)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _marked(node: ast.stmt, name: str) -> bool:
    """Tell whether a function or a class is decorated with a name, or a call of it."""
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(one, ast.Name) and one.id == name for made in decorators
               for one in (made, getattr(made, "func", None)))  # fmt: skip


def _recorded(part: _Part) -> str:
    """Return the head of a reference; a class has no part in the checks."""
    node = part.node
    if not isinstance(node, ast.FunctionDef):
        return "\n"
    before = part.text[: len(part.text) - len(part.text.lstrip("\n"))]
    return before + _head(node)


def _recorded_inside(part: _Part) -> str:
    """Return a statement with the heads alone of the references that stand in it."""
    lines = part.text.splitlines(keepends=True)
    # from the last line on: those before it keep their numbers
    for node in reversed(list(_references(ast.parse(part.text)))):
        begin = node.decorator_list[0].lineno - 1
        head = _head(node) if isinstance(node, ast.FunctionDef) else f"{node.name} = None\n"
        lines[begin : node.end_lineno] = [textwrap.indent(head, " " * node.col_offset)]
    return "".join(lines)


def _references(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Go through the references below a node, in order, but not through what stands in them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and _marked(node, "reference"):
            yield node
        else:
            yield from _references(node)


def _head(node: ast.FunctionDef) -> str:
    said = ast.get_docstring(node)
    body = f'"""{said}"""' if said else "..."
    return f"@recorded\ndef {node.name}({ast.unparse(node.args)}):\n    {body}\n"


def _is_task(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "Task"
    )


def _task(node: ast.stmt) -> tuple[str, str]:
    """Return the variable of a task, and the task's name."""
    assert isinstance(node, ast.Assign)
    assert isinstance(node.value, ast.Call)
    return ast.unparse(node.targets[0]), str(ast.literal_eval(node.value.args[0]))


def _listed(variable: str, slips: list[Slip]) -> str:
    written = "".join(
        f"    Slip(\n        {one.name!r},\n        {one.says!r},\n        {one.read!r},\n    ),\n"
        for one in slips
    )
    return f"{variable}.slips += [\n{written}]\n"
