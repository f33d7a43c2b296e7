"""Where slips lead a student to read on is there, word for word, in what every student has."""

from __future__ import annotations

import ast
import functools
import re

from grader import places
from grader.author_errors import defined_at
from grader.chapters import Catalogue, catalogue
from grader.hints.cards import card
from grader.proof.figure import Figure
from grader.suite.promises import docstring_of, rules

CHAPTER = re.compile(r'chapter (\d+), ([^:"]+): "(.+)"')
STUB = re.compile(r'the stub of (\w+): "(.+)"')
RULE = re.compile(r"exercises/RULES\.md, ([\w-]+)")
CARD = re.compile(r"exercises/CARDS\.md: python -m grader hint (\w+)")
SOURCE = re.compile(r" \(after (document 00[0-4], \".+\")\)$")


def places_are_there(chapters: Catalogue) -> Figure:
    """Look each place up that a slip of these chapters leads to."""
    figure = Figure("places to read on that are there")
    for exercise in chapters.exercises():
        for slip in exercise.task.slips:
            where = defined_at(places.COACH / f"{exercise.stem}.py", slip.name)
            said = f"{where}: {slip.name} leads to what no student has: {slip.read}"
            figure.count(is_there(slip.read), said)
    return figure


def is_there(read: str) -> bool:
    """Tell whether a student has what is cited."""
    place = SOURCE.sub("", read)
    if found := CHAPTER.fullmatch(place):
        number, title, quote = found.groups()
        return _flat(quote) in _sections(int(number)).get(title, "")
    if found := STUB.fullmatch(place):
        return found[2] in stub(found[1])
    if found := RULE.fullmatch(place):
        return found[1] in rules(places.RULES)
    found = CARD.fullmatch(place)
    return found is not None and card(found[1], 80) is not None


@functools.cache
def stub(name: str) -> str:
    """Return the docstring of an exercise's stub, on one line; empty for no exercise."""
    stems = [one.stem for one in catalogue().exercises() if one.name == name]
    if not stems:
        return ""
    nodes = ast.parse(_text(stems[0])).body
    node = next(one for one in nodes if getattr(one, "name", None) == name)
    return _flat(docstring_of(ast.unparse(node)))


@functools.cache
def sections(stem: str) -> dict[str, str]:
    """Return the sections of a chapter's text by their titles, each on one line."""
    text = ast.get_docstring(ast.parse(_text(stem))) or ""
    parted = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return {head: _flat(body) for head, _, body in (one.partition("\n") for one in parted)}


def _sections(number: int) -> dict[str, str]:
    stems = [stem for stem in catalogue().names() if stem.startswith(f"ex{number:02d}_")]
    return sections(stems[0]) if stems else {}


def _text(stem: str) -> str:
    return (places.EXERCISES / f"{stem}.py").read_text(encoding="utf-8")


def _flat(text: str) -> str:
    return " ".join(text.split())
