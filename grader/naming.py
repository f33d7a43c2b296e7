"""Which exercises a name means; nothing is imported to know it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

# so many letters have to be there before all names that hold them are listed, and so many of these
LEAST, MOST = 3, 6
# ex01, as people write it: ex1, EX01, 1
NUMBER = re.compile(r"(?:ex)?0*(\d{1,2})", re.IGNORECASE)


def select(name: str, names: Mapping[str, Sequence[str]], words: Sequence[str] = ()) -> list[str]:
    """Return the full names that `name` means: a chapter, a full name or a function's name.

    Args:
        name: what the user wrote; a chapter's number is its name, and it may have its `.py` or
            `.ipynb`.
        names: each chapter's stem with the names of its functions.
        words: what else could have been meant.

    Raises:
        LookupError: nothing is called so; the sentence names what is near.
    """
    name = _without_suffix(name)
    pairs = [(stem, function) for stem, functions in names.items() for function in functions]
    stem = chapter(name, [*names])
    found = [f"{s}.{f}" for s, f in pairs if s == stem or name in (f, f"{s}.{f}")]
    if not found:
        functions = [function for _, function in pairs]
        in_full = [f"{stem}.{function}" for stem, function in pairs]
        near = [f"`{one}`" for one in _near(name, [*functions, *names, *words], in_full)]
        hint = f"did you mean {in_words(near, 'or')}?"
        if not near:
            hint = f"the chapters are {in_words([*names])}"
            hint += f", and the words that are explained are {in_words(words)}" if words else ""
        raise LookupError(f"no chapter or exercise is called `{name}`; {hint}")
    return found


def chapter(name: str, stems: Sequence[str]) -> str | None:
    """Return the chapter that a name means: its number is enough, and it may have its `.py`."""
    name = _without_suffix(name)
    number = NUMBER.fullmatch(name)
    short = f"ex{int(number[1]):02}" if number else name
    return next((one for one in stems if name == one or short == one.partition("_")[0]), None)


def spelled_out(text: str, stems: Sequence[str]) -> list[str]:
    """Spell out a list of names, such as `ex01..ex03,softmax`: a chapter's number is its name.

    Args:
        text: names between commas; FIRST..LAST means both of these chapters and all between them.
        stems: the chapters, in order.

    Raises:
        LookupError: a range begins or ends with no chapter, or is turned round.
    """
    found: list[str] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        first, dots, last = (part.strip() for part in name.partition(".."))
        if not dots:
            found.append(chapter(first, stems) or first)
            continue
        begin, end = (_place(one, name, stems) for one in (first, last))
        if begin > end:
            raise LookupError(f"`{name}` is turned round: write {last}..{first}")
        found += stems[begin : end + 1]
    return list(dict.fromkeys(found))


def chapters(text: str, stems: Sequence[str]) -> list[str]:
    """Spell out a list of chapters, in their order.

    Raises:
        LookupError: something in it is no chapter, or there is nothing in it.
    """
    meant = spelled_out(text, stems)
    for name in meant or [text]:
        _place(name, name, stems)
    return [stem for stem in stems if stem in meant]


def _place(name: str, inside: str, stems: Sequence[str]) -> int:
    stem = chapter(name, stems)
    if stem is None:
        where = f", in `{inside}`" if inside != name else ""
        says = f"no chapter is called `{name}`{where}; the chapters are {in_words(stems)}"
        raise LookupError(says)
    return stems.index(stem)


def in_words(words: Sequence[str], last: str = "and") -> str:
    """Write words one after the other, as in a sentence: a, b and c."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _without_suffix(name: str) -> str:
    return name.removesuffix(".py").removesuffix(".ipynb")


def _near(name: str, known: Sequence[str], in_full: Sequence[str]) -> list[str]:
    """List the names that hold what the user wrote, or else the one that is most like it."""
    holding = [word for word in known if name.lower() in word.lower()]
    if len(name) >= LEAST and holding:
        return list(dict.fromkeys(holding))[:MOST]
    return difflib.get_close_matches(name, dict.fromkeys([*known, *in_full]), n=1)
