"""Ready-made softmax and attention are noticed under every name that we could think of."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grader.answers.ready_made import noticing
from grader.remote.kernels import overheard
from grader.suite.arithmetic import softmax64
from grader.suite.compare import Finding
from grader.suite.draw import Draw
from grader.suite.your_own import KEYS, READY_ATTENTION, READY_SOFTMAX, no_ready_softmax
from grader.suite.your_own import ROWS as MANY

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
    with noticing(READY_SOFTMAX) as seen:
        call()
    assert seen


@pytest.mark.parametrize("call", ATTENTIONS.values(), ids=ATTENTIONS)
def test_attention(call):
    with noticing(READY_ATTENTION) as seen:
        call()
    assert seen


def test_what_is_allowed():
    with noticing(READY_SOFTMAX) as seen:
        weights = torch.exp(ROWS - torch.logsumexp(ROWS, -1, keepdim=True))
        torch.where(weights > 0, weights, 0).sum()
    assert not seen
    with noticing(READY_ATTENTION) as seen:
        torch.softmax(ROWS, -1) @ ROWS.T
    assert not seen


def near(made):
    return made * (1 + torch.finfo(made.dtype).eps)


def to_the_next(made):
    return torch.nextafter(
        made.detach(), torch.where(torch.rand_like(made) < 0.5, 2.0, -1.0).to(made)
    )


def one_number(scores):
    return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))


def with_a_reciprocal(scores):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers * (1 / powers.sum(-1, keepdim=True))


def one_by_one(scores):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / sum(powers.unbind(-1)).unsqueeze(-1)


CHANGED = {
    "as it is": lambda scores: torch.softmax(scores, -1),
    "times 1 + eps": lambda scores: near(torch.softmax(scores, -1)),
    "to the next, by chance": lambda scores: to_the_next(torch.softmax(scores, -1)),
    "plus 1e-9": lambda scores: torch.softmax(scores, -1) + 1e-9,
    "exp of log": lambda scores: near(torch.log_softmax(scores, -1).exp()),
    "in float64": lambda scores: torch.softmax(scores.double(), -1).to(scores.dtype),
}
OWN = {
    "with logsumexp": one_number,
    "with a reciprocal": with_a_reciprocal,
    "one by one": one_by_one,
    "in float64": lambda scores: with_a_reciprocal(scores.double()).to(scores.dtype),
}


def by_rounding(ask, seed):
    draw = Draw(seed, "rounding")
    no_ready_softmax(draw, "softmax", ask, lambda d: [d(MANY, KEYS, scale=2)], softmax64)


@pytest.mark.parametrize("ask", CHANGED.values(), ids=CHANGED)
def test_rounding_tells_what_was_changed_in_its_last_bits(ask):
    with pytest.raises(Finding, match="forbidden"):
        by_rounding(ask, 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ask", OWN.values(), ids=OWN)
def test_rounding_accuses_no_way_of_ones_own(ask, seed):
    by_rounding(ask, seed)


def test_what_is_overheard_hands_on_no_ready_made_layer(monkeypatch):
    heard = []
    monkeypatch.setattr(F, "_mha_shape_check", F._mha_shape_check)
    layer = F.multi_head_attention_forward
    overheard(heard.append)
    nn.MultiheadAttention(8, 2, batch_first=True)(*[HEADS[0]] * 3)
    assert heard == ["multi_head_attention_forward"]
    assert F.multi_head_attention_forward is layer
    held = [cell.cell_contents for cell in F._mha_shape_check.__closure__]
    assert layer not in held
