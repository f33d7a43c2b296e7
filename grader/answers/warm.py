"""What an answer would import on first use, imported beforehand: it would count as its time."""

from __future__ import annotations

import jaxtyping  # noqa: F401  # every chapter's signatures need it
import torch
import torch.nn.functional as F
from torch import nn

from grader.answers.pretended.lightly import prepare


def up() -> None:
    """Use each of them once."""
    weight = torch.zeros(2, 2, requires_grad=True)
    for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        made = optimizer([weight], lr=0.1)
        F.cross_entropy(weight @ weight, torch.tensor([0, 1])).backward()
        made.step()
        made.zero_grad()
    x = torch.ones(1, 2, 2)
    layer = nn.MultiheadAttention(2, 1, batch_first=True)
    layer(x, x, x)[0].sum().backward()
    F.scaled_dot_product_attention(x, x, x)
    torch.softmax(x, -1).masked_fill(x > 1, -torch.inf).std()
    torch.einsum("bij,bjk->bik", x, x)
    nn.Embedding(2, 2)(torch.tensor([0]))
    nn.Linear(2, 2).to("cpu", torch.float64)
    prepare()
