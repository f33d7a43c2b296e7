"""The law of devices: a function works where its inputs are, and its output is there.

Where there is no GPU, a pretended one takes its place; `grader/dry_run` says how. Checks
by this law are about "devices": reports count them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from grader import nested
from grader.dry_run import (
    BESIDES,
    ELSEWHERE,
    LEFT,
    MODEL,
    RAISED,
    WAITS,
    CodeLine,
    Mistake,
    lost,
)
from grader.suite.case import Case
from grader.suite.compare import Finding, same, situation
from grader.suite.draw import Draw
from grader.suite.expected import from_here

Run = Callable[[torch.device], None]
# so many mistakes are told beside the first
MOST_OTHERS = 4


def device_ready(answer: Any, draw: Draw, cases: Sequence[Case]) -> None:
    """The output is right and where the inputs are; the backward pass works there, too."""
    runs = [
        _held(answer, draw, case, also_without=number == 0) for number, case in enumerate(cases)
    ]
    for number, case in enumerate(cases):
        with situation(case.label):
            on_a_gpu(answer, draw, runs[number], later=runs[number + 1 :])


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


def _held(answer: Any, draw: Draw, case: Case, *, also_without: bool = False) -> Run:
    given = case.given(draw)
    return functools.partial(_holds, answer, case, given, case.want(given), also_without)


def _holds(
    answer: Any,
    case: Case,
    given: tuple[Any, ...],
    want: Any,
    also_without: bool,
    on: torch.device,
) -> None:
    """Call with gradients wanted, and also without them if that is to be tried as well."""
    like = case.like(given, want)
    twins = case.twins(given)
    output, leaves = case.ask(answer, twins)
    same(output, want, like=like)
    goes_backward(answer, output, [value for _, value in leaves], on)
    if also_without:
        with torch.no_grad():
            same(case.call(answer, given), want, like=like)


def goes_backward(answer: Any, output: Any, leaves: list[Tensor], on: torch.device) -> None:
    """Pull the graph of an output on a GPU, if it has one; gradients have a law of their own.

    On a pretended GPU torch's own rules make no mistakes, so only an answer's own are gone through.
    """
    if on.type != "cpu" and (str(on) != ELSEWHERE or answer.goes_back_its_own_way()):
        goes_back(output, leaves)


def goes_back(output: Any, leaves: list[Tensor]) -> bool:
    """Go backward through all that comes out, if there is a way; return whether there is one."""
    ends = [v for v in nested.flat(output) if isinstance(v, Tensor) and v.requires_grad]
    leaves = [one for one in leaves if one.requires_grad]  # some freeze what is to be learned
    if ends and leaves:
        # as a worker does with what comes across, so that both count the same
        total: Any = 0
        for one in ends:
            total = total + (one * torch.ones_like(one)).sum()
        torch.autograd.grad(total, leaves, allow_unused=True)
    return bool(ends and leaves)


def on_a_gpu(
    answer: Any,
    draw: Draw,
    run: Run,
    allowed: Collection[str] = (),
    later: Sequence[Run] = (),
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
        later: what is made after this; once there is a mistake, others are looked for there, too.

    Raises:
        Finding: with the mistake, in the student's own words, and those of other lines.
    """
    run(draw.place)
    if draw.place.type != "cpu":
        return
    go_back = from_here()
    try:
        _dry_run(answer, run, allowed)
    except Finding as found:
        if found.mistake is not None:
            found.also = _others(answer, (run, *later), allowed, found.mistake, go_back)
        raise


def _others(
    answer: Any,
    runs: Sequence[Run],
    allowed: Collection[str],
    first: Mistake,
    go_back: Callable[[], None],
) -> tuple[Mistake, ...]:
    """Look for mistakes that a student would meet once those before are mended."""
    known = {first.place: first}
    left = list(runs)
    while left and len(known) <= MOST_OTHERS:
        go_back()
        try:
            _dry_run(answer, left[0], allowed, known)
        except Finding as found:
            also = found.mistake
            if also is not None and also.is_named and also.place not in known:
                known[also.place] = also
                continue
        del left[0]
    return tuple(sorted(list(known.values())[1:], key=lambda mistake: mistake.place))


def _dry_run(
    answer: Any, run: Run, allowed: Collection[str], forgiven: Collection[CodeLine] = ()
) -> None:
    """Make calls on a pretended GPU; raises the first mistake as what the check has found."""
    with answer.on_pretended_device(forgiven) as mistakes:
        try:
            run(torch.device(ELSEWHERE))
        except Finding as found:
            _tell(mistakes, LEFT if found.kind == "device" else MODEL)
            found.what += " on a pretended GPU"
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
