"""How two ways to write a function differ: by their syntax trees, whatever the names."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

# what says nothing of how somebody goes about it
EVERYDAY = frozenset(
    """
    size dim numel len tuple list dict range isinstance zip map str int float bool super append
    extend type to type_as new_zeros zeros zeros_like empty clone contiguous detach device get copy
    print max min sorted enumerate item iter next step values items setattr getattr Size unsqueeze
    squeeze view reshape partial Tensor ValueError
    """.split()  # noqa: SIM905
)
SHAPES = {
    "recursion": "by recursion",
    "vmap": "with vmap",
    "einsum": "with einsum",
    "backward": "with a backward pass of its own",
    "loop": "with a loop",
    "pieces": "with a comprehension",
    "class": "as a class",
    "double": "in double precision",
}


def difference(one: str, other: str) -> float:
    """Say how far two texts are apart: 0 for the same tree, 1 where nothing is alike."""
    here, there = _grams(one), _grams(other)
    return 1 - (here & there).total() / ((here | there).total() or 1)


def label(text: str, name: str, others: Sequence[str]) -> str:
    """Say in few words what one way has that the others have not.

    Args:
        text: the way.
        name: the function.
        others: those that it is laid beside.
    """
    known = {trait for other in others for trait in _traits(other, name)}
    own = list(dict.fromkeys(trait for trait in _traits(text, name) if trait not in known))
    shapes = [SHAPES[trait] for trait in SHAPES if trait in own]
    if shapes:
        return shapes[0]
    named = [trait.removeprefix("calls ") for trait in own if trait.startswith("calls ")]
    if named:
        return f"with {' and '.join(named[:2])}"
    return "in fewer words" if len(text) < min(map(len, others)) else "in other words"


def _grams(text: str) -> Counter[tuple[str, ...]]:
    """Count what a tree is made of: each node beneath its parent, and what is called."""
    found: Counter[tuple[str, ...]] = Counter()
    for parent in ast.walk(ast.parse(text)):
        for child in _meaningful(parent):
            found[type(parent).__name__, type(child).__name__] += 1
        if isinstance(parent, ast.Call):
            found["calls", _called(parent)] += 1
    return found


def _meaningful(node: ast.AST) -> Iterator[ast.AST]:
    """Go through a node's children, but for annotations."""
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "ctx"):
            children = value if isinstance(value, list) else [value]
            yield from (child for child in children if isinstance(child, ast.AST))


def _traits(text: str, name: str) -> Iterator[str]:
    """Name what somebody does, in the order of the text."""
    tree = ast.parse(text)
    own = {getattr(node, "name", "") for node in ast.walk(tree)} - {name}
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            yield "loop"
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield "pieces"
        elif isinstance(node, ast.ClassDef) and node.name != name:
            yield "backward" if "Function" in ast.unparse(node).splitlines()[0] else "class"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield "calls @"
        elif isinstance(node, ast.Call):
            called = _called(node)
            yield from () if called in own else _of_call(called, name)


def _of_call(called: str, name: str) -> Iterator[str]:
    if called == name:
        yield "recursion"
    elif called in SHAPES:
        yield called
    elif called and called not in EVERYDAY and not called.startswith("_"):
        yield f"calls {called}"


def _called(node: ast.Call) -> str:
    made = node.func
    if isinstance(made, ast.Attribute):
        return made.attr
    return made.id if isinstance(made, ast.Name) else ""
