"""The law of devices: a function works where its inputs are, and its output is there.

Where there is no GPU, a pretended one takes its place; `grader/answers/pretended` says how. Checks
by this law have "device_ready" in their names: reports count them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.answers.pretended import (
    BESIDES,
    ELSEWHERE,
    LEFT,
    MODEL,
    RAISED,
    WAITS,
    Mistake,
    lost,
)
from grader.suite.case import Case, first_float, floating, leaf
from grader.suite.compare import Finding, same, situation
from grader.suite.draw import Draw


def device_ready(answer: Any, draw: Draw, cases: Sequence[Case]) -> None:
    """The output is right and where the inputs are; the backward pass works there, too."""
    for case in cases:
        with situation(case.label):
            on_a_gpu(answer, draw, _held(answer, draw, case))


def device_ready_if_right(answer: Any, draw: Draw, cases: Sequence[Case]) -> None:
    """The same of edges: what goes wrong on any device is not for this law to say."""
    for case in cases:
        run = _held(answer, draw, case)
        try:
            run(draw.place)
        except Exception:
            continue
        with situation(case.label):
            on_a_gpu(answer, draw, run)


def _held(answer: Any, draw: Draw, case: Case) -> Callable[[torch.device], None]:
    given = case.given(draw)
    return functools.partial(_holds, answer, case, given, case.want(given))


def _holds(answer: Any, case: Case, given: tuple[Any, ...], want: Tensor, on: torch.device) -> None:
    like = first_float(given) if floating(want) else None
    given = tuple(map(leaf, given))
    output = case.call(answer, given)
    same(output, want, like=like)
    goes_backward(answer, output, [value for value in given if floating(value)], on)


def goes_backward(answer: Any, output: Tensor, leaves: list[Tensor], on: torch.device) -> None:
    """Pull the graph of an output on a GPU, if it has one; gradients have a law of their own.

    On a pretended GPU torch's own rules make no mistakes, so only an answer's own are gone through.
    """
    if not output.requires_grad or on.type == "cpu":
        return
    if str(on) != ELSEWHERE or answer.goes_back_its_own_way():
        torch.autograd.grad(output.sum(), leaves, allow_unused=True)


def on_a_gpu(
    answer: Any,
    draw: Draw,
    run: Callable[[torch.device], None],
    allowed: Collection[str] = (),
) -> None:
    """Make calls where the checks run, and if that is the CPU, on a pretended GPU as well.

    Here first: what is wrong anyway is said as such, and what an answer imports or keeps when it
    is called for the first time is there. What the pretended GPU cannot follow is let through
    with a note, and so is what only makes a GPU wait.

    Args:
        answer: the door.
        draw: the check's.
        run: makes the calls and compares what comes out; is given the device.
        allowed: kinds of mistakes that are none here.

    Raises:
        Finding: with the mistake, in the student's own words.
    """
    run(draw.place)
    if draw.place.type != "cpu":
        return
    with answer.on_pretended_device() as mistakes:
        try:
            run(torch.device(ELSEWHERE))
        except Finding as found:
            _tell(mistakes, LEFT if found.kind == "device" else MODEL)
            found.label += " on a pretended GPU"
            raise
        except Exception as problem:
            _tell(mistakes, RAISED, problem)
            answer.notes.append(lost(problem))
        else:
            _tell(mistakes, BESIDES - set(allowed))
            answer.notes += [one for one in mistakes if one.kind in WAITS - set(allowed)]


def _tell(mistakes: list[Mistake], kinds: Collection[str], cause: Exception | None = None) -> None:
    """Raise the first mistake of these kinds as what the check has found."""
    mistake = next((one for one in mistakes if one.kind in kinds), None)
    if mistake is not None:
        found = Finding("device", "the output", mistake.kind, ELSEWHERE, mistake.sentence)
        found.mistake = mistake
        raise found from cause
