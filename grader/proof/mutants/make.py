"""Making the mutants of a folder of right answers."""

from __future__ import annotations

import ast
import difflib
import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.proof.mutants import operators

# cosmic-ray's operators that torch and Python do not refuse at once
BINARY = (
    "Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Div_FloorDiv", "FloorDiv_Div", "Mod_FloorDiv",
    "Pow_Mul", "BitAnd_BitOr", "BitOr_BitAnd",
)  # fmt: skip
OTHERS = ("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr",
          "ReplaceOrWithAnd", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak",
          "ExceptionReplacer", "ZeroIterationForLoop", "RemoveDecorator")  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file with one change.

    Attributes:
        folder: the right answer that it was made of.
        stem: the chapter.
        function: the function, or class, in which the change is.
        before: the lines that were changed.
        after: what they became.
        source: the changed file.
        nth: which it is of those that change such a line of the function in this way.
    """

    folder: Path
    stem: str
    function: str
    before: str
    after: str
    source: str
    nth: int = 1

    @property
    def key(self) -> str:
        """Name the mutant, whatever else is in the file: for the list of equivalents."""
        change = f"{self.before} => {self.after}" + (f" ({self.nth})" if self.nth > 1 else "")
        return f"{self.stem}.{self.function}: {change}"


def mutants_of(folder: Path, stem: str) -> Iterator[Mutant]:
    """Make all mutants of a chapter's file, each once."""
    source = operators.plain((folder / f"{stem}.py").read_text(encoding="utf-8"))
    lines = source.split("\n")
    owners = _owners(ast.parse(source))
    seen, alike = {"", _says(source)}, Counter[tuple[str, str, str]]()
    for changed in itertools.chain(operators.changes(source), _by_cosmic_ray(source)):
        if (says := _says(changed)) in seen:
            continue
        seen.add(says)
        line, before, after = _difference(lines, says.split("\n"))
        if owners.get(line):
            change = owners[line], before, after
            alike[change] += 1
            yield Mutant(folder, stem, *change, changed, alike[change])


def _difference(before: list[str], after: list[str]) -> tuple[int, str, str]:
    """Return the first line that differs, and the lines that do, on one line each."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    _, start, end, other, other_end = next(block for block in blocks if block[0] != "equal")
    return start + 1, _on_one_line(before[start:end]), _on_one_line(after[other:other_end])


def _on_one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


@functools.lru_cache(maxsize=1)
def _says(source: str) -> str:
    """Tell files apart by what they say; nothing is left of one that says nothing."""
    try:
        return ast.unparse(ast.parse(source))
    except SyntaxError:
        return ""


def _owners(tree: ast.Module) -> dict[int, str]:
    """Return for each line the function or class at the top that it is in."""
    found: dict[int, str] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign):
            name = node.name if not isinstance(node, ast.Assign) else _target(node)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = name
    return found


def _target(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _by_cosmic_ray(source: str) -> Iterator[str]:
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    names = [f"core/ReplaceBinaryOperator_{pair}" for pair in BINARY]
    names += [f"core/{name}" for name in OTHERS]
    names += [
        name for name in operator_names()
        # of small numbers `is` and `==` are the same
        if ("Comparison" in name or "Unary" in name) and not name.endswith(("_Is", "_IsNot"))
    ]  # fmt: skip
    nodes = list(ast_nodes(get_ast(source)))
    for name in names:
        operator = get_operator(name)()
        places = [place for node in nodes for place in operator.mutation_positions(node)]
        for at in range(len(places)):
            changed = mutate_code(source, operator, at)
            if changed is not None and _says(changed):
                yield changed
