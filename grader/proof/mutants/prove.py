"""`grader check --mutants`: every mutant is told by a check, or listed with a reason."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader import places
from grader.chapters import catalogue
from grader.naming import spelled_out
from grader.proof.figure import Figure
from grader.proof.mutants.make import Mutant, mutants_of
from grader.proof.mutants.run import Verdict, run_all
from grader.proof.mutants.survivors import FOUND, HERE, Survivors

SCORE = HERE / "SCORE.md"
HEAD = """# Mutants

Right answers with one small change each, made and run by `python -m grader check --mutants`. A
mutant that no check tells stands in the list of its folder, with the reason why it is no mistake.

| made of | mutants | told by a check | listed with a reason |
|---|---|---|---|
"""


def prove_mutants(
    names: Sequence[str], jobs: int, minutes: float | None, seed: int, write: bool
) -> int:
    """Print what became of the mutants; the exit status is 0 only if nothing is open.

    Args:
        names: folders of right answers, chapters or functions, or lists of these; none: everything.
        jobs: so many at a time.
        minutes: stop after so many, which the names share alike.
        seed: of the order of chance.
        write: whether the lists are written anew.
    """
    each = [name for text in names for name in spelled_out(text, [*catalogue().names()])] or [""]
    share = None if minutes is None else minutes / len(each)
    return max([_prove(name, jobs, share, seed, write) for name in each])


def _prove(name: str, jobs: int, minutes: float | None, seed: int, write: bool) -> int:
    """Prove one.

    Args:
        name: a folder of right answers, a chapter or a function; empty: everything.
        jobs: so many at a time.
        minutes: stop after so many, having taken the mutants in an order of chance, of the folders
            that have a list.
        seed: of that order.
        write: whether the lists are written anew.
    """
    began, figure = time.monotonic(), Figure("mutants told by a check, listed or alike")
    folders = [f for f in _folders() if name in ("", f.name)] or _folders()
    if minutes is not None:
        folders = [folder for folder in folders if Survivors(folder.name).reasons]
    whole = minutes is None and name in ("", *(f.name for f in folders))
    wanted = "" if whole else name
    if minutes is None:
        waiting = (m for folder in folders for m in _mutants(folder, wanted))
        verdicts = list(run_all(waiting, jobs))
    else:
        some = _by_chance(folders, wanted, random.Random(seed))
        verdicts = list(_in_time(some, jobs, began + 60 * minutes))
    rows = []
    for folder in folders:
        of_folder = [v for v in verdicts if v.mutant.folder == folder]
        if of_folder:
            rows.append(_judge(folder, of_folder, figure, whole, write))
        if of_folder and (whole or name == folder.name):
            made = (v.mutant for v in of_folder) if whole else _mutants(folder, name)
            _none_is_gone(folder, made, figure)
    if write and whole:
        _write_score(rows)
    print("\n".join([*rows, *figure.lines()]))
    took = time.monotonic() - began
    print(f"{len(verdicts)} mutants run in {took:.0f} s, order of seed {seed}")
    return 0 if figure.proved else 1


def _folders() -> list[Path]:
    return [places.SOLUTIONS, *places.variants()]


def _by_chance(folders: list[Path], name: str, dice: random.Random) -> Iterator[Mutant]:
    """Make the mutants of one chapter of one folder after the other, as chance has it."""
    pairs = [(folder, stem) for folder in folders for stem in catalogue().names()]
    dice.shuffle(pairs)
    for folder, stem in pairs:
        made = list(_mutants(folder, name, [stem]))
        dice.shuffle(made)
        yield from made


def _mutants(folder: Path, name: str, stems: Iterable[str] | None = None) -> Iterator[Mutant]:
    known = catalogue()
    wanted = {e.full for e in known.select(name)} if name and name != folder.name else None
    for stem in stems or known.names():
        if wanted is not None and not any(full.startswith(f"{stem}.") for full in wanted):
            continue
        if not (folder / f"{stem}.py").is_file():
            continue  # a variant need not have all chapters
        for mutant in _made(folder, stem):
            # what helps the exercises of a chapter is part of the chapter
            if wanted is None or name == stem or f"{stem}.{mutant.function}" in wanted:
                yield mutant


@functools.lru_cache(maxsize=16)  # those of a folder: of a part its list is held against them all
def _made(folder: Path, stem: str) -> list[Mutant]:
    return list(mutants_of(folder, stem))


def _in_time(mutants: Iterable[Mutant], jobs: int, end: float) -> Iterator[Verdict]:
    for verdict in run_all(mutants, jobs):
        yield verdict
        if time.monotonic() > end:
            return


def _judge(folder: Path, verdicts: list[Verdict], figure: Figure, whole: bool, write: bool) -> str:
    """Count the verdicts of a folder against its list, and return its row of the score."""
    survivors = Survivors(folder.name)
    alive = {v.mutant.key: v.search for v in verdicts if not v.told_by}
    if write and whole:
        survivors.write(alive)
    for verdict in verdicts:
        key = verdict.mutant.key
        listed = key in survivors.reasons
        # the books are kept where everything is run; a part says which mutants are open
        stale = whole and listed and bool(verdict.told_by)
        is_open = not verdict.told_by and not listed and (whole or verdict.search.startswith(FOUND))
        figure.count(
            not stale and not is_open,
            f"{folder.name}: {key}\n        "
            + (f"listed, but told by {verdict.told_by}" if stale else verdict.search),
        )
    listed_alive = len(alive.keys() & survivors.reasons.keys())
    return f"| {folder.name} | {len(verdicts)} | {len(verdicts) - len(alive)} | {listed_alive} |"


def _none_is_gone(folder: Path, made: Iterable[Mutant], figure: Figure) -> None:
    for key in Survivors(folder.name).reasons.keys() - {mutant.key for mutant in made}:
        figure.count(False, f"{folder.name}: {key}\n        listed, but no longer made")


def _write_score(rows: list[str]) -> None:
    known = {row.split("|")[1].strip(): row for row in rows}
    if SCORE.is_file():
        for row in SCORE.read_text(encoding="utf-8").removeprefix(HEAD).splitlines():
            known.setdefault(row.split("|")[1].strip(), row)
    listed = [known[folder.name] for folder in _folders() if folder.name in known]
    SCORE.write_text(HEAD + "\n".join(listed) + "\n", encoding="utf-8")
