"""Run by its path, with a pack in `PYTHONPATH`: import all that the pack's code may ever import.

    python try_imports.py

Late imports count, and modules that are named in a string. Prints a line for each import of what
is not there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

MODULE = re.compile(r"grader(\.\w+)+")


def main() -> None:
    """Import everything."""
    for path in sorted([*Path("grader").rglob("*.py"), *Path("tests").glob("*.py")]):
        package = ".".join(path.parent.parts)
        for statement in imports(ast.parse(path.read_bytes())):
            try:
                exec(statement, {"__package__": package})
            except ImportError as problem:
                if (problem.name or "").partition(".")[0] == "grader":
                    print(f"{path}: {statement}: {problem}")


def imports(tree: ast.Module) -> Iterator[str]:
    """List what a module imports at any time, as statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and MODULE.fullmatch(name := str(node.value)):
            yield f"import {name}"


if __name__ == "__main__":
    main()
