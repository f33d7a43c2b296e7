"""The files of a pack: what a chapter's checks expect, and what an exercise's slips give."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grader.judging.evidence import Evidence
from grader.judging.recorded.values import ValueReader, ValueWriter
from grader.suite.check import Check
from grader.suite.expected import Tape

HERE = Path(__file__).parent
# the seed that a pack knows
SEED = 0
PASSED = Evidence("passed")
UNKNOWN = Evidence("unknown")
# for each check, or picture: for each name, what was worked out one after the other
Expected = Mapping[str, Mapping[str, list[Any]]]
# for each check: what each slip gives
Slips = Mapping[str, Mapping[str, Evidence]]


def is_pack() -> bool:
    """Tell whether this is a students' pack."""
    return next(HERE.glob("*.expected.json"), None) is not None


def tape(check: Check, device: str) -> Tape | None:
    """Return what a check expects; None if it has to be worked out."""
    return _tape(check.stem, check.name, device)


def picture(full: str) -> Tape | None:
    """Return what the picture of a function expects; None if it has to be worked out."""
    stem, name = full.split(".")
    return _tape(stem, f"show {name}", "cpu")


def of_slip(check: Check, slip: str) -> Evidence:
    """Return what a slip gives in a check, as far as that was recorded."""
    told, numbers = _read(f"{check.full_exercise}.slips") or ({}, np.empty(0))
    found = told.get(check.name, {}).get(slip)
    if found is None:
        return UNKNOWN
    return PASSED if found == "passed" else _evidence(found, ValueReader(numbers))


def expected_files(stem: str, expected: Expected) -> dict[str, bytes]:
    """Write down what a chapter expects."""
    writer = ValueWriter()
    told = {
        name: {key: [writer.write(one) for one in kept] for key, kept in of_one.items()}
        for name, of_one in expected.items()
    }
    return _files(f"{stem}.expected", told, writer)


def slips_files(full: str, slips: Slips) -> dict[str, bytes]:
    """Write down what the slips of an exercise give."""
    writer = ValueWriter()
    told = {
        check: {name: _written(evidence, writer) for name, evidence in of_one.items()}
        for check, of_one in slips.items()
    }
    return _files(f"{full}.slips", told, writer)


def _written(evidence: Evidence, writer: ValueWriter) -> Any:
    if evidence.passed:
        return "passed"
    actual = writer.write(evidence.actual)
    return [evidence.verdict, evidence.where, evidence.kind, actual, evidence.error]


def _evidence(told: list[Any], reader: ValueReader) -> Evidence:
    verdict, where, kind, actual, error = told
    return Evidence(
        verdict, tuple(map(tuple, where)), _tuple(kind), reader.read(actual), _tuple(error)
    )


def _tuple(told: list[Any] | None) -> Any:
    return None if told is None else tuple(told)


def _files(name: str, told: Any, writer: ValueWriter) -> dict[str, bytes]:
    numbers = io.BytesIO()
    np.save(numbers, writer.numbers())
    return {f"{name}.json": json.dumps(told).encode(), f"{name}.npy": numbers.getvalue()}


def _tape(stem: str, name: str, device: str) -> Tape | None:
    read = _read(f"{stem}.expected")
    if read is None:
        return None
    told, numbers = read
    each: Callable[[Any], Any] = ValueReader(numbers, device).read
    return Tape({key: [*map(each, kept)] for key, kept in told.get(name, {}).items()})


@functools.cache
def _read(name: str) -> tuple[dict[str, Any], np.ndarray[Any, Any]] | None:
    path = HERE / f"{name}.json"
    if not path.is_file():
        return None
    return json.loads(path.read_text(encoding="utf-8")), np.load(HERE / f"{name}.npy")
