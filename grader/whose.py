"""Whose a submission is, as Moodle and Canvas write it into the names that they give."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# as Moodle and Canvas name what they let an instructor download
MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_.*", re.DOTALL)
CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<number>\d+)_(?P<upload>\d+)_.*", re.DOTALL)
# what Moodle puts behind a student's number, as it has a folder for each way to hand in
UPLOADED, TYPED = "_assignsubmission_file", "_assignsubmission_onlinetext"
# what is left of that where Canvas wrote a student's files one by one
LOOSE = re.compile(r"(?P<name>.+)_(?P<number>\d+)", re.DOTALL)


def by_a_platform(name: str) -> re.Match[str] | None:
    """Read a name as Moodle or Canvas writes it: whose it is, by `name` and `number`.

    What a platform writes stands in front; what comes behind it a student may have called so.
    """
    matches = [one for one in (MOODLE.fullmatch(name), CANVAS.fullmatch(name)) if one]
    return min(matches, key=lambda one: len(one["name"]), default=None)


def in_front(identity: str) -> re.Match[str] | None:
    """Read a name and a number that stand in front, also where nothing says that a platform did."""
    return by_a_platform(identity) or LOOSE.fullmatch(identity)


def meant_by(said: Iterable[str], identities: Iterable[str]) -> dict[str, str]:
    """Find the submissions that a table means: by what they are called, or by what is in front.

    Args:
        said: what the table calls students: the whole name of a submission, or of one that a
            platform has named, the student's name or login there, with its number or without.
        identities: what the submissions are called.

    Returns:
        For each that is meant what it is called in the table; never one of two students, but all
        that a platform says are of one.
    """
    there = list(identities)
    # as macOS writes an accent, it is a letter of its own
    called = {unicodedata.normalize("NFC", key): key for key in said}
    found = {identity: called[identity] for identity in there if identity in called}
    fronts: dict[str, dict[str, str]] = {}
    for identity in there:
        if front := in_front(identity):
            for name in (front["name"], f"{front['name']}_{front['number']}"):
                fronts.setdefault(name, {})[identity] = front["number"]
    for name, key in called.items():
        fits = fronts.get(name, {})
        if name not in found and len(set(fits.values())) == 1:
            found = {**dict.fromkeys(fits, key), **found}
    return found
