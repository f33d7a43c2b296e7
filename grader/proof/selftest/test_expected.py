"""What a check expects is the same for the next answer, whatever the one before it did."""

import pytest
import torch

from grader.answers.world import World
from grader.chapters import catalogue, places
from grader.judging.run import Setting, run
from grader.suite.expected import Tape


@pytest.mark.parametrize("stem", catalogue().names())
def test_no_wrong_answer_changes_what_the_next_one_is_held_against(stem):
    known = catalogue()
    solutions = World(places.SOLUTIONS, known.names())
    for exercise in known.select(stem):
        slips = [slip for slip in exercise.task.slips if slip.answer is not None]
        for check in exercise.checks:
            tape = Tape()
            for slip in slips:
                run(check, solutions, Setting(), {check.exercise: slip.wrong}, tape)
            outcome, _ = run(check, solutions, Setting(), tape=tape)
            assert outcome.passed, f"{check.full_exercise}, {check.name}: {outcome.finding}"


def test_what_is_made_of_a_changed_model_is_for_whoever_changed_it():
    known, full = catalogue(), "ex13_decoder.generate"
    solutions = World(places.SOLUTIONS, known.names())
    right = solutions.function("ex13_decoder", "generate")

    def turns_the_weights(model, *given, **named):
        text = right(model, *given, **named)
        with torch.no_grad():
            model.head.weight.mul_(-1)
        return text

    fails = False
    for check in known.exercise(full).checks:
        tape = Tape()
        outcome, _ = run(check, solutions, Setting(), {"generate": turns_the_weights}, tape)
        fails |= not outcome.passed
        outcome, _ = run(check, solutions, Setting(), tape=tape)
        assert outcome.passed, f"{check.name}: {outcome.finding}"
    assert fails
