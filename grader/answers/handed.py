"""Models that suites hand to an answer: real modules, which note how they stand when asked."""

from __future__ import annotations

import functools
import inspect
import textwrap
from typing import Any

from torch import nn

# so many states of a model are noted
MOST_NOTED = 3000


class Noted(list[Any]):
    """What a model has noted; copies of the model note in the same list."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Noted:
        return self


class Handed(nn.Module):
    """A model of a suite's that is handed to an answer.

    It runs where the answer does. If that is another process its class is made there from its
    source, so it uses nothing but `torch`, `nn` and what stands in the class itself.
    """

    noted: Noted
    most = MOST_NOTED


def source_of(kind: type[Handed]) -> str:
    """Return the source of a class of models, with those that it is made of."""
    line: list[Any] = list(reversed(kind.__mro__))
    kinds = [one for one in line if issubclass(one, Handed) and one is not Handed]
    return "\n\n".join(_own_source(one) for one in kinds)


@functools.lru_cache(maxsize=256)
def _own_source(kind: type[Handed]) -> str:
    """Return the source of one class; to find it, Python reads its whole file each time."""
    return textwrap.dedent(inspect.getsource(kind))
