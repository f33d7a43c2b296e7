"""Who has handed in more than once, and which of it counts."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Literal

from grader.batch.handed_in import changed
from grader.batch.meant import COPY_OF
from grader.batch.names import listed, shortened
from grader.batch.sources import MOST_NAMED
from grader.batch.submissions import Submission, stem
from grader.batch.versions import states
from grader.results import SubmissionResult
from grader.whose import CANVAS, by_a_platform

# each: all of it is graded by itself, for `best` to choose from
Rule = Literal["latest", "best", "refuse", "each"]
Worth = Callable[[Submission, SubmissionResult], Fraction]
# what browsers and systems make of the name of a second copy
COPY = re.compile(
    rf"^({COPY_OF.pattern} +)+(?=\S)"
    r"|(?<=\S)(( -)? (copy|kopie|copie|copia)( \d+)?| ?\(\d+\))+$",
    re.IGNORECASE,
)


def sorted_out(batch: Sequence[Submission], rule: Rule | None) -> list[Submission]:
    """Leave out what does not count, or refuse what a student has handed in more than once.

    Args:
        batch: all that was handed in.
        rule: with None, `best` and `each` everything is left to be graded.
    """
    if rule is None:
        return list(batch)
    if rule in ("best", "each"):
        return [version for one in batch for version in _versions(one)]
    out = [_refused(one) if rule == "refuse" else _latest(one) for one in batch]
    kept: dict[str, Submission | None] = {}
    for together in several(out):
        names = _names(together)
        if rule == "refuse":
            says = f"handed in {len(together)} times, as {listed(names)}: leave one"
            kept |= {one.identity: replace(one, problem=says) for one in together}
            continue
        orders = _orders(together)
        last = [one for one, at in zip(together, orders, strict=True) if at == max(orders)]
        latest = max(last, key=lambda one: one.identity)
        which = names[together.index(latest)]
        others = tuple(name for name in names if name != which)
        says = f"{listed([which])} counts, the latest of {listed(names)}"
        if len(last) > 1:
            says = f"{listed([which])} of {listed(names)}, changed at the same time, counts"
        notes = (says,)
        counts = replace(latest, identity=_unmarked(latest), notes=notes, unused=others)
        kept |= {one.identity: counts if one is latest else None for one in together}
    return [one for one in (kept.get(one.identity, one) for one in out) if one is not None]


def best_of(
    batch: Sequence[Submission], results: Sequence[SubmissionResult], worth: Worth
) -> tuple[tuple[SubmissionResult, ...], list[Submission]]:
    """Keep of what a student has handed in more than once the one with the highest score.

    Args:
        batch: all that was graded.
        results: what came of it.
        worth: returns the score of one, under the name that the student has.

    Returns:
        The results that count, and the submissions that they are of, as the students are called.
    """

    def score(one: Submission, result: SubmissionResult) -> Fraction:
        name = _name(one)
        return worth(replace(one, identity=name), replace(result, identity=name))

    by_name = {result.identity: result for result in results}
    whole = {one.identity: one.version_of or one.identity for one in batch}
    handed_in = {one.identity: one for one in batch}
    for together in several(batch):
        found = [(one, by_name.pop(one.identity)) for one in together if one.identity in by_name]
        if found:
            best, result = max(found, key=lambda pair: (not pair[1].problem, score(*pair)))
            by_name[best.identity] = _told(result, best, together)
            whole[best.identity] = _name(best)
    kept = [one for result in results if (one := by_name.get(result.identity)) is not None]
    return (
        tuple(replace(one, identity=whole[one.identity]) for one in kept),
        [replace(handed_in[one.identity], identity=whole[one.identity]) for one in kept],
    )


def _name(one: Submission) -> str:
    return one.version_of or _unmarked(one)


def _unmarked(one: Submission) -> str:
    """Return the name that a student has in rosters, also where a second copy counts."""
    whole = PurePosixPath(one.identity)
    return str(whole.with_name(COPY.sub("", stem(whole))))


def _names(together: Sequence[Submission]) -> list[str]:
    """Say what each is called where it lies, or by more of it where it is the same."""
    names = [one.path.name for one in together]
    apart = len(set(names)) == len(names)
    return names if apart else [one.identity for one in together]


def _told(
    result: SubmissionResult, best: Submission, together: Sequence[Submission]
) -> SubmissionResult:
    """Say in the result of the best what it is the best of."""
    names = [name for one in together for name in one.came_as if name not in best.came_as]
    called = _names(together)
    which = called[together.index(best)]
    says = f"{listed([which])} counts, the best of {listed(called)}"
    if best.loose is not None:
        says = f"the best of {len(together)} versions counts: {listed(best.came_as)}"
    unused = dict.fromkeys([*result.unused, *(shortened(name, 120) for name in names)])
    return replace(result, notes=(*result.notes, says), unused=tuple(unused)[:MOST_NAMED])


def several(batch: Sequence[Submission]) -> Iterator[list[Submission]]:
    """Yield what belongs together, where somebody has handed in more than once."""
    by_student: dict[str, list[Submission]] = defaultdict(list)
    for submission in batch:
        by_student[_student(submission.path)].append(submission)
    yield from (together for together in by_student.values() if len(together) > 1)


def _versions(one: Submission) -> Iterator[Submission]:
    """Yield what a student had handed in after each time, where that can be told."""
    if one.loose is None or not one.loose.earlier:
        yield one
        return
    every = states(one.loose)
    for nth, loose in enumerate(every, start=1):
        name = one.identity if nth == len(every) else f"{one.identity}, version {nth}"
        files = replace(loose, earlier=())
        yield replace(one, identity=name, version_of=one.identity, loose=files, problem="")


def _refused(one: Submission) -> Submission:
    """Refuse loose files of which there are several versions."""
    earlier = one.loose.earlier if one.loose is not None else ()
    if one.loose is None or not earlier:
        return one
    again = {name for name, _ in earlier}
    files = [path.name for name, path in (*earlier, *one.loose.files) if name in again]
    return replace(one, problem=f"handed in more than once, as {listed(files)}: leave one of each")


def _latest(one: Submission) -> Submission:
    """Let loose files of which there are several versions count as they lie in order."""
    earlier = one.loose is not None and one.loose.earlier
    return replace(one, problem="") if earlier else one


def _student(path: Path) -> str:
    """Say whose it is, as far as a name tells: a platform's, or what is left without a copy's."""
    name = COPY.sub("", unicodedata.normalize("NFC", stem(path)))
    if found := by_a_platform(name):
        return f"{found['name']}_{found['number']}".casefold()
    return name.casefold()


def _orders(together: Sequence[Submission]) -> list[float]:
    """Return what puts the latest last: Canvas's numbers of uploads, or when files were changed.

    A file's own time changes as it is copied.
    """
    uploads = [CANVAS.fullmatch(one.path.name) for one in together]
    if all(uploads):
        return [float(match["upload"]) for match in uploads if match]
    return [_changed(one).timestamp() for one in together]


def _changed(submission: Submission) -> dt.datetime:
    never = dt.datetime.fromtimestamp(0, dt.timezone.utc)
    return max(changed(submission).values(), default=never)
