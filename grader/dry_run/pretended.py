"""Where tensors are on the pretended machine: the CPU, and two GPUs; inputs are on the second.

The second, because `"cuda"` written out means the first: whoever does not take the device from an
input is on the wrong one.
"""

from __future__ import annotations

from typing import Any

import torch

ELSEWHERE = "cuda:1"
HOME = torch.device(ELSEWHERE)
FIRST = torch.device("cuda:0")
CPU = torch.device("cpu")


def pretended_device(said: Any) -> torch.device | None:
    """Return the pretended device that a `device=` names; None if it names none.

    A GPU without a number is the first, as long as nobody chooses another.
    """
    if said is None or isinstance(said, bool):
        return None
    if isinstance(said, int):
        return torch.device("cuda", said) if said >= 0 else None
    if not isinstance(said, torch.device):
        if not isinstance(said, str):
            return None
        said = torch.device(said)
    if said.type == "cuda":
        return FIRST if said.index is None else said
    return CPU if said.type == "cpu" else None
