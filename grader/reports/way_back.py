"""Where a learning platform looks for a student's feedback: by the name that it gave the work.

Moodle, "Upload multiple feedback files in a zip": a folder that is called as the one it gave out,
`Full name_123456_assignsubmission_file`; the number counts. Canvas, "Upload Submissions": a file
`name_LATE_12960_600620_...`; both numbers count. There the student gets it under the name of what
was handed in, so it has to be a file of that kind.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from grader.results import SubmissionResult
from grader.whose import by_a_platform

PAGE = "feedback.html"
MOODLE = re.compile(r"(?P<name>.+?)_(?P<plugin>\d+_assignsubmission_(file|onlinetext))(_.*)?")
# an upload has a number of many digits, unlike what people put into names themselves
CANVAS = re.compile(r"(LATE_)?(anon_[^\W_]+|[^\W\d]\w*?(_LATE)?_[1-9]\d*)_[1-9]\d{2,}_\w.*")
ARCHIVE, HTML = ".zip", ".html"


def way_back(submission: SubmissionResult, page: str) -> tuple[str, str]:
    """Say where the platform that a submission is from looks for its feedback.

    Args:
        submission: its names tell the platform.
        page: what its page is called where no platform is known.

    Returns:
        The path in an archive, and the ending of the file that the student gets.
    """
    for name in sorted(submission.came_as):
        moodle, platform = MOODLE.fullmatch(name), by_a_platform(name)
        if moodle and platform and platform["name"] == moodle["name"]:
            # Moodle splits at every underscore
            return f"{moodle['name'].replace('_', ' ')}_{moodle['plugin']}/{PAGE}", HTML
        if CANVAS.fullmatch(name):
            kind = PurePosixPath(name).suffix.lower()
            # an archive that was unpacked has lost its ending; Canvas gives out no folders
            return (name, kind) if kind else (name + ARCHIVE, ARCHIVE)
    return page, HTML


def ways_back(
    submissions: Sequence[SubmissionResult], pages: Sequence[str]
) -> dict[str, tuple[SubmissionResult, str]]:
    """Give each submission a place of its own; what was graded comes before what was not.

    Of one student Moodle can hand out several folders, with a text or a file in each.

    Args:
        submissions: in any order.
        pages: what the page of each is called where no platform is known.

    Returns:
        For each path the submission, and the ending of the file that the student gets.
    """
    found: dict[str, tuple[SubmissionResult, str]] = {}
    both = sorted(zip(submissions, pages, strict=True), key=lambda pair: bool(pair[0].problem))
    for submission, page in both:
        member, kind = way_back(submission, page)
        if member in found and submission.problem:
            continue
        if member in found:
            path = PurePosixPath(member)
            others = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in itertools.count(2))
            member = next(str(other) for other in others if str(other) not in found)
        found[member] = submission, kind
    return dict(sorted(found.items()))
