"""Style loops: a weighted sum is a for loop; each sequence of a batch is attended to alone."""

import torch

from ex01_scores import batch_shapes_equal, complain, nothing, project_rows, stacked
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights, tokens):
    if weights.dim() != 1 or tokens.dim() != 2:
        complain("weights are a vector and tokens a matrix", weights, tokens)
    if len(weights) != len(tokens):
        complain("each token needs one weight", weights, tokens)
    total = torch.zeros(tokens.size(1), dtype=tokens.dtype, device=tokens.device)
    total = total + nothing(weights, tokens)
    for weight, token in zip(weights, tokens):
        total = total + weight * token
    return total


def mix_values(weights, value):
    if weights.dim() < 2 or weights.dim() != value.dim():
        complain("weights and value need two or more dimensions, equally many", weights, value)
    if not batch_shapes_equal(weights, value):
        complain("weights and value come in different batches", weights, value)
    if weights.size(-1) != value.size(-2):
        complain("there must be one weight per value", weights, value)
    parts = []
    if weights.dim() == 2:
        for row in weights:
            parts.append(linear_combination(row, value))
    else:
        for w, v in zip(weights, value):
            parts.append(mix_values(w, v))
    return stacked(parts, (weights, value), *weights.shape[:-1], value.size(-1))


def attention(query, key, value, mask=None):
    if value.dim() != key.dim() or value.dim() < 2 or value.shape[:-1] != key.shape[:-1]:
        complain("each key needs one value", key, value)
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(x, w_q, w_k, w_v, causal=False):
    query = project_rows(x, w_q)
    key = project_rows(x, w_k)
    value = project_rows(x, w_v)
    if not causal:
        return attention(query, key, value)
    return attention(query, key, value, causal_mask(x.size(-2), x.device))


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    if x.dim() < 2 or x.dim() != memory.dim() or not batch_shapes_equal(x, memory):
        complain("x and memory come in different batches", x, memory)
    if memory_mask is not None and memory_mask.shape != memory.shape[:-1]:
        complain("the mask needs one entry per memory token", memory_mask, memory)
    if x.dim() > 2:
        answers = []
        for i in range(len(x)):
            mask = None if memory_mask is None else memory_mask[i]
            answers.append(cross_attention(x[i], memory[i], w_q, w_k, w_v, mask))
        if answers:
            return torch.stack(answers)
    query = project_rows(x, w_q)
    key = project_rows(memory, w_k)
    value = project_rows(memory, w_v)
    # with one sequence, a mask of k entries serves every query
    return attention(query, key, value, memory_mask if x.dim() == 2 else None)
