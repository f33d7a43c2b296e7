"""Putting one stub into a student's file; every byte that is not the function's own stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.stubs.text import Span, bindings, defined_at, lines_of, newline_of, span_of

# what can begin a statement at the left edge: not a closing bracket, not a comment
STATEMENT = re.compile(rb"[A-Za-z_@]")


class BrokenTextError(Exception):
    """The file is not Python, and where the function ends cannot be told; says where it breaks."""


@dataclass(frozen=True)
class Spliced:
    """A file with a stub put back.

    Attributes:
        data: the new file.
        old: the lines that were replaced; empty if the function was not there.
        again: where the name gets another meaning below the stub, if it does.
    """

    data: bytes
    old: bytes
    again: str = ""


def splice(
    data: bytes, name: str, stub: bytes, order: Sequence[str], python: bytes | None = None
) -> Spliced:
    """Put a stub in the place of a function or class.

    Args:
        data: the student's file.
        name: the function or class.
        stub: its source, with plain line ends.
        order: all names of the chapter, to find a place for one that is not there.
        python: the same lines where the data is a cell with some that only a notebook understands.

    Raises:
        BrokenTextError: the file does not parse, and would not with the stub put back either.
    """
    lines, newline = lines_of(data), newline_of(data)
    stub = stub.replace(b"\n", newline)
    try:
        tree = ast.parse(data if python is None else python)
    except (SyntaxError, ValueError) as problem:
        return _by_text(lines, name, stub, problem)
    node = _to_replace(bindings(tree, name))
    if node is not None:
        span = span_of(node, lines)
        new, old = _replaced(lines, span, stub), _joined(lines, span)
        return _checked(new, old, name) if python is None else Spliced(new, old)
    return _checked(_inserted(lines, tree, name, stub, newline, order), b"", name)


def _to_replace(found: list[ast.stmt]) -> ast.stmt | None:
    """Choose what the name means: its last definition, or else a plain assignment."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = [node for node in found if isinstance(node, kinds)]
    assigned = [n for n in found if isinstance(n, ast.Assign) and _is_plain(n)]
    return (defined or assigned or [None])[-1]


def _is_plain(node: ast.Assign) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)


def _joined(lines: list[bytes], span: Span) -> bytes:
    return b"".join(lines[span.start : span.end])


def _replaced(lines: list[bytes], span: Span, stub: bytes) -> bytes:
    before, after = b"".join(lines[: span.start]), b"".join(lines[span.end :])
    if before and before[-1:] not in b"\r\n":
        before += b"\n"
    return before + stub + after


def _inserted(
    lines: list[bytes], tree: ast.Module, name: str, stub: bytes, newline: bytes,
    order: Sequence[str],
) -> bytes:  # fmt: skip
    """Put a stub where the chapter has it: below the function before it, or at the end."""
    at = 0
    for earlier in order[: order.index(name)]:
        for node in bindings(tree, earlier):
            at = max(at, span_of(node, lines).end)
    for node in bindings(tree, name):  # an import of that name must not come later
        at = max(at, span_of(node, lines).end)
    later = [span_of(n, lines).start for o in order for n in bindings(tree, o)]
    if at == 0 and later:
        at = min(later)
        return b"".join(lines[:at]) + stub + newline * 2 + b"".join(lines[at:])
    at = at or len(lines)
    before, after = b"".join(lines[:at]), b"".join(lines[at:])
    ended = not before or before[-1:] in b"\r\n"
    gap = newline * (2 if ended else 3) if before.strip() else b""
    below = newline * 2 if after.strip() and after[:1] not in b"\r\n" else b""
    return before + gap + stub + below + after


def _checked(data: bytes, old: bytes, name: str) -> Spliced:
    """Make sure that the name now means the stub, or say where it does not."""
    found = bindings(ast.parse(data), name)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    last = found[-1]
    return Spliced(data, old, "" if isinstance(last, kinds) else f"line {last.lineno}")


def _by_text(lines: list[bytes], name: str, stub: bytes, problem: Exception) -> Spliced:
    """Replace the function in a file that does not parse, if the rest of the file then does."""
    defined = defined_at(lines)
    starts = [at for other, at in defined if other == name]
    others = {other for other, _ in defined} - {name}
    for span in _spans(lines, starts[0]) if len(starts) == 1 else ():
        data = _replaced(lines, span, stub)
        try:
            tree = ast.parse(data)
            compile(tree, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as left:
            problem = left
            continue
        if all(bindings(tree, other) for other in others):
            return _checked(data, _joined(lines, span), name)
    line = getattr(problem, "lineno", None)
    at = f"line {line} is not Python yet: " if line else "it is not Python yet: "
    raise BrokenTextError(at + str(getattr(problem, "msg", problem)))


def _spans(lines: list[bytes], start: int) -> Iterator[Span]:
    """Give the lines that may be the function: to the next statement, to the next definition."""
    first = start
    while first and lines[first - 1].startswith(b"@"):
        first -= 1
    below = range(start + 1, len(lines))
    ends = [at for at in below if STATEMENT.match(lines[at])]
    definitions = {at for _, at in defined_at(lines)}
    defined = [at for at in ends if at in definitions or lines[at].startswith(b"@")]
    for end in dict.fromkeys([*ends[:1], *defined[:1], len(lines)]):
        last = end
        while last > start + 1 and (not lines[last - 1].strip() or lines[last - 1][:1] == b"#"):
            last -= 1  # the gap, and comments at the left edge, belong to what comes next
        yield Span(first, last)
