"""What is promised: the sentences of the stubs, and the rules that every function keeps.

A check cites what it enforces. A citation is the beginning of a sentence of the stub's docstring,
or a rule of `exercises/RULES.md` by its name.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECTION = re.compile(r"^(Args|Returns|Raises|Source|Example)\b.*:")
ENTRY = re.compile(r"^\s+(\*?\w+): ")
RULE = re.compile(r"^- \*\*([\w-]+)\*\*: ")
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"*\d])")
DIFFICULTY = re.compile(r"^Difficulty \d")


@dataclass(frozen=True)
class Rule:
    """A rule that every function keeps, by its name."""

    name: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of a stub.

    Attributes:
        section: the one that it stands in: "", "Args", "Returns" or "Raises".
        text: the sentence.
        entry: of an argument, all that is said of it: the sentence alone says too little.
    """

    section: str
    text: str
    entry: str = ""


# the first sentence under Returns: what comes out
RETURNS = ""
# what a call has to leave as it is
LEAVES = (Rule("inputs"), Rule("switches"))
Citation = str | Rule


def sentences(docstring: str) -> list[Sentence]:
    """List the sentences of a docstring that may promise something.

    Of an argument the first sentence says what is given, and so binds the caller; it is left out.
    """
    found: list[Sentence] = []
    for section, block in _blocks(inspect.cleandoc(docstring)):
        if section in ("Source", "Example") or DIFFICULTY.match(block):
            continue
        parts = [block] if section == "Raises" else END.split(block)
        if section == "Args":
            parts = parts[1:]
        entry = block if section == "Args" else ""
        found += [Sentence(section, part, entry) for part in parts]
    return found


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Go through paragraphs and entries, each on one line, with their sections."""
    section, held = "", list[str]()
    for line in [*text.split("\n"), ""]:
        head = SECTION.match(line)
        if held and (head or not line.strip() or ENTRY.match(line)):
            yield section, " ".join(held)
            held = []
        if head:
            section = head.group(1)
        elif line.strip():
            held.append(line.strip())
        elif section not in ("Returns", "Raises", "Args", "Example"):
            section = ""


def docstring_of(source: str) -> str:
    """Return the docstring of a function or a class, a class's with its methods'."""
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    inner = [f for f in node.body if isinstance(f, ast.FunctionDef)]
    parts = [node, *(inner if isinstance(node, ast.ClassDef) else ())]
    return "\n\n".join(filter(None, map(ast.get_docstring, parts)))


@functools.cache
def rules(path: Path) -> dict[str, str]:
    """Return the rules of the page, by their names."""
    found: dict[str, str] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        head = RULE.match(line)
        if head:
            name = head.group(1)
            found[name] = line[head.end() :].strip()
        elif name and line.startswith("  "):
            found[name] += f" {line.strip()}"
        else:
            name = ""
    return found


def cited(citation: Citation, docstring: str, page: dict[str, str]) -> str | None:
    """Return the sentence that a citation means; None if there is no such sentence, or several."""
    if isinstance(citation, Rule):
        return page.get(citation.name)
    if not isinstance(citation, str):
        return None
    known = sentences(docstring)
    if citation == RETURNS:
        return next((one.text for one in known if one.section == "Returns"), None)
    fitting = {one.text for one in known if one.text.startswith(citation)}
    return fitting.pop() if len(fitting) == 1 else None


def quoted(citation: Citation, docstring: str, page: dict[str, str]) -> str | None:
    """Return what to show of a citation: of an argument all that is said of it."""
    said = cited(citation, docstring, page)
    entries = [one.entry for one in sentences(docstring) if one.text == said and one.entry]
    return entries[0] if len(entries) == 1 else said


def promising(docstring: str) -> list[str]:
    """List the sentences that may promise something; the first paragraph only sums up."""
    first = next(_blocks(inspect.cleandoc(docstring)))[1]
    return [one.text for one in sentences(docstring) if one.text not in END.split(first)]
