"""Ready-made softmax and attention are noticed under every name that we could think of."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grader.answers.ready_made import noticing

ROWS = torch.linspace(-1, 1, 35).reshape(5, 7)
HEADS = torch.linspace(-1, 1, 80).reshape(1, 2, 5, 8)


def without_functions():
    with torch._C.DisableTorchFunction():
        return torch.softmax(ROWS, -1)


def without_modes():
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return torch.softmax(ROWS, -1)


SOFTMAXES = {
    "torch.softmax": lambda: torch.softmax(ROWS, -1),
    "functional": lambda: F.softmax(ROWS, -1),
    "method": lambda: ROWS.softmax(-1),
    "module": lambda: nn.Softmax(-1)(ROWS),
    "special": lambda: torch.special.softmax(ROWS, -1),
    "private": lambda: torch._softmax(ROWS, -1, False),
    "aten": lambda: torch.ops.aten._softmax(ROWS, -1, False),
    "softmin": lambda: F.softmin(-ROWS, -1),
    "log_softmax": lambda: torch.log_softmax(ROWS, -1).exp(),
    "safe": lambda: torch._safe_softmax(ROWS, -1),
    "vmap": lambda: torch.vmap(lambda row: torch.softmax(row, -1))(ROWS),
    "categorical": lambda: torch.distributions.Categorical(logits=ROWS).probs,
    "attention": lambda: F.scaled_dot_product_attention(HEADS, HEADS, HEADS),
    "getattr": lambda: getattr(torch, "soft" + "max")(ROWS, -1),
    "no functions": without_functions,
    "no modes": without_modes,
}
ATTENTIONS = {
    "functional": lambda: F.scaled_dot_product_attention(HEADS, HEADS, HEADS),
    "private": lambda: torch._C._nn.scaled_dot_product_attention(HEADS, HEADS, HEADS),
    "math": lambda: torch.ops.aten._scaled_dot_product_attention_math(HEADS, HEADS, HEADS),
    "module": lambda: nn.MultiheadAttention(8, 2, batch_first=True)(*[HEADS[0]] * 3),
    "layer": lambda: nn.TransformerEncoderLayer(8, 2, batch_first=True)(HEADS[0]),
    "fast layer": lambda: nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()(HEADS[0]),
}


@pytest.mark.parametrize("call", SOFTMAXES.values(), ids=SOFTMAXES)
def test_softmax(call):
    with noticing("softmax") as seen:
        call()
    assert seen


@pytest.mark.parametrize("call", ATTENTIONS.values(), ids=ATTENTIONS)
def test_attention(call):
    with noticing("attention") as seen:
        call()
    assert seen


def test_what_is_allowed():
    with noticing("softmax") as seen:
        weights = torch.exp(ROWS - torch.logsumexp(ROWS, -1, keepdim=True))
        torch.where(weights > 0, weights, 0).sum()
    assert not seen
    with noticing("attention") as seen:
        torch.softmax(ROWS, -1) @ ROWS.T
    assert not seen
