"""Parts of a batch: which submissions one machine of several grades, told by what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.batch.plan import content
from grader.batch.reader import SubmissionReader
from grader.batch.submissions import Submission


@dataclass(frozen=True)
class Shard:
    """Part `part` of `of`, counted from 1."""

    part: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"part {self.part} of {self.of}"

    @property
    def is_whole(self) -> bool:
        """Whether there is no other part."""
        return self.of == 1

    def holds(self, key: str) -> bool:
        """Tell whether a submission with this key belongs to the part."""
        return int(hashlib.sha256(key.encode()).hexdigest(), 16) % self.of == self.part - 1


WHOLE = Shard()


def shard_of(text: str | None) -> Shard:
    """Read I/N; None is the whole.

    Raises:
        ValueError: it is no part of anything.
    """
    if text is None:
        return WHOLE
    found = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text, re.ASCII)
    if not found:
        raise ValueError(
            f"--shard takes I/N, as in 2/3 for the second of three parts, not `{text}`"
        )
    part, of = int(found[1]), int(found[2])
    if not 1 <= part <= of:
        raise ValueError(f"--shard {text}: parts are counted from 1, so I lies between 1 and N")
    return Shard(part, of)


def keys(submissions: Sequence[Submission], shard: Shard) -> dict[str, str]:
    """Return what tells whose part each submission is, by identities in the batch's order.

    Equal contents have equal keys; what cannot be read goes by its name. Of the whole nothing
    is read.
    """
    if shard.is_whole:
        return dict.fromkeys((one.identity for one in submissions), "")
    with SubmissionReader() as reader:
        return {one.identity: _key(one, reader) for one in submissions}


def _key(submission: Submission, reader: SubmissionReader) -> str:
    try:
        return content(submission.files(reader))
    except Exception:  # whatever it is, it is told by the part that it falls into
        return f"named {submission.identity}"
