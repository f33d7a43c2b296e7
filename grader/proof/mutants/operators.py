"""The changes that make mutants, beside those of cosmic-ray: what goes wrong with tensors."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], Iterator[ast.AST]]

SWAPPED = {
    "tril": "triu", "triu": "tril", "reshape": "view", "view": "reshape",
    "repeat": "repeat_interleave", "repeat_interleave": "repeat", "expand": "repeat",
    "amax": "amin", "sum": "mean", "mean": "sum", "sin": "cos", "cos": "sin", "exp": "exp2",
    "ones": "zeros", "zeros": "ones", "masked_fill": "masked_fill_", "argmax": "argmin",
    "std": "var", "randn": "rand", "unflatten": "view", "log": "log2", "stack": "cat",
}  # fmt: skip
# whose loss, in a call, leaves something to chance or to torch
DROPPED = ("dtype", "device", "keepdim", "dim", "generator", "bias", "n_heads", "mask", "lengths")


def drop_an_operand(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out one side of an operation: a scale, a bias, the largest score."""
    if isinstance(node, ast.BinOp):
        yield node.left
        yield node.right


def drop_a_condition(node: ast.AST) -> Iterator[ast.AST]:
    """Weaken a guard on one side."""
    if isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            rest = node.values[:at] + node.values[at + 1 :]
            kept = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            yield kept
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        yield ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:])
        yield ast.Compare(node.left, node.ops[:-1], node.comparators[:-1])


def decide_a_condition(node: ast.AST) -> Iterator[ast.AST]:
    """Take a branch always, or never."""
    if isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            changed = copy.copy(node)
            changed.test = ast.Constant(value)
            yield changed


def drop_a_call(node: ast.AST) -> Iterator[ast.AST]:
    """Take x for x.method(...), and f's first argument for f(...)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        if not (isinstance(inner, ast.Name) and inner.id in ("torch", "F", "nn", "math", "np")):
            yield inner
        elif node.args:
            yield node.args[0]
    elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name):
        yield node.args[0]
    if isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        yield node.value


def swap_a_name(node: ast.AST) -> Iterator[ast.AST]:
    """Take a function's cousin: tril for triu, view for reshape."""
    if isinstance(node, ast.Attribute) and node.attr in SWAPPED:
        other = SWAPPED[node.attr]
        yield ast.Attribute(node.value, other, node.ctx)


def drop_a_keyword(node: ast.AST) -> Iterator[ast.AST]:
    """Leave an option of a call out."""
    if isinstance(node, ast.Call):
        for at, keyword in enumerate(node.keywords):
            if keyword.arg in DROPPED:
                changed = copy.copy(node)
                changed.keywords = node.keywords[:at] + node.keywords[at + 1 :]
                yield changed


def swap_arguments(node: ast.AST) -> Iterator[ast.AST]:
    """Swap two arguments that stand beside each other."""
    if isinstance(node, ast.Call):
        for at in range(len(node.args) - 1):
            if ast.dump(node.args[at]) != ast.dump(node.args[at + 1]):
                changed = copy.copy(node)
                changed.args = list(node.args)
                changed.args[at : at + 2] = [node.args[at + 1], node.args[at]]
                yield changed


def another_dimension(node: ast.AST) -> Iterator[ast.AST]:
    """Count a dimension differently."""
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and node.operand.value in (1, 2, 3)
    ):
        for other in (-1, -2, -3, 0, 1):
            if other != -node.operand.value:
                yield ast.Constant(other)
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value in (0, 1, 2):
        for other in (-1, 0, 1, 2):
            if other != node.value:
                yield ast.Constant(other)


def another_number(node: ast.AST) -> Iterator[ast.AST]:
    """Change a number that stands for something: an exponent, a fill, a rate."""
    if isinstance(node, ast.Constant) and type(node.value) is float:
        for other in (node.value * 2, -node.value, node.value + 1, 0.0):
            yield ast.Constant(other)
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 2:
        for other in (node.value + 1, node.value - 1):
            yield ast.Constant(other)
    if isinstance(node, ast.Attribute) and node.attr == "inf":
        yield ast.Constant(1e4)
        yield ast.Constant(1e9)


def another_default(node: ast.AST) -> Iterator[ast.AST]:
    """Change what an argument is when it is left out."""
    if isinstance(node, ast.FunctionDef):
        for at, default in enumerate(node.args.defaults):
            value = default.value if isinstance(default, ast.Constant) else None
            if isinstance(value, bool | int | float):
                other = not value if isinstance(value, bool) else value * 2
                changed = copy.deepcopy(node)
                changed.args.defaults[at] = ast.Constant(other)
                yield changed


