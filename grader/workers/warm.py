"""What an answer would import on first use, imported beforehand: it would count as its time."""

from __future__ import annotations

import math

import jaxtyping  # noqa: F401  # every chapter's signatures need it
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader import devices
from grader.dry_run import Crossing


def optimizer() -> None:
    """Make an optimiser: the first one of a process imports 800 modules, for a second or more."""
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)


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
    nn.Linear(2, 2).to("cpu", torch.float64)
    inputs = (torch.tensor([[0, 1]]), torch.tensor([1]))
    _learned(*inputs, nn.Embedding(2, 2))
    Crossing(lambda _: "").call(_learned, [*inputs, nn.Embedding(2, 2)], {})


def settle_on(device: str, megabytes: int) -> None:
    """Do all of it in a worker, and make its own context on its device, before any check's clock.

    Args:
        device: its home.
        megabytes: so much of the device's memory it may take.
    """
    from grader.remote import context

    devices.be_at_home(device)
    if device != devices.CPU:
        context.bound(device, megabytes)
    up()
    if device != devices.CPU:
        _use(device)


def _use(device: str) -> None:
    """Use a device once: what starts there takes seconds, on a GPU."""
    weight = torch.ones(2, 2).to(device).requires_grad_()
    torch.softmax(weight @ weight, -1).sum().backward()
    assert weight.grad is not None
    weight.grad.cpu()


def at_work() -> None:
    """Do what may load a library only when it is first done; for a process that is not kept."""
    import ctypes
    import decimal
    import hashlib
    import sqlite3
    import threading

    import numpy as np

    up()
    torch.set_num_threads(2)
    large = torch.ones(300, 300)
    thread = threading.Thread(target=torch.linalg.svd, args=(large @ large,))
    thread.start()
    thread.join()
    np.linalg.svd(np.eye(3))
    hashlib.sha256(str(decimal.Decimal(1)).encode())
    ctypes.CDLL(None)
    sqlite3.connect(":memory:").close()


def _learned(ids: Tensor, targets: Tensor, table: nn.Embedding) -> float:
    """Take a step with a little of all that answers do; torch looks up each operation once.

    A worker can read this, so it works out nothing that an exercise asks for.
    """
    x = table(ids) * torch.arange(2, device=ids.device)[:, None].to(table.weight.dtype)
    y = torch.matmul(x, x.mT) / math.sqrt(2)
    y = torch.exp(y.masked_fill(torch.ones_like(y, dtype=torch.bool).triu(1), 0))
    y = y - y.amax(-1, keepdim=True) / y.sum(-1, keepdim=True)
    mixed = (y.unsqueeze(1) @ x.unflatten(-1, (2, 1)).transpose(1, 2)).transpose(1, 2)
    loss = F.cross_entropy(F.linear(mixed.flatten(-2), table.weight).mean(1), targets)
    loss.backward()
    with torch.no_grad():
        for weight, gradient in [(one, one.grad) for one in table.parameters()]:
            if gradient is not None:
                weight.sub_(torch.zeros_like(weight).mul_(0.9).add_(gradient), alpha=0.1)
    return loss.item()
