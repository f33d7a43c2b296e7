"""Ready-made calls as they stand in the source: what the judge can see with its own eyes.

A worker can be made to keep silent about what it ran, and a call can wait in a branch that no check
takes. The source is only split into words, never parsed: that is safe whatever it holds.
"""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from grader.reading.decoding import UnknownCodec, decoded
from grader.reading.families import Family
from grader.reading.scanner import folded, lines

# a chapter's own functions may be called by its module's name, a class's own by `self`
OWN = re.compile(r"ex\d\d_\w+|self|super|cls|exercises|")
# with these the inside of a ready-made call can be had by itself; no exercise has a use for them
TOOLS = re.compile(r"get_kernel|call_boxed|redispatch|Library|_decomp|decompositions|_refs|make_fx")
# what an answer needs that goes backward in a way of its own, and not by torch's rules alone
OWN_WAY_BACK = re.compile(r"autograd|register_|hook|Function\b")
BRACKETS = {")", "]"}
# a semicolon in a line that begins so ends no statement at the top of the file
COMPOUND = {"async", "class", "def", "else", "finally", "for", "if", "try", "while", "with"}
# as many say as much as all
MOST = 100

Pairs = dict[tuple[str, str], None]


@dataclass
class _File:
    """What a file holds that matters here.

    Attributes:
        blocks: the functions, classes and values at its top, with the names in each: owner and
            name, or a name that has no owner and nothing.
        renamed: what goes by another name, after that name.
        of_torch: what is imported from torch, after the name that it goes by.
        own: what the chapters' own functions are called by.
    """

    blocks: dict[str, Pairs] = field(default_factory=dict)
    renamed: Pairs = field(default_factory=dict)
    of_torch: Pairs = field(default_factory=dict)
    own: set[str] = field(default_factory=set)


def ready_made(source: bytes, exercise: str, family: Family) -> list[str]:
    """List the ready-made calls of a family in an exercise, and in what it uses of its file.

    What is written in a way that only a codec of the answer's own could read counts as one.
    """
    try:
        file = _read(source)
    except UnknownCodec as codec:
        return [f"coding: {codec}"]
    except UnicodeError:
        return []
    imported = _imported(file, family)
    found: list[str] = []
    waiting, known = [exercise], {exercise}
    while waiting:
        for owner, name in file.blocks.get(waiting.pop(), ()):
            if owner in imported and name == "":
                found.append(imported[owner])
            elif owner in file.own:
                continue
            elif TOOLS.fullmatch(name or owner) or family.holds(name.lower()):
                found.append(name or owner)
            elif owner in file.blocks and owner not in known:
                known.add(owner)
                waiting.append(owner)
    return list(dict.fromkeys(found))[:MOST]


def goes_back_its_own_way(sources: Iterable[bytes]) -> bool:
    """Tell whether code of an answer's files may have a part in a backward pass."""
    return any(map(_has_own_way_back, sources))


def names_optimizers(source: bytes) -> bool:
    """Tell whether a file's code names `torch.optim`; what stands in texts does not count."""
    try:
        return any("optim" in line.words for line in lines(decoded(source)))
    except (UnknownCodec, UnicodeError):
        return False


@functools.lru_cache(maxsize=16)
def _has_own_way_back(source: bytes) -> bool:
    try:
        return OWN_WAY_BACK.search(folded(decoded(source))) is not None
    except UnknownCodec:
        return True
    except UnicodeError:
        return False


@functools.lru_cache(maxsize=2)
def _read(source: bytes) -> _File:
    file = _File()
    block: Pairs = {}
    ahead: Pairs = {}
    for line in lines(decoded(source)):
        file.renamed |= dict.fromkeys(_renamed(line.words))
        file.of_torch |= dict.fromkeys(_from_torch(line.words))
        if line.indented:
            block |= dict.fromkeys(_names(line.words))
            continue
        for words in _statements(line.words):
            name, rest = _given(words)
            if words[0] == "@":
                block = ahead
            else:
                block = file.blocks.setdefault(name, {}) if name else {}
                block |= ahead  # decorators are the definition's below them
                ahead = {}
            block |= dict.fromkeys(_names(rest))
    file.own = {alias for alias, module in file.renamed if OWN.fullmatch(module)}
    # each once: an owner may be a word of a megabyte, and have a thousand attributes
    owners = {owner for names in file.blocks.values() for owner, _ in names}
    file.own |= set(filter(OWN.fullmatch, owners))
    return file


def _statements(words: list[str]) -> Iterator[list[str]]:
    """Take a line apart where semicolons stand between statements."""
    cuts = [] if words[0] in COMPOUND else [at for at, word in enumerate(words) if word == ";"]
    for begin, end in pairwise([-1, *cuts, len(words)]):
        if end > begin + 1:
            yield words[begin + 1 : end]


def _given(words: list[str]) -> tuple[str, list[str]]:
    """Return what a statement at the top defines, or nothing, and the words that say how."""
    rest = words[1:] if words[0] == "async" else words
    if rest[:1] in (["def"], ["class"]) and len(rest) > 1:
        return rest[1], rest[2:]
    if words[1:2] in (["="], [":"], [","]) and not keyword.iskeyword(words[0]):
        return words[0], words[1:]
    return "", words


def _names(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Go through the names; what stands before a dot is a name's owner, by its first part."""
    owner = before = ""
    for word in words:
        if not word.isidentifier():
            owner = owner if word == "." else "(...)" if word in BRACKETS else word
        elif before == ".":
            yield owner, word
        else:
            owner = word
            yield word, ""
        before = word


def _imported(file: _File, family: Family) -> dict[str, str]:
    """Return what is ready-made and imported from torch, by the names that it goes by."""
    made = {alias: name for alias, name in file.of_torch if family.holds(name.lower())}
    named = (*file.of_torch, *file.renamed)
    return made | {alias: name for alias, name in named if TOOLS.fullmatch(name)}


def _renamed(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Go through `import module as alias`, from a package as well."""
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word == "as" and after.isidentifier():
            yield after, before


def _from_torch(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    inside = named = False
    name = before = ""
    for word, after in pairwise([*words, ""]):
        if word == ";":
            inside = named = False
        elif word == "from" and after == "torch":
            inside = True
        elif word == "import":
            named = inside
        elif named and word.isidentifier() and word != "as":
            name = name if before == "as" else word
            yield word, name
        before = word
