"""The same outcome and the same message on the CPU and on another device."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from grader.chapters import Catalogue, Exercise, World, places
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome
from grader.judging.recognise import SlipMemory
from grader.judging.run import Setting
from grader.proof.figure import Figure
from grader.proof.spoils import slips_and_spoils


def same_on_both(
    known: Catalogue, exercise: Exercise, here: Setting, there: Setting, most: int | None = None
) -> list[Figure]:
    """Judge every slip and spoil of an exercise on both devices, or so many of them."""
    outcomes, messages = Figure("outcomes that are the same"), Figure("messages that are the same")
    for name, wrong in itertools.islice(slips_and_spoils(known, exercise), most):
        judges = [_judge(known, exercise, wrong, setting) for setting in (here, there)]
        for check in exercise.checks:
            one, other = (judge.judge(check) for judge in judges)
            # a dry run on the CPU is a real one there, and what it cannot do is no difference
            if check.about == "devices" or "not run" in (one.verdict, other.verdict):
                continue
            who = f"{exercise.full} {name}, {check.name}"
            said = [(o.verdict, o.slip) for o in (one, other)]
            outcomes.count(said[0] == said[1], f"{who}: {said[0]} and {said[1]}")
            texts = [_without_place(o, there.device) for o in (one, other)]
            messages.count(texts[0] == texts[1], f"{who}:\n{texts[0]}\n    and\n{texts[1]}")
    return [figure for figure in (outcomes, messages) if figure.total]


def _judge(
    known: Catalogue, exercise: Exercise, wrong: Callable[..., Any], setting: Setting
) -> Judge:
    world, replaced = World(places.SOLUTIONS, known.names()), {exercise.name: wrong}
    return Judge(known, world, setting, replaced, memory=SlipMemory())


def _without_place(outcome: Outcome, device: str) -> str:
    """Return a message without its line breaks, and without where its tensors were."""
    text = " ".join(outcome.message.split())
    return re.sub(rf" on {re.escape(device)}", "", text)
