"""What an answer looks like when names, comments and the like are taken away, as a few numbers.

Each number stands for a statement or an expression. Two answers that share many were written alike;
nothing can be read from the numbers.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator, Mapping

from grader.written.started import LONGEST, binds, is_stub, parsed

# how many numbers are kept of a function: the least ones, so that equal functions keep equal ones
MOST = 64
# in names, numbers and operations: what is smaller says nothing, and nobody writes larger ones
SMALLEST, LARGEST = 4, 4000
Shapes = dict[str, tuple[int, ...]]
# a function, and everything below it
Trees = list[ast.AST]
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

UNORDERED = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
TURNED: dict[type[ast.cmpop], ast.cmpop] = {ast.Gt: ast.Lt(), ast.GtE: ast.LtE()}
# what an answer is called, and what is said about its types
LEFT_OUT = {"name", "returns", "annotation", "decorator_list", "ctx", "type_comment", "type_params",
            "kind"}  # fmt: skip
# longer ones are sentences
WORD = 20


def shapes(files: Mapping[str, bytes], names: Mapping[str, Collection[str]]) -> Shapes:
    """Return the numbers of every function that is begun, by its full name.

    What is not Python, or larger than anybody writes, has none.

    Args:
        files: the sources of the chapters, by names that end in `.py`.
        names: every chapter's stem with the names of its functions.
    """
    return {
        f"{stem}.{name}": numbers
        for stem, wanted in names.items()
        for name, numbers in _of_file(files.get(f"{stem}.py", b""), wanted)
    }


def _of_file(source: bytes, wanted: Collection[str]) -> list[tuple[str, tuple[int, ...]]]:
    if len(source) > LONGEST:
        return []
    try:
        body = parsed(source).body
        bound = {name: node for node in body for name in binds(node)}
        own = {name: [*ast.walk(node)] for name, node in bound.items()}
        stubs = {name for name, node in bound.items() if is_stub(node)}
        begun = [name for name in wanted if name in own and name not in stubs]
        return [(name, _numbers(_with_helpers(name, own, wanted))) for name in begun]
    except (SyntaxError, RecursionError, ValueError):  # Python writes no number of 5000 digits
        return []


def _with_helpers(name: str, own: Mapping[str, Trees], wanted: Collection[str]) -> dict[str, Trees]:
    """Return a function with those of its file that it needs, and that are no exercises."""
    taken = {name: own[name]}
    waiting = [own[name]]
    while waiting:
        used = {one.id for one in waiting.pop() if isinstance(one, ast.Name)}
        new = {one: own[one] for one in used & own.keys() - taken.keys() - set(wanted)}
        taken |= new
        waiting += new.values()
    return taken


def _numbers(functions: Mapping[str, Trees]) -> tuple[int, ...]:
    if sum(map(len, functions.values())) > LARGEST:
        return ()
    found: set[str] = set()
    local = {name for trees in functions.values() for name in _bound(trees)} | functions.keys()
    for trees in functions.values():
        _Form(local, found).of(trees[0])
    digests = (hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4] for text in found)
    return tuple(sorted({int.from_bytes(digest, "big") for digest in digests})[:MOST])


def _bound(trees: Trees) -> Iterator[str]:
    for one in trees:
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            yield one.id
        elif isinstance(one, ast.arg):
            yield one.arg
        elif isinstance(one, Named | ast.ExceptHandler) and one.name:
            yield one.name


class _Form:
    """Writes a tree as words: names of its own are numbered, what has no order is sorted.

    Args:
        local: the names that anybody may choose.
        found: takes every statement and expression that is not small.
    """

    def __init__(self, local: Collection[str], found: set[str]) -> None:
        self._local, self._found = local, found

    def of(self, node: object) -> list[str]:
        """Return the words of a tree; local names begin with a blank, which no other word does."""
        if not isinstance(node, ast.AST):
            return [str(node)]
        if isinstance(node, ast.Name):
            return [f" {node.id}" if node.id in self._local else node.id]
        if isinstance(node, ast.Constant):
            long = isinstance(node.value, str | bytes) and len(node.value) > WORD
            return ["text" if long else repr(node.value)]
        words = [type(node).__name__, "("]
        for part in self._parts(node):
            words += part
        words.append(")")
        if isinstance(node, ast.stmt | ast.expr) and _size(words) >= SMALLEST:
            self._found.add(_numbered(words))
        return words

    def _parts(self, node: ast.AST) -> Iterator[list[str]]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
            turned = [node.comparators[0], TURNED[type(node.ops[0])], node.left]
            yield from (self.of(one) for one in turned)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, UNORDERED):
            yield [type(node.op).__name__]
            yield from _sorted(self.of(node.left), self.of(node.right))
        elif isinstance(node, ast.arguments):
            yield from (self.of(one) for one in [*node.defaults, *filter(None, node.kw_defaults)])
        else:
            for field, value in ast.iter_fields(node):
                if field not in LEFT_OUT:
                    yield from self._field(field, value)

    def _field(self, field: str, value: object) -> Iterator[list[str]]:
        if isinstance(value, list):
            if field == "keywords":
                value = sorted(value, key=lambda one: one.arg or "")
            yield from (self.of(one) for one in value if not _says_nothing(one))
        elif value is not None:
            yield self.of(value)


def _says_nothing(node: object) -> bool:
    """Tell docstrings and the like."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _size(words: list[str]) -> int:
    return len(words) - 2 * words.count("(")


def _sorted(one: list[str], other: list[str]) -> list[list[str]]:
    """Sort two sides by what they are but for names; names that alone tell them apart are lost."""
    plain = [["_" if word.startswith(" ") else word for word in side] for side in (one, other)]
    if plain[0] == plain[1]:
        return plain
    return [one, other] if plain[0] < plain[1] else [other, one]


def _numbered(words: list[str]) -> str:
    seen: dict[str, str] = {}
    return " ".join(
        seen.setdefault(word, f"_{len(seen)}") if word.startswith(" ") else word for word in words
    )
