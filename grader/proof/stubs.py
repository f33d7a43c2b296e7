"""What `reset` puts back are the exercises: proved byte for byte, on untouched and solved files."""

from __future__ import annotations

import ast

from grader import places
from grader.author_errors import defined_at
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
        written = of_stubs(untouched).functions
        for exercise in chapter.exercises:
            if _ends_as_it_should(written.get(exercise.name, b""), exercise.full):
                figure.count(
                    _comes_back(untouched, solved, exercise.name, kept),
                    f"{exercise.full}: filled in and put back, the file is another",
                )
            else:
                where = defined_at(places.EXERCISES / f"{stem}.py", exercise.name)
                says = f'has to end with `raise NotImplementedError("{exercise.full}")`'
                figure.count(False, f"{where}: the stub {says}, to the letter")
    return figure


def _ends_as_it_should(stub: bytes, full: str) -> bool:
    """Tell whether a stub, or each method of one, ends with the line by which it is known."""
    made = [one for one in ast.walk(ast.parse(stub)) if isinstance(one, ast.FunctionDef)]
    ends = f"raise NotImplementedError({full!r})"
    return bool(made) and all(ast.unparse(one.body[-1]) == ends for one in made)


def _comes_back(untouched: bytes, solved: bytes, name: str, kept: PristineChapter) -> bool:
    order = list(kept.functions)
    answer = of_stubs(solved).functions[name]
    filled = splice(untouched, name, answer, order).data
    return (
        filled != untouched and splice(filled, name, kept.functions[name], order).data == untouched
    )
