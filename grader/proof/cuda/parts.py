"""The parts of the proof on a GPU, in the order in which they are tried."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader import devices
from grader.hearings.probe import try_out
from grader.judging.run import Setting
from grader.proof.cuda import batch, endings
from grader.proof.cuda.part import NotTried, Part
from grader.proof.cuda.spread import Spread
from grader.proof.cuda.trials import dry_runs, right, wrong
from grader.sandbox import offered
from grader.suite import tolerance

LINUX = "the walls are Linux's own"


@dataclass(frozen=True)
class Asked:
    """What is to be proved.

    Attributes:
        spread: on which device, of which exercises, and how the long parts are spread.
        only: the names that stand for the exercises; none for all.
        count: submissions of the batch.
    """

    spread: Spread
    only: Sequence[str]
    count: int

    @property
    def device(self) -> str:
        """The device's name."""
        return self.spread.both.device

    @property
    def there(self) -> Setting:
        """The device."""
        return self.spread.both.there


def parts(asked: Asked) -> Iterator[tuple[str, Callable[[Part], None]]]:
    """Name each part with what does it."""
    yield "what is here", lambda part: _facts(asked, part)
    yield "the device works within all walls", lambda part: _rungs(asked, part)
    yield "the walls of its workers stop what they should", _walls
    yield "arithmetic within the tolerances", lambda part: _arithmetic(asked, part)
    yield "what breaks, holds or fills it costs its check", lambda part: _endings(asked, part)
    yield "a batch has the same scores on both", lambda part: _batch(asked, part)
    yield "solutions and variants pass there", lambda part: asked.spread.over(right, part)
    yield "dry runs agree with real ones", lambda part: _dry_runs(asked, part)
    yield "slips and spoils give the same on both", lambda part: asked.spread.over(wrong, part)


def _facts(asked: Asked, part: Part) -> None:
    part.note(f"{platform.platform()}, Python {platform.python_version()}")
    part.note(f"torch {torch.__version__}, cuda {torch.version.cuda}, hip {torch.version.hip}")
    module = torch.get_device_module(asked.device)
    if hasattr(module, "get_device_properties"):
        part.note(f"{asked.device}: {module.get_device_properties(0)}")
    for what, why in devices.lacks(devices.indexed(asked.device)).items():
        part.note(f"it has no {what}: {why}")


def _rungs(asked: Asked, part: Part) -> None:
    isolation = offered()
    part.note(f"walls of this machine: {isolation.says}")
    began = time.monotonic()
    rung = try_out(asked.device, isolation, (Path.home(),))
    took = time.monotonic() - began
    part.note(f"{took:.1f} s for a nursery, a context and a computation; {rung.free} MB free")
    part.require(not rung.why, f"down: {rung.says}, for within all walls: {rung.why}")
    part.require(rung.isolation is not None, "it works within no walls")


def _walls(part: Part) -> None:
    if sys.platform != "linux":
        raise NotTried(LINUX)
    from grader.sandbox.drill.run import OPEN_WITH_GPU, got_through, run

    results = run(offered(), "attacks", gpu=True)
    through = set(got_through(results))
    part.note(f"{len(results)} attacks, {len(through)} got through: {', '.join(sorted(through))}")
    more = through - OPEN_WITH_GPU
    part.require(not more, f"these should not have: {', '.join(sorted(more))}")


def _arithmetic(asked: Asked, part: Part) -> None:
    """Say how much of each tolerance is used up by a product, its softmax and the way back."""
    from grader.answers.precision import exact

    lacking = devices.lacks(asked.there.device)
    for dtype, allowed in tolerance.BY_DTYPE.items():
        name = str(dtype).removeprefix("torch.")
        if name in lacking:
            part.note(f"{name}: not run, it has none")
            continue
        generator = torch.Generator().manual_seed(asked.spread.both.seed)
        given = torch.randn(64, 64, generator=generator).to(dtype)
        own = given.to(asked.device).requires_grad_()
        wide = given.double().clone().requires_grad_()
        with exact(asked.device):
            for x in (wide, own):
                (torch.softmax(x @ x.mT / 8, -1) @ x).square().sum().backward()
        assert wide.grad is not None
        assert own.grad is not None
        want, got = wide.grad, own.grad.cpu().double()
        relative, absolute = allowed.beside(want)
        used = ((got - want).abs() / (absolute + relative * want.abs())).max().item()
        part.note(f"{name}: {used:.3f} of its tolerance used up")
        part.require(used <= 1, f"{name} is off by {used:.2f} times its tolerance")


def _dry_runs(asked: Asked, part: Part) -> None:
    if asked.device != "cuda":
        raise NotTried("the programs to try say cuda")
    asked.spread.over(dry_runs, part)


def _endings(asked: Asked, part: Part) -> None:
    if not hasattr(torch.get_device_module(asked.device), "_sleep"):
        raise NotTried(f"{asked.device} has no kernel that never ends to be tried with")
    if "float64" in devices.lacks(asked.there.device):
        raise NotTried(f"{asked.device} has no float64, and the answers do their harm there")
    with tempfile.TemporaryDirectory() as space:
        told = endings.checks_of_all(asked.device, Path(space))
    for harm, checks in told.items():
        lost = [check for check in checks if check["outcome"] != "passed"]
        says = lost[0]["message"].partition("\n")[0] if lost else "all passed"
        part.note(f"what {harm}: {says}")
    for problem in endings.problems(told):
        part.require(False, problem)


def _batch(asked: Asked, part: Part) -> None:
    with tempfile.TemporaryDirectory() as space:
        batch.timed(asked.device, asked.count, asked.only, Path(space), part)