def cut_a_graph(node: ast.AST) -> Iterator[ast.AST]:
    """Detach what is returned, and what goes into a product."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Call | ast.BinOp | ast.Name):
        yield ast.Return(_method(node.value, "detach"))
    if isinstance(node, ast.BinOp):
        yield ast.BinOp(_method(node.left, "detach"), node.op, node.right)
        yield ast.BinOp(node.left, node.op, _method(node.right, "detach"))


def squeeze(node: ast.AST) -> Iterator[ast.AST]:
    """Take sizes of 1 away from what is returned, or make it float32."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Call | ast.BinOp | ast.Name):
        yield ast.Return(_method(node.value, "squeeze"))
        yield ast.Return(_method(node.value, "float"))
        yield ast.Return(_method(node.value, "cpu"))


def _method(value: ast.expr, name: str) -> ast.Call:
    return ast.Call(ast.Attribute(value, name, ast.Load()), [], [])


def drop_a_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Leave a statement out."""
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Raise):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        yield ast.Pass()


def another_parameter(node: ast.AST) -> Iterator[ast.AST]:
    """Take one parameter for another of the same function."""
    if isinstance(node, ast.FunctionDef):
        names = [a.arg for a in node.args.args if a.arg != "self"]
        uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in names]
        for at, use in enumerate(uses):
            if not isinstance(use.ctx, ast.Load):
                continue
            for other in names:
                if other != use.id:
                    changed = copy.deepcopy(node)
                    again = [
                        n for n in ast.walk(changed) if isinstance(n, ast.Name) and n.id in names
                    ]
                    again[at].id = other
                    yield changed


CHANGES: tuple[Change, ...] = (
    drop_an_operand, drop_a_condition, decide_a_condition, drop_a_call, swap_a_name,
    drop_a_keyword, swap_arguments, another_dimension, another_number, another_default,
    cut_a_graph, squeeze, drop_a_statement, another_parameter,
)  # fmt: skip


def plain(source: str) -> str:
    """Write a file without what no mutant changes: docstrings and annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs):
                argument.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_a_docstring(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(tree))


def changes(source: str) -> Iterator[str]:
    """Go through the changed versions of a file, as `plain` has written it."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    messages = {id(inner) for node in nodes for inner in _message(node)}
    places, lines = _places(tree), source.split("\n")
    for node in nodes:
        if _is_a_note(node) or id(node) in messages:
            continue
        for change in CHANGES:
            for other in change(node):
                yield _with(lines, tree, places[id(node)], other)


def _message(node: ast.AST) -> Iterator[ast.AST]:
    """Go through what an error says, which is no matter of mutants."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        for argument in node.exc.args:
            yield from ast.walk(argument)
    if isinstance(node, ast.JoinedStr):
        yield from ast.walk(node)


def _is_a_note(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_a_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and _is_a_note(node.value)


@dataclass(frozen=True)
class Spot:
    """Where a node hangs: in a field of its parent, or in a list there.

    Attributes:
        number: of the statement of the file that it is in.
    """

    parent: ast.AST
    field: str
    at: int | None
    number: int

    def hang(self, node: ast.AST) -> ast.AST:
        """Let another node hang there, and return the one that did."""
        before = getattr(self.parent, self.field)
        if self.at is None:
            setattr(self.parent, self.field, node)
            return before
        before[self.at], taken = node, before[self.at]
        return taken


def _places(tree: ast.Module) -> dict[int, Spot]:
    found = {}
    for number, top in enumerate(tree.body):
        found[id(top)] = Spot(tree, "body", number, number)
        for parent in ast.walk(top):
            for name, value in ast.iter_fields(parent):
                for at, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.AST):
                        in_list = at if isinstance(value, list) else None
                        found[id(child)] = Spot(parent, name, in_list, number)
    return found


def _with(lines: list[str], tree: ast.Module, place: Spot, other: ast.AST) -> str:
    """Write a file with one node exchanged."""
    top = tree.body[place.number]
    first = min(node.lineno for node in [top, *getattr(top, "decorator_list", ())])
    taken = place.hang(other)
    written = ast.unparse(tree.body[place.number])
    place.hang(taken)
    return "\n".join([*lines[: first - 1], written, *lines[top.end_lineno :]])
