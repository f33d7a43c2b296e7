"""Running one check on one answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader import devices
from grader.answers.door import Answer
from grader.answers.precision import exact
from grader.answers.protocol import Answers
from grader.devices import NotHere
from grader.judging.left import left_behind
from grader.judging.outcome import Outcome, is_time_limit, outcome_of
from grader.suite.check import Check
from grader.suite.compare import Finding
from grader.suite.draw import Draw, derived
from grader.suite.expected import Tape, on_tape
from grader.suite.wide import beside
from grader.trouble import Diverged, Lost, NurseryError


@dataclass(frozen=True)
class Setting:
    """What a check runs with besides the answer."""

    device: str = "cpu"
    seed: int = 0
    place: str | None = None

    def draw(self, check: Check) -> Draw:
        """Return the check's inputs."""
        return Draw(self.seed, f"{check.stem}/{check.name}", self.device, place=self.place)


@contextlib.contextmanager
def torch_as_it_was() -> Iterator[None]:
    """Give torch's global switches back, so that one check's answer does not spoil the next."""
    dtype, gradients = torch.get_default_dtype(), torch.is_grad_enabled()
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def run(
    check: Check,
    world: Answers,
    setting: Setting,
    replaced: Mapping[str, Callable[..., Any]] | None = None,
    tape: Tape | None = None,
    start: str = "initialisation",
) -> tuple[Outcome, Answer]:
    """Run a check; nothing that the answer raises gets out.

    Args:
        check: the check.
        world: the answer.
        setting: device and seed.
        replaced: what stands in for the exercise.
        tape: what the check expects, as far as that is known; what is not is added to it.
        start: what the state of torch's generator is derived from, besides the seed.
    """
    answer = Answer(world, check.stem, replaced)
    error: BaseException | None = None
    left: tuple[Finding, ...] = ()
    try:
        with torch_as_it_was(), torch.random.fork_rng(devices=[]), world.active(), on_tape(tape):
            # the same start for random initialisation, whichever checks ran before
            state = derived(setting.seed, start)
            torch.default_generator.manual_seed(state)
            world.begin(state)
            with beside(setting.device), exact(setting.device):
                check.run(answer, setting.draw(check))
            left = left_behind(check, answer)
    except (KeyboardInterrupt, Lost, NurseryError, Diverged):
        raise
    except NotHere as lacking:
        says = f"{check.full_exercise}: not run, for {lacking.says}"
        return Outcome("not run", message=says, headline=says), answer
    except BaseException as problem:
        if is_time_limit(problem):
            raise
        error = problem
    if error is not None and (lost := devices.broken(setting.device)):
        return Outcome("crashed", error=error, headline=lost), answer
    outcome = outcome_of(error, check.full_exercise, world)
    outcome.notes = tuple(answer.notes) if outcome.passed else ()
    outcome.left = left
    return outcome, answer
