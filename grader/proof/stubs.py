"""What `reset` puts back are the exercises: proved byte for byte, on untouched and solved files."""

from __future__ import annotations

from grader import places
from grader.chapters import Catalogue
from grader.proof.figure import Figure
from grader.stubs.pristine import Pristine, PristineChapter, of_stubs
from grader.stubs.splice import splice


def stubs_put_back(catalogue: Catalogue) -> Figure:
    """Every chapter and every function comes back as it stands in the exercises."""
    figure = Figure("stubs that reset puts back")
    pristine = Pristine()
    for chapter in catalogue.chapters:
        stem = chapter.stem
        untouched = (places.EXERCISES / f"{stem}.py").read_bytes()
        kept = pristine.chapters.get(stem)
        if kept is None:
            figure.count(False, f"{stem}: there are no stubs of it")
            continue
        whole = kept.file(of_stubs(untouched).head)
        figure.count(whole == untouched, f"{stem}.py is not what reset writes")
        solved = (places.SOLUTIONS / f"{stem}.py").read_bytes()
        for exercise in chapter.exercises:
            figure.count(
                _comes_back(untouched, solved, exercise.name, kept),
                f"{exercise.full}: filled in and put back, the file is another",
            )
    return figure


def _comes_back(untouched: bytes, solved: bytes, name: str, kept: PristineChapter) -> bool:
    order = list(kept.functions)
    answer = of_stubs(solved).functions[name]
    filled = splice(untouched, name, answer, order).data
    return (
        filled != untouched and splice(filled, name, kept.functions[name], order).data == untouched
    )
