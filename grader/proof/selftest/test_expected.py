"""What a check expects is the same for the next answer, whatever the one before it did."""

import torch

from grader import places
from grader.answers.world import World
from grader.chapters import catalogue
from grader.judging.run import Setting, run
from grader.suite.expected import Tape


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
