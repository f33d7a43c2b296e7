"""When submissions were handed in, as far as the files themselves say it."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.batch.copies import are_untouched
from grader.batch.folders import at_any_depth
from grader.batch.meant import meant
from grader.batch.member import Member
from grader.batch.members import counting
from grader.batch.sources import NoChapter, Told, Unusable
from grader.batch.submissions import Submission
from grader.batch.uploads import the_same, uploads_in
from grader.course.times import Times

# a file may say that it is of any year; a date is of none after 9999
LATEST = dt.datetime(9999, 1, 1, tzinfo=dt.timezone.utc).timestamp()


def times_of_files(submissions: Iterable[Submission]) -> Times:
    """Take for each chapter when its file was last changed; of an archive, when that was."""
    return Times({one.identity: changed(one) for one in submissions})


def changed(submission: Submission) -> dict[str, dt.datetime]:
    """Return when what counts of it was last changed, by chapter; "" stands for all of them."""
    found: dict[str, dt.datetime] = {}
    # what cannot be looked into is told, and has no time
    with contextlib.suppress(OSError, Unusable):
        for stem, moment in _moments(submission):
            found[stem] = max(moment, found.get(stem, moment))
    return found


def _moments(submission: Submission) -> Iterator[tuple[str, dt.datetime]]:
    path = submission.path
    if submission.loose is not None:
        yield from ((_stem(name), _mtime(file)) for name, file in submission.loose.files)
    elif path.is_file():
        yield "", _mtime(path)
    else:
        chapters, uploads = _chapters_in(path), uploads_in(path)
        if uploads and are_untouched(chapters):
            # a learning platform has put a folder around the archive, or stubs lie beside it
            moments = sorted(map(_mtime, uploads))
            # what was uploaded again, unchanged, was there from the first time on
            yield from (("", moment) for moment in (moments[:1] if the_same(uploads) else moments))
        else:
            yield from ((_stem(one.name), _mtime(path / one.name)) for one in chapters)


def _chapters_in(path: Path) -> list[Member]:
    """List the chapters that are read: copies that do not count have no time of their own."""
    with contextlib.suppress(NoChapter):
        return list(counting(at_any_depth(path), Told()).values())
    return []


def _stem(name: str) -> str:
    """Return the chapter that a file counts as, whatever it is called."""
    last = Path(name).name
    said = meant(last)
    return Path(said.file if said is not None else last).stem.lower()


def _mtime(path: Path) -> dt.datetime:
    moment = min(max(os.lstat(path).st_mtime, 0.0), LATEST)
    return dt.datetime.fromtimestamp(moment, dt.timezone.utc)
