"""Chapter 5: weights are shares of 60, as in chapter 4, and values are whole numbers."""

from __future__ import annotations

import torch

from grader.comparing.questions.ex04_softmax import KEY, MASK, QUERY

VALUE = torch.tensor([[3.0, -1.0], [4.0, 1.0], [-5.0, 9.0]])
WEIGHTS = torch.tensor([[2.0, 6.0, 5.0], [3.0, 5.0, -8.0]])
# tokens that hold a query's first feature, a key's, and a value
TOKENS = torch.cat((torch.full((3, 1), 2.0), KEY[:, :1], VALUE), 1)
ZERO = torch.zeros(4, 1)
W_Q = torch.cat((torch.eye(4)[:, :1], ZERO, ZERO, ZERO), 1)
W_K = torch.cat((torch.eye(4)[:, 1:2], ZERO, ZERO, ZERO), 1)
W_V = torch.eye(4)[:, 2:]

QUESTIONS = {
    "linear_combination": lambda f: [f(row, VALUE) for row in WEIGHTS],
    "mix_values": lambda f: f(WEIGHTS, VALUE),
    "attention": lambda f: [60 * f(QUERY, KEY, VALUE), 20 * f(QUERY, KEY, VALUE, MASK)],
    "self_attention": lambda f: [
        60 * f(TOKENS, W_Q, W_K, W_V),
        60 * f(TOKENS, W_Q, W_K, W_V, causal=True)[::2],
        20 * f(TOKENS, W_Q, W_K, W_V, causal=True)[1],
    ],
    "cross_attention": lambda f: [
        60 * f(QUERY, TOKENS, torch.eye(4), W_K, W_V),
        20 * f(QUERY, TOKENS, torch.eye(4), W_K, W_V, MASK[1]),
    ],
}
