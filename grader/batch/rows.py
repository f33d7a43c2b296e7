"""Results as the results database holds them, and back: nothing that is not ours gets through."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, cast

from grader.batch.record import Record
from grader.coding import Decoder, plain, shape
from grader.results import CheckResult, SubmissionResult

UNREADABLE = (
    KeyError, TypeError, ValueError, AttributeError, RecursionError, ZeroDivisionError, zlib.error,
)  # fmt: skip
Checks = dict[str, list[CheckResult]]


def of_checks(found: Mapping[str, list[CheckResult]]) -> str:
    """Write the results of each exercise's checks."""
    return _text({"fields": shape(CheckResult), "exercises": found})


def to_checks(text: str) -> Checks | None:
    """Read results back; None if they are not what `of_checks` writes."""
    try:
        said = json.loads(text)
        if said["fields"] != shape(CheckResult):
            return None
        return cast("Checks", Decoder().read(said["exercises"], Checks))
    except UNREADABLE:
        return None


def of_record(record: Record) -> str:
    """Write a record."""
    return _text(record)


def to_record(text: str) -> Record | None:
    """Read a record back; None if it is not what `of_record` writes."""
    try:
        return cast("Record", Decoder().read(json.loads(text), Record))
    except UNREADABLE:
        return None


def of_outcome(result: SubmissionResult) -> bytes:
    """Write what has come of a submission, small: most of it is the same in every submission."""
    return zlib.compress(_text([shape(SubmissionResult), result]).encode(), 1)


def to_outcome(data: bytes, decoder: Decoder) -> SubmissionResult | None:
    """Read it back; None if it is not what `of_outcome` writes."""
    try:
        fields, said = json.loads(zlib.decompress(data))
        if fields != shape(SubmissionResult):
            return None
        return cast("SubmissionResult", decoder.read(said, SubmissionResult))
    except UNREADABLE:
        return None


def _text(value: Any) -> str:
    return json.dumps(plain(value), separators=(",", ":"))
