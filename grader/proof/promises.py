"""What the stubs promise, what the checks demand and what is proven are one and the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader import places
from grader.author_errors import defined_at, line_of, located
from grader.chapters import Catalogue, Chapter, Exercise, World
from grader.chapters.catalogue import suite_path
from grader.judging.run import Setting, run
from grader.proof.figure import Figure
from grader.stubs.pristine import Pristine
from grader.suite.check import load_suite
from grader.suite.compare import citations_noted
from grader.suite.promises import Citation, Rule, cited, docstring_of, promising, rules


def promises_kept(chapters: Catalogue, setting: Setting, known: Catalogue) -> list[Figure]:
    """Hold the checks' citations against the stubs and the page of rules.

    Every citation means one sentence that is there. Every sentence that may promise something is
    cited by a check, or listed in the suite as one that only explains; none is both. Every rule is
    enforced by a check of some chapter.

    Args:
        chapters: those that are held.
        setting: device and seed.
        known: every chapter.
    """
    there, tested = Figure("promises cited that are there"), Figure("promises that have a check")
    page, world = rules(places.RULES), World(places.SOLUTIONS, known.names())
    stubs, rules_cited = Pristine(), set[str]()
    for chapter in chapters.chapters:
        explains = getattr(load_suite(suite_path(chapter.stem)), "EXPLAINS", {})
        if not _is_well_formed(explains):
            path = suite_path(chapter.stem)
            place = located(path, line_of(path, "EXPLAINS"))
            says = 'is a dict, {"name": ("The beginning of a sentence", ...)}'
            there.count(False, f"{place}: EXPLAINS {says}")
            explains = {}
        _strange_names(chapter, explains, there)
        for exercise in chapter.exercises:
            stub = stubs.chapters[chapter.stem].functions.get(exercise.name)
            if stub is None:  # `agreement` says so
                continue
            said = docstring_of(stub.decode())
            citations = _citations(exercise, world, setting)
            rules_cited |= {one.name for one in citations if isinstance(one, Rule)}
            for one in citations:
                holds = cited(one, said, page) is not None
                there.count(holds, _not_there(exercise, one))
            _sentences(exercise, said, {cited(one, said, page) for one in citations},
                       explains.get(exercise.name, ()), tested)  # fmt: skip
    for name in page if chapters is known else ():
        tested.count(name in rules_cited, f"no check enforces the rule {name!r}")
    return [there, tested]


def _is_well_formed(explains: Any) -> bool:
    return isinstance(explains, dict) and all(isinstance(v, tuple) for v in explains.values())


def _not_there(exercise: Exercise, citation: Citation) -> str:
    path = suite_path(exercise.stem)
    if isinstance(citation, Rule):
        place = located(path, line_of(path, f'Rule("{citation.name}")'))
        return f"{place}: exercises/RULES.md has no rule {citation.name!r}"
    if not isinstance(citation, str):
        says = f"{exercise.name} cites {citation!r}, which is neither a sentence nor a Rule"
        return f"{located(path, 0)}: {says}"
    if not citation:
        return f"{located(path, 0)}: {exercise.name}'s stub has nothing under Returns to cite"
    place = located(path, line_of(path, citation))
    return (
        f"{place}: no one sentence of {exercise.name}'s stub begins with {citation!r}; what counts "
        "stands above Args, under Returns or Raises, or behind the first sentence on an argument, "
        "and begins with a capital letter"
    )


def _strange_names(chapter: Chapter, explains: Mapping[str, object], figure: Figure) -> None:
    for name in explains:
        holds = name in {exercise.name for exercise in chapter.exercises}
        path = suite_path(chapter.stem)
        place = located(path, line_of(path, "EXPLAINS"))
        figure.count(holds, f"{place}: EXPLAINS names {name}, which is no exercise")


def _citations(exercise: Exercise, world: World, setting: Setting) -> set[Citation]:
    """Return what the checks of an exercise enforce, in all of their situations."""
    found: set[Citation] = set()
    for check in exercise.checks:
        found.update(check.cites)
        with citations_noted() as noted:
            run(check, world, setting)
        found |= noted
    return found


def _sentences(
    exercise: Exercise,
    said: str,
    tested: set[str | None],
    explains: tuple[str, ...],
    figure: Figure,
) -> None:
    """Count the sentences of a stub that are tested, or only explain."""
    every = promising(said)
    stub = defined_at(places.EXERCISES / f"{exercise.stem}.py", exercise.name)
    place = f"{stub}, {exercise.name}"
    for begin in explains:
        meant = [text for text in every if text.startswith(begin)]
        figure.count(
            len(meant) == 1,
            f"{place}: EXPLAINS has {begin!r}, with which {len(meant)} sentences begin",
        )
    for text in every:
        explained = any(text.startswith(begin) for begin in explains)
        figure.count(explained or text in tested, f"{place}: nothing tests {text!r}")
        if explained:
            figure.count(text not in tested, f"{place}: tested, so no mere words: {text!r}")
