"""What is in a students' pack."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from grader import places
from grader.answers.world import ELSEWHERE
from grader.chapters import Catalogue, Chapter, World, catalogue
from grader.finishing import NEEDS
from grader.notebooks.chapter import read_chapter
from grader.notebooks.write import NoNbformat, notebook
from grader.quiz import chapter as quiz
from grader.release import ReleaseError, without_answers
from grader.release.record import record
from grader.release.sealing import sealed_ways
from grader.release.texts import project_file, readme
from grader.written.started import FUNCTIONS, is_stub

ARITHMETIC = "grader.suite.arithmetic"
# what a student's commands come to: rooms as they are, and of others what is named. The rest is for
# instructors and maintainers: it holds answers, or ways to forge a verdict
ROOMS = (
    "answers", "chapters", "costs", "dry_run", "finishing", "hints", "judging", "notebooks",
    "pictures", "processes", "reading", "showing", "stubs", "suite", "trial", "watching", "written",
)  # fmt: skip
PARTS = {
    "batch": "__init__ copies folders meant member members names sources uploads",
    "coach": "__init__ common downhill error_slips errors known_errors relations rows_so_far",
    "commands": "__init__ board compare finish hint notebook output quiz reset show usage watch "
                "why",
    "comparing": "__init__ child compare excerpt screen seal sealed style ways",
    "comparing/questions": "__init__",
    "quiz": "__init__ asked chapter question replies standing talk",
    "remote": "__init__ context",
    "reports": "__init__ board message next_step",
    "workers": "__init__ warm",
}  # fmt: skip
LEFT_OUT = ("suite/arithmetic.py", "written/shapes.py")
AS_THEY_ARE = (
    ".ci/constraints.txt", ".gitignore", "LICENSE", "exercises/CARDS.md", "exercises/RULES.md",
    "exercises/pytest.ini",
)  # fmt: skip
STUBS = "grader/stubs"
QUIZ = "grader/quiz/drawn"


def pack(
    *, notebooks: bool = False, compare: bool = True, stems: Collection[str] = ()
) -> dict[str, bytes]:
    """Collect the files, from their names in the pack to their contents.

    Args:
        notebooks: whether the chapters are in it as notebooks, too.
        compare: whether the reference answers are in it, each sealed until its function is solved.
        stems: the chapters that are in it; none for all.

    Raises:
        ReleaseError: an exercise is filled in, or a file of the kit is not what it should be.
    """
    _refuse_filled_in()
    files = {name: (places.ROOT / name).read_bytes() for name in AS_THEY_ARE}
    every = catalogue().chapters
    chapters = [one for one in every if not stems or one.stem in stems]
    files.update(_texts(chapters))
    files.update(_elsewhere([one for one in every if one not in chapters]))
    suites = _suites(chapters)
    files.update(_code({**suites, **_coaches(every)}, [one.stem for one in chapters]))
    files.update(record({path.stem.removeprefix("test_"): text for path, text in suites.items()}))
    files.update(sealed_ways(chapters) if compare else {})
    for stem in [one.stem for one in chapters]:
        if quiz.questions(stem):
            files[f"{QUIZ}/{stem}.json"] = quiz.drawn(stem)
        stub = (places.EXERCISES / f"{stem}.py").read_bytes()
        files[f"exercises/{stem}.py"] = files[f"{STUBS}/{stem}.py"] = stub
        if notebooks:
            files[f"exercises/{stem}.ipynb"] = _notebook(stem)
    # one form of line end, whatever machine this is
    return {name: data if name.endswith(".npy") else data.replace(b"\r\n", b"\n")
            for name, data in sorted(files.items())}  # fmt: skip


def _notebook(stem: str) -> bytes:
    try:
        return notebook(read_chapter(places.EXERCISES / f"{stem}.py"))
    except NoNbformat as problem:
        raise ReleaseError(str(problem)) from problem


def _elsewhere(others: Sequence[Chapter]) -> Iterator[tuple[str, bytes]]:
    """Name the chapters that are not in the pack, which those that are may import."""
    if others:
        names = Catalogue(tuple(others)).names()
        yield ELSEWHERE.relative_to(places.ROOT).as_posix(), f"{json.dumps(names)}\n".encode()


def _texts(chapters: Sequence[Chapter]) -> Iterator[tuple[str, bytes]]:
    """Rewrite the project's own files."""
    stems = [one.stem for one in chapters]
    before = [stem for stem in catalogue().names() if stem < stems[-1] and stem not in stems]
    some = [] if len(stems) == len(catalogue().chapters) else stems
    yield "README.md", readme(_read("README.md"), some, before).encode()
    yield "pyproject.toml", project_file(_read("pyproject.toml")).encode()


