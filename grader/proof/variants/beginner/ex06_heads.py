"""Style beginner: heads are split into a list, and put side by side with cat."""

import torch
import torch.nn as nn

import ex01_scores
import ex03_masking
import ex05_mixing


def check_heads(d_model, n_heads):
    if n_heads < 1:
        raise ValueError(f"n_heads is {n_heads}, it should be at least 1 (d_model: {d_model})")
    if d_model % n_heads != 0:
        raise ValueError(f"d_model {d_model} cannot be divided by n_heads {n_heads}")


def split_heads(x, n_heads):
    if len(x.shape) < 2:
        raise ValueError("x should have rows and columns: " + ex01_scores.shape_text(x))
    d_model = x.shape[-1]
    check_heads(d_model, n_heads)
    d_head = d_model // n_heads
    heads = []
    for i in range(n_heads):
        first_feature = i * d_head
        last_feature = first_feature + d_head
        head = x[..., first_feature:last_feature]
        heads.append(head)
    return torch.stack(heads, dim=-3)


def merge_heads(x):
    if len(x.shape) < 3:
        raise ValueError("x should have heads, rows, columns: " + ex01_scores.shape_text(x))
    n_heads = x.shape[-3]
    heads = []
    for i in range(n_heads):
        head = torch.select(x, -3, i)
        heads.append(head)
    return torch.cat(heads, dim=-1)


def multi_head(query, key, value, n_heads, mask=None):
    shapes = []
    for tensor in [query, key, value]:
        shapes.append(ex01_scores.shape_text(tensor))
    all_shapes = ", ".join(shapes)
    if len(query.shape) < 2:
        raise ValueError("query should have rows and columns: " + all_shapes)
    if key.shape != value.shape:
        raise ValueError("key and value should have the same shape: " + all_shapes)
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError("query does not go with key and value: " + all_shapes)

    query_heads = split_heads(query, n_heads)
    key_heads = split_heads(key, n_heads)
    value_heads = split_heads(value, n_heads)

    if mask is not None:
        scores_shape = list(query.shape[:-1]) + [key.shape[-2]]
        if not ex03_masking.mask_fits(mask.shape, scores_shape):
            message = "mask with shape " + ex01_scores.shape_text(mask)
            raise ValueError(message + " does not fit scores with shape " + str(scores_shape))
        # one more dimension for the heads
        if len(mask.shape) >= 2:
            mask = torch.unsqueeze(mask, -3)

    output_heads = ex05_mixing.attention(query_heads, key_heads, value_heads, mask)
    output = merge_heads(output_heads)
    return output


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        self.w_q = nn.Linear(in_features=d_model, out_features=d_model, bias=bias)
        self.w_k = nn.Linear(in_features=d_model, out_features=d_model, bias=bias)
        self.w_v = nn.Linear(in_features=d_model, out_features=d_model, bias=bias)
        self.w_o = nn.Linear(in_features=d_model, out_features=d_model, bias=bias)

    def forward(self, x, memory=None, mask=None):
        # without a memory the tokens look at themselves
        if memory is None:
            memory = x
        self.check_tokens("x", x)
        self.check_tokens("memory", memory)
        query = self.w_q(x)
        key = self.w_k(memory)
        value = self.w_v(memory)
        mixed = multi_head(query, key, value, self.n_heads, mask)
        output = self.w_o(mixed)
        return output

    def check_tokens(self, name, tokens):
        shape = ex01_scores.shape_text(tokens)
        if len(tokens.shape) < 2:
            raise ValueError(name + " should have rows and columns: " + shape)
        if tokens.shape[-1] != self.d_model:
            message = "%s should be %d wide but has shape %s"
            raise ValueError(message % (name, self.d_model, shape))
