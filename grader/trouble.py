"""What can stand between a check and an answer."""

from __future__ import annotations

import re
import types
from typing import NoReturn

LONGEST = 2000
# where something lies in memory is another place in every run, and tells nobody anything
ADDRESS = re.compile(r"(?<= at 0x)[0-9a-fA-F]+")
# in the error of an exercise whose chapter is not there, before the name of the file
ABSENT = ": there is no "


class Unanswerable(Exception):
    """There is no answer to check: its file, or the exercise in it, is not to be had."""


class Missing(Unanswerable):
    """The file is there, but the exercise is not in it."""


class BrokenFile(Unanswerable):
    """A chapter's file cannot be imported; the cause is the student's own error.

    Attributes:
        stem: the chapter.
        cause: the error.
        file: the name of the chapter's file, or of its notebook.
    """

    def __init__(self, stem: str, cause: BaseException, file: str = "") -> None:
        self.stem, self.cause, self.file = stem, cause, file or f"{stem}.py"
        super().__init__(f"{self.file} cannot be imported")

    @property
    def root(self) -> BrokenFile:
        """The file in which the error is: this one, or one that it imports."""
        return self.cause.root if isinstance(self.cause, BrokenFile) else self

    @property
    def goes_in_a_circle(self) -> bool:
        """Whether what it imports needs this file in turn."""
        inner = self.root
        in_turn = isinstance(inner.cause, ImportError) and self.stem in words_of(inner.cause)
        return inner is not self and in_turn


class HangsError(Exception):
    """Stands in for an exercise that did not come back from an earlier check."""


class Hangs:
    """Takes the place of an exercise that did not come back, and says so when it is called."""

    def __init__(self, full: str) -> None:
        self.full = full

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Say so."""
        raise HangsError(self.full)


class TimeLimit(BaseException):
    """The time of a check is up; no `except Exception` of an answer gets hold of it."""


class Lost(BaseException):
    """The process that an answer ran in is gone, and what it would have said with it.

    Attributes:
        verdict: what that makes of the check: "crashed", "timeout" or "error"; "killed" if somebody
            else has ended it, which says nothing about the check.
        says: what happened, as the end of a sentence.
    """

    def __init__(self, verdict: str, says: str) -> None:
        super().__init__(says)
        self.verdict, self.says = verdict, says


class NurseryError(BaseException):
    """No worker could be started, or each was ended from outside; nothing is known of an answer."""


def words_of(problem: BaseException) -> str:
    """Return the text of an error: printable, not endless, and never an error itself."""
    try:
        text = str(problem)[:LONGEST]
    except Exception:
        text = "(its text cannot be read)"
    return printable(text)


def said_by(value: object) -> str:
    """Return what an object says of itself; one that says nothing has its type's name."""
    if type(value).__repr__ is object.__repr__:
        return f"<{type(value).__name__} object>"
    if isinstance(value, types.MethodType):
        return f"<method {value.__name__}>"
    return repr(value)


def printable(text: str) -> str:
    """Return the text without addresses, and with a question mark for what is not printable."""
    text = ADDRESS.sub("...", text)
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in text)


class Diverged(BaseException):
    """A check that is run does not say what it said before: the kit's own fault, never seen yet."""