def _read(name: str) -> str:
    return (places.ROOT / name).read_text(encoding="utf-8")


def _suites(chapters: Sequence[Chapter]) -> dict[Path, str]:
    """Return the suites without the arithmetic that works out what is right."""
    paths = [places.SUITES / f"test_{stem}.py" for stem in [c.stem for c in chapters]]
    made = {path: without_answers.suite(path.read_text(encoding="utf-8")) for path in paths}
    for path, text in made.items():
        if ARITHMETIC in _imports(text.encode()):
            raise ReleaseError(
                f"tests/{path.name} uses {ARITHMETIC} outside a `reference`, so a pack would hold "
                "answers: put what is worked out into a function that is one"
            )
    return made


def _coaches(chapters: Sequence[Chapter]) -> dict[Path, str]:
    """Return the coach's files without wrong answers."""
    made = {}
    for chapter in chapters:
        path = places.COACH / f"{chapter.stem}.py"
        slips = {exercise.name: exercise.task.slips for exercise in chapter.exercises}
        made[path] = without_answers.coach(path.read_text(encoding="utf-8"), slips)
    return made


def _code(rewritten: Mapping[Path, str], stems: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Collect the suites, and the modules that a student's commands come to.

    Args:
        rewritten: files that a student gets in another form.
        stems: the chapters that are in the pack.
    """
    kit = places.ROOT / "grader"
    paths = [path for path in rewritten if path.parent == places.SUITES]
    paths += [places.SUITES / "conftest.py", *kit.glob("*.py")]
    paths += [path for room in ROOMS for path in (kit / room).rglob("*.py")]
    paths += [kit / room / f"{name}.py" for room, names in PARTS.items() for name in names.split()]
    own = [kit / "comparing" / "questions" / f"{stem}.py" for stem in stems]
    # `finish` draws with what two coaches know, whatever chapters are in the pack
    own += [places.COACH / f"{stem}.py" for stem in {*stems, *NEEDS}]
    paths += [one for one in own if one.is_file()]
    left_out = [kit / name for name in LEFT_OUT]
    for path in [one for one in paths if one not in left_out]:
        data = rewritten[path].encode() if path in rewritten else path.read_bytes()
        yield path.relative_to(places.ROOT).as_posix(), data


def _imports(code: bytes) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _refuse_filled_in() -> None:
    """Refuse exercises that are not the stubs that a student begins with."""
    known = catalogue()
    world = World(places.EXERCISES, known.names())
    begun = [e.full for e in known.exercises() if not world.is_stub(e.full)]
    for stem in known.names():
        tree = ast.parse((places.EXERCISES / f"{stem}.py").read_bytes())
        begun += [f"{stem}.{name}" for name in _not_empty(tree)]
    if begun:
        names = ", ".join(dict.fromkeys(begun))
        raise ReleaseError(
            f"the exercises are not as students get them: {names}. Put the stubs back first"
        )


def _not_empty(tree: ast.Module) -> Iterator[str]:
    """Name the functions that hold something, and statements that have no place in a stub."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and not is_stub(node):
            yield node.name
    for node in tree.body[1:]:
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef):
            yield f"line {node.lineno}"
