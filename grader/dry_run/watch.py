"""Who is told of what tensors do on the pretended machine, and what a call of torch's was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from grader.dry_run.trip import Trip


class Now:
    """What runs at this moment.

    Attributes:
        watcher: is told what a GPU would not do, or would have to wait for.
        given: while a call of torch's mixes devices, the tensors of the CPU that the answer has
            handed to it, and what was made of them inside, each with the one that was handed.
            Another tensor of the CPU is torch's own, and would be on the GPU.
    """

    watcher: Trip | None = None
    given: dict[int, tuple[Tensor, Tensor]] | None = None


def is_given(value: Tensor) -> bool:
    """Tell whether a tensor of the CPU comes from the answer, and not from inside of torch."""
    return Now.given is not None and id(value) in Now.given


def handed(value: Tensor) -> Tensor:
    """Return the tensor that the answer has handed over, of which this one was made."""
    return value if Now.given is None else Now.given.get(id(value), (value, value))[1]
