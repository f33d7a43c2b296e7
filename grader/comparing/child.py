"""What the process does that runs the student's functions for a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.pictures.model import Panel, Picture, Row, pack

if TYPE_CHECKING:
    from grader.comparing.ways import Ways
    from grader.showing.child import TimedSender
    from grader.showing.workbench import Workbench


@dataclass(frozen=True)
class Comparison:
    """Functions that are solved, to be laid beside others.

    Attributes:
        names: their full names.
        answers: the folder of answers.
        seconds: how long one call may take.
    """

    names: tuple[str, ...]
    answers: str
    seconds: float = 10.0

    def work(self, line: TimedSender) -> None:
        """Send one message for each function: what there is to see, or why it is closed."""
        from grader.chapters import catalogue
        from grader.comparing.sealed import Closed
        from grader.showing.child import world_of
        from grader.showing.workbench import Stopped, Workbench

        known = catalogue()
        line.world = world_of(self.answers)
        for full in self.names:
            line.picture = Picture(full)
            bench = Workbench(known, line.world, full, line.announce)
            try:
                line.send({"done": _compared(full, bench)})
            except (Closed, Stopped) as problem:
                line.send({"done": {"full": full, "closed": str(problem)}})


def _compared(full: str, bench: Workbench) -> dict[str, Any]:
    from grader.comparing.excerpt import excerpt
    from grader.comparing.sealed import ways_of
    from grader.comparing.ways import two_more
    from grader.written.cells import place

    stem, name = full.split(".")
    exercises = [exercise.name for exercise in bench.catalogue.exercises()]
    ways = ways_of(full, exercises, lambda question: _asked(full, bench, question))
    text = bench.world.source(stem) or b""
    mine = excerpt(text.decode(errors="replace"), name, exercises)
    yours = mine.text if mine else f"# {stem} takes {name} from elsewhere"
    return {
        "full": full,
        "path": str(bench.world.path(stem)),
        "at": place(text, mine.line if mine else 1),
        "yours": yours,
        "reference": ways.reference,
        "others": two_more(ways, yours, name),
        **_in_pytorch(full, bench, ways),
    }


def _asked(full: str, bench: Workbench, question: Any) -> Any:
    import torch

    torch.manual_seed(0)
    return bench.run(full, question).result


def _in_pytorch(full: str, bench: Workbench, ways: Ways) -> dict[str, Any]:
    """Call what PyTorch has ready-made, if it has something, and the student's function."""
    import inspect

    import torch
    from torch import nn

    from grader.comparing.excerpt import excerpt

    if not ways.ready_made:
        return {}
    name = full.split(".")[1]
    space = {"torch": torch, "nn": nn, "F": nn.functional}
    exec(ways.ready_made, space)
    call: Any = space[name]
    cut = excerpt(ways.ready_made, name, ())
    yours, theirs = (one.detach() for one in _asked(full, bench, call))
    return {
        "call": cut.text if cut else "",
        "differs": " ".join((inspect.getdoc(call) or "").split()),
        "picture": pack(_picture(full, yours, theirs)),
    }


def _picture(full: str, yours: Any, theirs: Any) -> Picture:
    """Draw both results, and mark where they differ by more than rounding."""
    import torch

    from grader.suite import tolerance

    while yours.dim() > 2:
        yours, theirs = yours[0], theirs[0]
    near = tolerance.of(torch.float32)
    bad = ~torch.isclose(theirs, yours, near.relative, near.absolute)
    rows, columns = ([str(i) for i in range(size)] for size in yours.shape)
    row = Row(stacks=[
        [Panel("yours", yours.tolist(), rows, columns, source="yours", digits=4)],
        [Panel("PyTorch's", theirs.tolist(), rows, columns, wrong=bad.tolist(), digits=4)],
    ])  # fmt: skip
    if bad.any():
        row.notes.append(f"{int(bad.sum())} of {bad.numel()} numbers differ.")
    else:
        most = float((yours - theirs).abs().max())
        said = f"by more than {most:.1g}" if most and math.isfinite(most) else "at all"
        row.notes.append(f"No number differs {said}.")
    return Picture(full, rows=[row])
