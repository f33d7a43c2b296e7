"""What is tried of an exercise on two devices: right answers, wrong ones, and dry runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from grader import devices, places
from grader.chapters import Exercise, World, catalogue
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome
from grader.judging.recognise import SlipMemory
from grader.judging.run import Setting
from grader.proof.cuda.spread import Both, Trial
from grader.proof.devices import agree
from grader.proof.figure import Figure
from grader.proof.prove import solutions_pass, variant_passes
from grader.proof.spoils import slips_and_spoils


def right(exercise: Exercise, both: Both) -> Iterator[Trial]:
    """The solution passes on the device, and so does every variant."""
    yield lambda: [solutions_pass([exercise], both.there)]
    for folder in places.variants(exercise.stem):
        yield partial(_passes, folder, exercise, both)


def dry_runs(exercise: Exercise, both: Both) -> Iterator[Trial]:
    """Dry runs say what the device does."""
    for one in agree.trials(catalogue(), exercise, both.device):
        yield partial(_agrees, one, both)


def wrong(exercise: Exercise, both: Both) -> Iterator[Trial]:
    """Every slip and spoil has the same outcome on both, and the same message."""
    for name, answer in slips_and_spoils(catalogue(), exercise, both.device):
        yield partial(_compared, exercise, both, name, answer)


def _passes(folder: Path, exercise: Exercise, both: Both) -> list[Figure]:
    return [variant_passes(folder, exercise, both.there)]


def _agrees(trial: agree.Trial, both: Both) -> list[Figure]:
    return [agree.agrees(trial, both.here, both.there)]


def _compared(
    exercise: Exercise, both: Both, name: str, answer: Callable[..., Any]
) -> list[Figure]:
    outcomes, messages = Figure("outcomes that are the same"), Figure("messages that are the same")
    judges = [_judge(exercise, answer, setting) for setting in (both.here, both.there)]
    for check in exercise.checks:
        one, other = (judge.judge(check) for judge in judges)
        # a dry run on the CPU is a real one there, and what it cannot do is no difference
        if check.about == "devices" or "not run" in (one.verdict, other.verdict):
            continue
        who = f"{exercise.full} {name}, {check.name}"
        said = [(o.verdict, o.slip) for o in (one, other)]
        if devices.broken(both.device):  # a search for the slip would break it for the student
            outcomes.count(False, f"{who}: breaks the device, {said[0]} on the CPU")
            break
        if _of_this_device(one) or _of_this_device(other):
            continue
        outcomes.count(said[0] == said[1], f"{who}: {said[0]} and {said[1]}")
        texts = [_without_numbers(o, both.there.device) for o in (one, other)]
        messages.count(texts[0] == texts[1], f"{who}:\n{texts[0]}\n    and\n{texts[1]}")
    return [figure for figure in (outcomes, messages) if figure.total]


def _judge(exercise: Exercise, answer: Callable[..., Any], setting: Setting) -> Judge:
    known = catalogue()
    world, replaced = World(places.SOLUTIONS, known.names()), {exercise.name: answer}
    return Judge(known, world, setting, replaced, memory=SlipMemory())


def _of_this_device(outcome: Outcome) -> bool:
    """Tell whether an outcome hangs on the device: where something is, or what is drawn there."""
    return outcome.finding is not None and outcome.finding.kind in ("device", "plain")


def _without_numbers(outcome: Outcome, device: str) -> str:
    """Return a message without its line breaks, where its tensors were, and its last digits."""
    text = " ".join(outcome.message.split())
    text = re.sub(rf" on {re.escape(device)}", "", text)
    text = re.sub(r"device\(type='\w+'(, index=\d+)?\)", "", text)
    return re.sub(r"-?\d[\d.]*(e[-+]\d+)?", "#", text)
