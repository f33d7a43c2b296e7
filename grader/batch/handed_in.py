"""When submissions were handed in, as far as the files themselves say it."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.batch.folders import BELOW
from grader.batch.members import like_a_chapter
from grader.batch.submissions import Submission
from grader.course.times import Times


def times_of_files(submissions: Iterable[Submission]) -> Times:
    """Take for each chapter when its file was last changed; of an archive, when that was."""
    return Times({one.identity: dict(_moments(one)) for one in submissions})


def _moments(submission: Submission) -> Iterator[tuple[str, dt.datetime]]:
    if submission.loose is not None:
        for name, path in submission.loose.files:
            yield Path(name).stem, _changed(path)
    elif submission.path.is_file():
        yield "", _changed(submission.path)
    else:
        for folder in (submission.path, submission.path / BELOW):
            for path in sorted(folder.glob("*")):
                if like_a_chapter(path.name):
                    yield path.stem, _changed(path)


def _changed(path: Path) -> dt.datetime:
    return dt.datetime.fromtimestamp(os.lstat(path).st_mtime, dt.timezone.utc)
