"""Running a check by heart: what passed once passes again for an answer that says the same."""

from __future__ import annotations

from grader.answers.door import Answer
from grader.answers.protocol import Answers
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.remote.talk import ByHeart
from grader.remote.world import RemoteWorld
from grader.suite.check import Check
from grader.suite.expected import Tape
from grader.trouble import BrokenFile, Diverged


def run_by_heart(
    check: Check, world: Answers, setting: Setting, memory: ByHeart, tape: Tape
) -> tuple[Outcome, Answer]:
    """Run a check of an answer in another process, or lead it by heart as far as that goes."""
    assert isinstance(world, RemoteWorld)
    try:
        world.load(check.stem)
    except BrokenFile:
        return run(check, world, setting, tape=tape)
    talk = world.talk_about(f"{check.name} {setting.seed} {setting.device}", check.stem)
    try:
        outcome = world.recite(talk, memory)
        if outcome is not None:
            return outcome, Answer(world, check.stem)
        outcome, answer = run(check, world, setting, tape=tape)
    except Diverged:
        world.close()
        return run(check, world, setting, tape=tape)
    finally:
        world.end_talk()
    # what a call has left behind is found, and written down, with each answer anew
    if outcome.passed and not outcome.left:
        memory.learn(talk, outcome)
    return outcome, answer
