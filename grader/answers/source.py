"""Ready-made calls as they stand in the source: what the judge can see with its own eyes.

A worker can be made to keep silent about what it ran, and a call can wait in a branch that no check
takes. The source is only split into tokens, never compiled: that is safe whatever it holds.
"""

from __future__ import annotations

import functools
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.answers.ready_made import FAMILIES

# a chapter's own functions may be called by its module's name, a class's own by `self`
OWN = re.compile(r"ex\d\d_\w+|self|super|cls|exercises|")
# with these the inside of a ready-made call can be had by itself; no exercise has a use for them
TOOLS = re.compile(r"get_kernel|call_boxed|redispatch|Library|_decomp|decompositions|_refs|make_fx")
MOST_TOKENS = 200_000
# what an answer needs that goes backward in a way of its own, and not by torch's rules alone
OWN_WAY_BACK = re.compile(rb"autograd|register_|hook|Function\b")
BRACKETS = {")", "]"}


@dataclass
class _Block:
    """A function, class or value at the top of a file: the names in it, each with its owner."""

    names: list[tuple[str, str]] = field(default_factory=list)


def ready_made(path: Path, exercise: str, family: str) -> list[str]:
    """List the ready-made calls of a family in an exercise, and in what it uses of its file."""
    try:
        tokens = _tokens(path.read_bytes())
    except (OSError, tokenize.TokenError, SyntaxError, UnicodeError, ValueError):
        return []
    blocks, imported = _blocks(tokens), _imported(tokens, FAMILIES[family])
    own = {alias for alias, module in dict(_imports(tokens)).items() if OWN.fullmatch(module)}
    found: list[str] = []
    waiting, known = [exercise], {exercise}
    while waiting:
        block = blocks.get(waiting.pop(), _Block())
        for owner, name in block.names:
            if owner in imported and name == "":
                found.append(imported[owner])
            elif owner in own or OWN.fullmatch(owner):
                continue
            elif TOOLS.fullmatch(name or owner) or FAMILIES[family].search(name.lower()):
                found.append(name or owner)
            elif owner in blocks and owner not in known:
                known.add(owner)
                waiting.append(owner)
    return list(dict.fromkeys(found))


def goes_back_its_own_way(files: Iterable[Path]) -> bool:
    """Tell whether code of an answer's files may have a part in a backward pass."""
    return any(map(_has_own_way_back, files))


def _has_own_way_back(path: Path) -> bool:
    try:
        facts = path.stat()
        return _mentions_it(path, facts.st_mtime_ns, facts.st_size)
    except OSError:
        return False


@functools.lru_cache(maxsize=64)
def _mentions_it(path: Path, *_: int) -> bool:
    return OWN_WAY_BACK.search(path.read_bytes()) is not None


@functools.lru_cache(maxsize=8)
def _tokens(source: bytes) -> list[tokenize.TokenInfo]:
    made: list[tokenize.TokenInfo] = []
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.STRING):
            made.append(token)
        if len(made) > MOST_TOKENS:
            raise ValueError("too much source")
    return made


def _blocks(tokens: Sequence[tokenize.TokenInfo]) -> dict[str, _Block]:
    """Sort the names of a file by the functions, classes and values at its top."""
    blocks: dict[str, _Block] = {}
    block = _Block()
    for at, token in enumerate(tokens):
        if token.type != tokenize.NAME:
            continue
        before = tokens[at - 1].string if at else ""
        if token.start[1] == 0 and token.string not in ("def", "class", "async"):
            given = tokens[at + 1].string in ("=", ":", ",")
            block = blocks.setdefault(token.string, _Block()) if given else _Block()
        elif before in ("def", "class") and _at_top(tokens, at - 1):
            block = blocks.setdefault(token.string, _Block())
        elif before == ".":
            block.names.append((_owner(tokens, at - 2), token.string))
        else:
            block.names.append((token.string, ""))
    return blocks


def _at_top(tokens: Sequence[tokenize.TokenInfo], at: int) -> bool:
    """Tell whether a definition is none inside of another one."""
    first = tokens[at - 1] if at and tokens[at - 1].string == "async" else tokens[at]
    return first.start[1] == 0


def _owner(tokens: Sequence[tokenize.TokenInfo], at: int) -> str:
    """Return the first of the names before a dot; of a call or an expression, that it is one."""
    while at >= 2 and tokens[at].type == tokenize.NAME and tokens[at - 1].string == ".":
        at -= 2
    return "(...)" if tokens[at].string in BRACKETS else tokens[at].string


def _imported(tokens: Sequence[tokenize.TokenInfo], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return what is ready-made and imported from torch, by the names that it goes by."""
    of_torch = [*_from_torch(tokens)]
    made = {alias: name for alias, name in of_torch if pattern.search(name.lower())}
    named = (*of_torch, *_imports(tokens))
    return made | {alias: name for alias, name in named if TOOLS.fullmatch(name)}


def _imports(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[str, str]]:
    """Go through `import module as alias`, from a package as well."""
    for at, token in enumerate(tokens):
        if token.string == "as" and tokens[at + 1].type == tokenize.NAME:
            yield tokens[at + 1].string, tokens[at - 1].string


def _from_torch(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[str, str]]:
    inside = named = False
    name = ""
    for at, token in enumerate(tokens):
        if token.type == tokenize.NEWLINE:
            inside = named = False
        elif token.string == "from" and tokens[at + 1].string == "torch":
            inside = True
        elif token.string == "import":
            named = inside
        elif named and token.type == tokenize.NAME and token.string != "as":
            name = name if tokens[at - 1].string == "as" else token.string
            yield token.string, name
